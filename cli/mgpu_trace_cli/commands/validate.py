"""``mgpu-trace validate``: everything that is wrong with some buffers."""

from __future__ import annotations

import json
from typing import Final

import click

from mgpu_trace.diagnostics import one_line
from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.options import allow_empty_option, array_option, files_argument, json_option, spec_options
from mgpu_trace_cli.render import print_table
from mgpu_trace_cli.report import Checked, check, counted

COLUMNS = ("file", "severity", "code", "count", "message", "what to do")


EXAMPLE: Final = """\
\b
Example:
  mgpu-trace validate fixtures/golden/hopper_gemm.npy --json
"""


@click.command(epilog=EXAMPLE)
@files_argument
@spec_options
@array_option
@allow_empty_option
@json_option
def validate(
    files: tuple[str, ...], options: SpecOptions, array: str | None, allow_empty: bool, as_json: bool
) -> int:
    """Check profile buffers and list everything that is wrong.

    Every FILE is tried, also when one before it cannot be read. The exit status is 1 when any of
    them has an error.
    """
    checked = [check(file, options, array, allow_empty) for file in files]
    if as_json:
        found = [one.to_dict() for one in checked]
        click.echo(json.dumps({"schema": "mgpu-trace/validate", "version": 1, "files": found}, indent=2))
    else:
        rows = [row for one in checked for row in _rows(one)]
        if rows:
            print_table(COLUMNS, rows, right=["count"])
        for one in checked:
            click.echo(f"{one_line(one.file)}: {counted(one.report)}")
    return int(any(one.report.has_errors for one in checked))


def _rows(one: Checked) -> list[list[str]]:
    return [[one.file, d.severity.label, d.code.id, str(d.count), d.message, d.hint] for d in one.report]
