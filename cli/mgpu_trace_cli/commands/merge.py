"""``mgpu-trace merge``: many launches as one timeline."""

from __future__ import annotations

from typing import Any, Final

import click

from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.many import JOBS
from mgpu_trace_cli.merging import ORDER, SELECT, SIZE, merge_all
from mgpu_trace_cli.options import files_argument, spec_options

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace merge fixtures/golden/hopper_gemm.npy fixtures/golden/waves.npy -o run.json.gz
"""


@click.command(epilog=EXAMPLE)
@files_argument()
@click.option(
    "-o", "--output", metavar="OUT", required=True, help="A .json or .pftrace file, or .gz of these."
)
@spec_options
@click.option("--select", multiple=True, type=SELECT, help="Keep launch=, kernel=, device=, process=.")
@click.option(
    "--align", metavar="REGION", help="Align devices: this region ends on all of them at once (a barrier)."
)
@click.option("--host-trace", metavar="FILE", help="Put it all into the trace that jax.profiler wrote.")
@click.option("--order", type=ORDER, help="Count the waits B that end before the signal A.")
@click.option("--max-size", "max_bytes", type=SIZE, help="Make parts, in time, none larger than that.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and how sure it is; write nothing.")
@click.option("--jobs", type=JOBS, help="Processes that read files. Default: all cores.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON (docs/merge.md).")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def merge(files: tuple[str, ...], output: str, options: SpecOptions, **asked: Any) -> int:
    """Put many launches, kernels and devices on one timeline.

    A folder stands for the buffers in it. Each launch is placed in the host's time by what the
    capture noted, and how sure that is gets printed.
    """
    return merge_all(files, output, options, **asked)
