"""What ``dump`` puts into a trace, and what only Perfetto's own format takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from mgpu_trace.export import FORMATS
from mgpu_trace_cli.options import Command, Told
from mgpu_trace_cli.outputs import format_for


def _args(text: str) -> list[str]:
    from mgpu_trace.export.perfetto_options import ARGS as KNOWN

    wanted = text.split(",")
    if not set(wanted) <= {*KNOWN}:
        raise ValueError
    return wanted


ARGS: Final = Told("cycles,index,block", "cycles, index and block, with commas between them", _args)


def content_options(command: Command) -> Command:
    """Give a command the options about what a trace shows; None where they are not said."""
    args = click.option(
        "--args",
        type=ARGS,
        default=[],
        help="What every slice carries: exact cycles, its index; in a .pftrace its block.",
    )
    base = click.option(
        "--base",
        type=click.Choice(["host", "zero"]),
        help="What a .pftrace counts times from. Default: the host's time where known.",
    )
    counters = click.option(
        "--counters",
        type=click.Choice(["none", "sm", "device"]),
        help="Resident blocks and active units in a .pftrace. Default: none.",
    )
    group_by = click.option(
        "--group-by",
        type=click.Choice(["sm", "block", "unit"]),
        help="What lines are grouped by. Default: sm.",
    )
    lanes = click.option(
        "--lanes/--no-lanes",
        default=None,
        help="Blocks that do not overlap in time share lines, the default; or a line for each.",
    )
    return group_by(lanes(args(base(counters(command)))))


def check_formats(paths: Sequence[str], asked: dict[str, Any]) -> None:
    """Refuse what the format of a path does not have.

    Raises
    ------
    click.UsageError
        For --base, --counters and --args block without Perfetto's own format, for --compat jax without
        JSON, for lanes of single blocks, and for lines of a table.
    """
    if asked["lanes"] and asked["group_by"] == "block":
        raise click.UsageError("--lanes is for blocks that share lines: not with --group-by block")
    formats = {format_for(path, asked["chosen"]) for path in paths}
    if (asked["group_by"] or asked["lanes"] is not None) and any(FORMATS[f].is_table for f in formats):
        raise click.UsageError("--group-by and --lanes are about lines of a trace: a table has none")
    wanted = [f"--{name}" for name in ("base", "counters") if asked[name]]
    wanted += ["--args block"] if "block" in asked["args"] else []
    if not wanted and not asked["compat"]:
        return
    if wanted and formats != {"perfetto"}:
        raise click.UsageError(f"{wanted[0]} is for traces in Perfetto's own format: -o NAME.pftrace")
    if asked["compat"] and formats != {"json"}:
        raise click.UsageError("--compat jax writes JSON, as JAX does: no other format")
