"""``mgpu-trace dump``: traces that open in Perfetto."""

from __future__ import annotations

from typing import Any, Final

import click

from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.contents import check_formats, content_options
from mgpu_trace_cli.dumping import OVERHEAD, ROLE, dump_all, manner_of
from mgpu_trace_cli.options import allow_empty_option, array_option, files_argument, spec_options
from mgpu_trace_cli.outputs import CHOICES, destinations

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace dump fixtures/golden/hopper_gemm.npy -o gemm.json.gz --role 0=tma --role 1,2=mma
"""


@click.command(epilog=EXAMPLE)
@files_argument()
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="A .json or .pftrace (or .gz), .parquet, .arrow or .csv file, a folder, or - for stdout.",
)
@click.option(
    "--format", "chosen", type=click.Choice(CHOICES), help="The format where OUT does not name a file."
)
@spec_options
@array_option
@click.option(
    "--select", "select", multiple=True, metavar="KEY=VALUE", help="Keep sm=, block=, unit=, name=, time=."
)
@click.option("--role", "roles", type=ROLE, multiple=True, help="Name units of a block in the trace.")
@content_options
@click.option("--overhead", type=OVERHEAD, default="none", help="Probe cost to take off. Default: none.")
@click.option("--compat", type=click.Choice(["jax"]), help="Write what JAX's own dump writes, to compare.")
@click.option("--strict", is_flag=True, help="Write nothing where something is wrong.")
@allow_empty_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def dump(
    files: tuple[str, ...], output: str | None, options: SpecOptions, array: str | None, **asked: Any
) -> int:
    """Turn profile buffers into traces that open in Perfetto.

    A FILE is .npy, .npz or raw words (.bin, .u32); - is standard input. Without -o the trace goes
    to standard output in a pipe, and to NAME.trace.json.gz on a terminal.
    """
    from mgpu_trace.pipeline import open_launch

    paths = destinations(files, output, asked["chosen"])
    check_formats(paths, asked)
    if asked["compat"] and asked["overhead"] != "none":
        raise click.UsageError("--compat jax takes JAX's own probe cost off: without --overhead")
    how = {"array": array, "overhead": asked.pop("overhead"), "with_index": "index" in asked["args"]}
    return dump_all(files, paths, lambda file: open_launch(file, options, **how), manner_of(**asked))
