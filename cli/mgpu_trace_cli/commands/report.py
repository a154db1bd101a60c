"""``mgpu-trace report``: a launch, or two to compare, as one page that can be sent."""

from __future__ import annotations

from typing import Final

import click

from mgpu_trace_cli.asking import Question, reading_options
from mgpu_trace_cli.reporting import one_or_two, write_page

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace report fixtures/golden/hopper_gemm.npy --role 0=tma --role 1,2=mma -o gemm.html
"""


@click.command(epilog=EXAMPLE)
@click.argument("files", metavar="[OLD] FILE", nargs=-1, callback=one_or_two)
@click.option(
    "-o", "--output", metavar="FILE", help="NAME.html, or -. Default: the FILE's name and .report.html."
)
@click.option("--plots/--no-plots", default=True, help="Whether to draw; without plots the page is small.")
@reading_options
def report(files: tuple[str, ...], output: str | None, question: Question, plots: bool) -> int:
    """Write a launch, or two to compare, as one page of HTML that can be sent.

    The launch and its clock, what was found and what to do about it, the tables of stats, overlap and
    balance, and plots of them (mgpu-trace[analysis]). The page needs no network. With two files the
    comparison of the second with the first comes first.
    """
    return write_page(files, output, question, plots)
