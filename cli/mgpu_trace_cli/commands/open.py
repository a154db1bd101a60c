"""``mgpu-trace open``: a buffer or a trace in the browser."""

from __future__ import annotations

from typing import Any, Final

import click

from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.making import making_options
from mgpu_trace_cli.opening import open_with, showing_options
from mgpu_trace_cli.options import allow_empty_option, array_option, files_argument, spec_options

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace open fixtures/golden/hopper_gemm.npy --offline --port 0 --keep --timeout 2
"""


@click.command(epilog=EXAMPLE)
@files_argument()
@showing_options
@spec_options
@array_option
@making_options
@allow_empty_option
def open(files: tuple[str, ...], options: SpecOptions, array: str | None, **asked: Any) -> int:  # noqa: A001
    """Look at profile buffers, or at traces made before, in Perfetto.

    Serves them to the browser from this machine until they were fetched; nothing is uploaded, and
    nothing stays on the disk. A FILE is a buffer, as dump takes it, or a trace (.json, .json.gz,
    .pftrace); - is standard input. Each has a page of its own.

    \b
    On another machine, run this where the browser is, and then open --print-url there:
      ssh -L 9001:127.0.0.1:9001 HOST
    """
    from mgpu_trace.pipeline import open_launch

    how = {"array": array, "overhead": asked.pop("overhead"), "with_index": "index" in asked["args"]}
    return open_with(lambda file: open_launch(file, options, **how), files, asked)
