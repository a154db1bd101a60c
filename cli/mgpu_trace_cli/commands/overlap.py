"""``mgpu-trace overlap``: what ran beside what, and when nothing did."""

from __future__ import annotations

from typing import Any, Final

import click

from mgpu_trace_cli.asking import Question, question_options
from mgpu_trace_cli.options import COUNT, Told
from mgpu_trace_cli.overlap import TABLES, a_pair, show_overlap

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace overlap fixtures/golden/hopper_gemm.npy --role 0=tma --role 1,2=mma --by role
  mgpu-trace overlap fixtures/golden/hopper_gemm.npy --pair tma_load:wait --by unit
"""
PAIR: Final = Told("A:B", "two regions (or patterns) with a colon between them", a_pair)
WHOLE: Final = "Whose time and beside whose: regions, or units or roles while they are busy."


@click.command(epilog=EXAMPLE)
@click.argument("file")
@click.option("--by", type=click.Choice(["region", "unit", "role"]), default="region", help=WHOLE)
@click.option(
    "--on", type=click.Choice(["block", "sm"]), default="block", help="Beside: in the same block, or SM."
)
@click.option(
    "--wait", multiple=True, metavar="GLOB", help="The regions that are waiting, not work. Default: *wait*."
)
@click.option(
    "--pair", "pairs", type=PAIR, multiple=True, help="How long after A's n-th end B's n-th end comes."
)
@click.option(
    "--bubbles", type=COUNT, default=5, help="How many times without work, the longest. Default: 5."
)
@click.option("--top", type=COUNT, default=32, help="How many regions, those with most time. Default: 32.")
@click.option(
    "--table", type=click.Choice(TABLES), help="One table alone. Default: all; with --csv the matrix."
)
@question_options
def overlap(file: str, question: Question, **asked: Any) -> int:
    """Show what ran beside what, who waits, and when nobody works.

    How much of the time of each region another warpgroup of the block was in each other one; how long
    units were busy, waiting and idle; the longest bubbles, when none of a block was busy; and the lag
    between producer and consumer (--pair). What each number is exactly: docs/analysis.md.
    """
    return show_overlap(file, question, **asked)
