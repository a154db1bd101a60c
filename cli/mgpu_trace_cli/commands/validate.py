"""``mgpu-trace validate``: everything that is wrong with some buffers, or with a launch to come."""

from __future__ import annotations

import json
from typing import Any, Final

import click

from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.launching import any_scope_option, launch_options
from mgpu_trace_cli.many import jobs_for, jobs_option
from mgpu_trace_cli.options import (
    allow_empty_option,
    array_option,
    files_argument,
    json_option,
    spec_options_with,
)

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace validate fixtures/golden/hopper_gemm.npy --json
  mgpu-trace validate --block 384 --entries 2048 --smem-bytes 200001 --arch sm_90
"""


@click.command(epilog=EXAMPLE)
@files_argument(required=False)
@launch_options
@spec_options_with(any_scope_option)
@array_option
@allow_empty_option
@jobs_option
@json_option
def validate(
    files: tuple[str, ...], options: SpecOptions, said: dict[str, Any], array: str | None, **asked: Any
) -> int:
    """Check profile buffers, or a launch before it is made.

    FILE is a profile buffer, a folder of them, a launch.toml or a spec. Without FILE the flags say
    the launch, as far as it is known: --block 128 alone is a whole question. With a buffer, flags
    that only a launch has (--smem-bytes, --arch, ...) check the launch that it came from.
    """
    from mgpu_trace_cli.validating import check_files, check_flags, show, to_dict

    if not files and not said:
        raise click.UsageError("give a FILE, or say a launch with flags, such as --block 128")
    jobs = jobs_for(files, asked["jobs"])
    checked = check_files(files, options, said, array, asked["allow_empty"], jobs=jobs)
    launch = None if files else check_flags(said)
    everything = checked if launch is None else [launch]
    if asked["as_json"]:
        click.echo(json.dumps(to_dict(checked, launch), indent=2))
    else:
        show(everything)
    return int(any(one.report.has_errors for one in everything))
