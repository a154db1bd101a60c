"""``mgpu-trace timeline``: which region some tracks were in when, in the terminal."""

from __future__ import annotations

from typing import Final

import click

from mgpu_trace_cli.asking import Question, question_options
from mgpu_trace_cli.gantt import show_timeline
from mgpu_trace_cli.options import COUNT
from mgpu_trace_cli.picture import WIDTH

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace timeline fixtures/golden/hopper_gemm.npy --select sm=0 --select time=0:1.5us
"""


@click.command(epilog=EXAMPLE)
@click.argument("file")
@click.option("--rows", type=COUNT, default="24", help="Show so many tracks at most. Default: 24.")
@click.option("--longest", is_flag=True, help="Show the blocks that took longest. Default: the first.")
@click.option("--width", type=WIDTH, help="Columns of the picture. Default: the terminal's, 120 in a pipe.")
@question_options
def timeline(file: str, question: Question, rows: int, longest: bool, width: int | None) -> int:
    """Draw chosen tracks in the terminal: which region when.

    A line for each track, in which a letter is the region that was entered last of those open. --select
    chooses the tracks; with time=1us:2us the picture is of that time alone. --json and --csv have the
    exact times of all segments of the tracks that are shown.
    """
    return show_timeline(file, question, rows, longest, width)
