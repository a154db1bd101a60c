"""``mgpu-trace diff``: what changed between two launches, and what of it is noise."""

from __future__ import annotations

from typing import Final

import click

from mgpu_trace_cli.asking import Question, comparing_options
from mgpu_trace_cli.diffing import CONFIDENCE, RESAMPLES, SEED, SHARE, Sides, Terms, show_diff, two_sides

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace diff fixtures/golden/hopper_gemm.npy fixtures/golden/hopper_gemm.npy --fail-over 5%
"""


@click.command(cls=Sides, epilog=EXAMPLE)
@click.argument("files", metavar="[OLD NEW]", nargs=-1)
@click.option("--old", metavar="FILE...", multiple=True, help="Several captures of the old side.")
@click.option("--new", metavar="FILE...", multiple=True, help="Several captures of the new side.")
@click.option("--fail-over", type=SHARE, help="Status 1 where something is slower by more, and beyond noise.")
@click.option(
    "--confidence", type=CONFIDENCE, default="95", help="What an interval covers with. Default: 95."
)
@click.option("--resamples", type=RESAMPLES, default="2000", help="Resamples to draw. Default: 2000.")
@click.option("--seed", type=SEED, default="0", help="Draws other resamples. Default: 0.")
@comparing_options
def diff(
    files: tuple[str, ...],
    old: tuple[str, ...],
    new: tuple[str, ...],
    question: Question,
    fail_over: float | None,
    confidence: float,
    resamples: int,
    seed: int,
) -> int:
    """Compare launches: what changed in each region, and what of it is noise.

    Each region's mean, median and total before and after, the change with an interval, and its effect on
    the launch, the largest growth first. --old and --new take all the words up to the next option, so
    that patterns work: --old a*.npz --new b*.npz. A folder stands for the captures in it. With several
    captures of a side the noise between launches is in the intervals; with one it cannot be.
    """
    terms = Terms(confidence, resamples, seed, fail_over)
    return show_diff(*two_sides(files, old, new), question, terms)
