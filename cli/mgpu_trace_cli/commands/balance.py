"""``mgpu-trace balance``: which SM or block is late, and what that costs the launch."""

from __future__ import annotations

from typing import Final

import click

from mgpu_trace_cli.asking import Question, question_options
from mgpu_trace_cli.balance import TIMES, show_balance
from mgpu_trace_cli.picture import WIDTH

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace balance fixtures/golden/waves.npy --straggler 1.2 --sort tail
"""


@click.command(epilog=EXAMPLE)
@click.argument("file")
@click.option(
    "--straggler",
    type=TIMES,
    default="1.5",
    help="A block is one beyond this times the median block. Default: 1.5.",
)
@click.option(
    "--sort", metavar="COLUMN", help="Sort SMs by a column, the largest first. Default: by their ids."
)
@click.option("--width", type=WIDTH, help="Columns of the picture. Default: the terminal's, 120 in a pipe.")
@question_options
def balance(file: str, question: Question, straggler: float, sort: str | None, width: int | None) -> int:
    """Show which SM or block is late, and what that costs the launch.

    For each SM its blocks, in how many waves they came, when the first began and the last ended, and how
    long it was busy and idle; for the launch its skew, its tail and its stragglers; and a picture of
    how many tracks were in regions, SM by time. What each number is exactly: docs/analysis.md.
    """
    return show_balance(file, question, straggler, sort, width)
