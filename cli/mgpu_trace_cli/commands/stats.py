"""``mgpu-trace stats``: where the time of a launch goes."""

from __future__ import annotations

from typing import Any, Final

import click

from mgpu_trace_cli.asking import Question, question_options
from mgpu_trace_cli.many import jobs_option
from mgpu_trace_cli.options import Told, files_argument
from mgpu_trace_cli.stats import known_keys, show_stats

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace stats fixtures/golden/hopper_gemm.npy --by role,region --role 0=tma --role 1,2=mma
"""
KEYS: Final = Told(
    "KEY[,KEY...]",
    "region, unit, role, sm, block, index, phase, launch, with commas between them",
    known_keys,
)


@click.command(epilog=EXAMPLE)
@files_argument()
@click.option("--by", type=KEYS, help="What a row is. Default: region.")
@click.option("--steady", is_flag=True, help="Leave out the first and last occurrence in each track.")
@click.option(
    "--sort", metavar="COLUMN", help="Sort by a column, the largest first, or by a key. Default: self time."
)
@click.option("--hist", metavar="REGION", help="Show how the durations of a region are distributed.")
@click.option("--wide", is_flag=True, help="Show all columns, as --json and --csv do.")
@jobs_option
@question_options
def stats(files: tuple[str, ...], question: Question, **asked: Any) -> int:
    """Show where the time of a launch goes: regions by total, self time, percentiles.

    For each region how often it was entered, how long it took in all, without the regions inside it
    (self), in the mean and in percentiles, and its share of the time of all tracks. What each column
    is exactly: docs/analysis.md. Several FILEs, or a folder: a row for each launch (--by launch).
    """
    return show_stats(files, question, **asked)
