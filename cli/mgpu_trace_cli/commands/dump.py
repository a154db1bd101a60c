"""``mgpu-trace dump``: traces that open in Perfetto."""

from __future__ import annotations

from typing import Any, Final

import click

from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.contents import check_formats, content_options
from mgpu_trace_cli.dumping import OVERHEAD, ROLE, Reading, dump_all, manner_of
from mgpu_trace_cli.many import jobs_for, many_options
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
    "-o", "--output", metavar="OUT", help="A .json, .pftrace, .parquet, .arrow or .csv file, a folder, or -."
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
@many_options
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def dump(
    files: tuple[str, ...], output: str | None, options: SpecOptions, array: str | None, **asked: Any
) -> int:
    """Turn profile buffers into traces that open in Perfetto.

    A FILE is .npy, .npz or raw words (.bin, .u32); - is standard input. Without -o the trace goes
    to standard output in a pipe, and to NAME.trace.json.gz on a terminal.
    """
    paths = destinations(files, output, asked["chosen"])
    check_formats(paths, asked)
    if asked["compat"] and asked["overhead"] != "none":
        raise click.UsageError("--compat jax takes JAX's own probe cost off: without --overhead")
    jobs, resume = jobs_for(files, asked.pop("jobs")), asked.pop("resume")
    reading = Reading(options, array, asked.pop("overhead"), "index" in asked["args"])
    return dump_all(files, paths, reading, manner_of(**asked), jobs, resume)
