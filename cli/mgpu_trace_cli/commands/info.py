"""``mgpu-trace info``: what is in a buffer."""

from __future__ import annotations

import json
from typing import Final

import click

from mgpu_trace.diagnostics.clip import clipped
from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.options import allow_empty_option, array_option, json_option, spec_options

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace info fixtures/golden/hopper_gemm.npy
"""


@click.command(epilog=EXAMPLE)
@click.argument("file")
@spec_options
@array_option
@allow_empty_option
@json_option
def info(file: str, options: SpecOptions, array: str | None, allow_empty: bool, as_json: bool) -> int:
    """Show what is in a profile buffer.

    The launch and its clocks, the tracks and what they lost, the regions with their slices. The
    findings go to standard error.
    """
    from mgpu_trace.pipeline import open_launch
    from mgpu_trace_cli.facts import facts_of, lines_of
    from mgpu_trace_cli.render import print_table, progress
    from mgpu_trace_cli.report import accepted, say

    launch = open_launch(file, options, array=array)
    with progress(launch, "reading"):
        facts = facts_of(launch, allow_empty)
    report = accepted(launch.report, allow_empty)
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    else:
        print_table(["launch", file], lines_of(facts))
        click.echo()
        rows = [[str(n["id"]), clipped(n["name"]), str(n["n_slices"])] for n in facts["names"]]
        print_table(["id", "region", "slices"], rows, right=["id", "slices"])
        say(report)
    return int(report.has_errors)
