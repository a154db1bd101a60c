"""What ``dump`` puts into a trace, and what only Perfetto's own format takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

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
    """Give a command --args, --base, --counters and --lanes; None or False where they are not said."""
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
    lanes = click.option(
        "--lanes",
        is_flag=True,
        help="In a .pftrace, blocks that do not overlap in time share lines (reads the buffer twice).",
    )
    return args(base(counters(lanes(command))))


def check_formats(paths: Sequence[str], asked: dict[str, Any]) -> None:
    """Refuse what the format of a path does not have.

    Raises
    ------
    click.UsageError
        For --base, --counters, --lanes and --args block with JSON, and for --compat jax without.
    """
    wanted = [f"--{name}" for name in ("base", "counters", "lanes") if asked[name]]
    wanted += ["--args block"] if "block" in asked["args"] else []
    if not wanted and not asked["compat"]:
        return
    native = [path for path in paths if format_for(path, asked["chosen"]) == "perfetto"]
    if wanted and len(native) < len(paths):
        raise click.UsageError(f"{wanted[0]} is for traces in Perfetto's own format: -o NAME.pftrace")
    if asked["compat"] and native:
        raise click.UsageError("--compat jax writes JSON, as JAX does: without .pftrace")
