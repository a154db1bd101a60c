"""``mgpu-trace open``: a buffer or a trace in the browser."""

from __future__ import annotations

from typing import Any, Final

import click

from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.opening import PORT, SECONDS, Manner, open_all
from mgpu_trace_cli.options import allow_empty_option, array_option, files_argument, spec_options

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace open fixtures/golden/hopper_gemm.npy --offline --port 0 --keep --timeout 2
"""


@click.command(epilog=EXAMPLE)
@files_argument()
@click.option("--offline", is_flag=True, help="Serve Perfetto's UI too, without a network (mgpu-trace[ui]).")
@click.option("--print-url", is_flag=True, help="Print the URL to standard output; start no browser.")
@click.option("--keep", is_flag=True, help="Go on serving when all was fetched, until Ctrl-C.")
@click.option(
    "--port", type=PORT, default=9001, help="ui.perfetto.dev reads from 9001 only; 0: any, with --offline."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=SECONDS,
    help="End when nobody has asked for so long. Default: 300, with --keep never.",
)
@spec_options
@array_option
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

    manner = Manner(**asked)
    return open_all(files, lambda file: open_launch(file, options, array=array), manner)
