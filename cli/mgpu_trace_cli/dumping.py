"""One buffer to one trace, and what is said about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report, one_line
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.export import FORMATS
from mgpu_trace_cli.many import is_made
from mgpu_trace_cli.options import Told, count
from mgpu_trace_cli.outputs import STDOUT, Abandoned, format_for, opened, writer_for
from mgpu_trace_cli.render import is_terminal, progress, steps
from mgpu_trace_cli.report import accepted, say

if TYPE_CHECKING:
    from mgpu_trace.analyse.select import Selection
    from mgpu_trace.export import Writer
    from mgpu_trace.export.perfetto_options import Base, Counters, PerfettoOptions
    from mgpu_trace.export.picture import GroupBy
    from mgpu_trace.pipeline import Launch, Overhead
    from mgpu_trace.spec import SpecOptions


def _role(text: str) -> list[tuple[int, str]]:
    units, equals, name = text.partition("=")
    if not (equals and name):
        raise ValueError
    return [(count(unit, 0), name) for unit in units.split(",")]


ROLE: Final = Told("UNIT[,UNIT]=NAME", "units and their name, such as 0=tma or 1,2=mma", _role)
OVERHEAD: Final = Told(
    "none|auto|CYCLES",
    "none, auto, or a number of cycles",
    lambda text: text if text in ("none", "auto") else count(text, 0),
)


@dataclass(frozen=True, slots=True)
class Manner:
    """How to write, the same for every file."""

    selection: Selection
    options: PerfettoOptions
    chosen_format: str | None
    compat: str | None
    strict: bool
    allow_empty: bool
    quiet: bool


def manner_of(
    select: Sequence[str],
    roles: Sequence[list[tuple[int, str]]],
    args: list[str],
    chosen: str | None,
    compat: str | None,
    base: Base | None,
    counters: Counters | None,
    group_by: GroupBy | None,
    lanes: bool | None,
    **flags: bool,
) -> Manner:
    """The options of ``dump`` put together; what contradicts itself is a usage error."""
    from mgpu_trace.analyse.select import parse_selection
    from mgpu_trace.export.perfetto_options import PerfettoOptions

    if compat and (select or args or any(roles) or group_by or lanes is not None):
        refused = "--select, --role, --args, --group-by and --lanes"
        raise click.UsageError(f"--compat jax writes what JAX does: without {refused}")
    try:
        selection = parse_selection(select)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--select'") from None
    named = [pair for role in roles for pair in role]
    names = dict(named)
    if len(names) < len(named):
        raise click.UsageError("--role gives a unit two names")
    options = PerfettoOptions(
        args, names, group_by or "sm", lanes is not False, base=base or "host", counters=counters or "none"
    )
    return Manner(selection, options, chosen, compat, **flags)


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read, the same for every file."""

    options: SpecOptions
    array: str | None
    overhead: Overhead
    with_index: bool

    def open(self, file: str) -> Launch:
        from mgpu_trace.pipeline import open_launch

        return open_launch(
            file, self.options, array=self.array, overhead=self.overhead, with_index=self.with_index
        )


@dataclass(frozen=True, slots=True)
class Made:
    """What became of one file."""

    path: str
    report: Report
    summary: str
    written: bool


def dump_all(
    files: Sequence[str], paths: Sequence[str], reading: Reading, manner: Manner, jobs: int, resume: bool
) -> int:
    """Dump every file, also where one before it cannot be; the exit status.

    Raises
    ------
    ExceptionGroup
        Of the errors, at the end.
    """
    from mgpu_trace.batch import each

    if len(files) == 1 and not resume:
        made = dump_file((files[0], paths[0]), reading=reading, manner=manner, with_progress=True)
        return int(not _tell(made, manner))
    pairs = [pair for pair in zip(files, paths, strict=True) if not (resume and is_made(*pair))]
    if len(pairs) < len(files) and not manner.quiet:
        click.echo(f"{counted(len(files) - len(pairs), 'trace')} already there (--resume)", err=True)
    clean, failed = True, []
    work = partial(dump_file, reading=reading, manner=manner)
    with steps("writing", len(pairs)) as done:
        for one in each(work, pairs, jobs=jobs, on_done=done):
            if one.error is not None:
                failed.append(MgpuTraceError(one.error.in_file(pairs[one.index][0])))
            elif one.result is not None:
                clean &= _tell(one.result, manner)
    if failed:
        raise ExceptionGroup("some files", failed)
    return int(not clean)


def dump_file(
    files: tuple[str, str], *, reading: Reading, manner: Manner, with_progress: bool = False
) -> Made:
    """Write one buffer's trace: ``files`` are the two."""
    launch, path = reading.open(files[0]), files[1]
    check_roles(launch, manner)
    launch.selection = manner.selection
    writer = writer_for(path, manner.chosen_format)
    written = True
    bar = progress(launch, "writing") if with_progress else nullcontext()
    try:
        with opened(path, manner.chosen_format, strict=manner.strict) as sink, bar:
            more = _write(launch, writer, sink, manner)
            report = accepted(launch.report + _all(launch, more), manner.allow_empty)
            if manner.strict and report.has_errors:
                raise Abandoned
    except Abandoned:
        written = False
    return Made(path, report, launch.summary(), written)


def _tell(made: Made, manner: Manner) -> bool:
    """Say what was found in one file; whether there was no error."""
    say(made.report, manner.quiet)
    if not manner.quiet:
        _sum_up(made, manner.compat)
    return not made.report.has_errors


def check_roles(launch: Launch, manner: Manner) -> None:
    """Refuse names for units that no block of ``launch`` has."""
    units = launch.spec.tracks_per_block
    beyond = [unit for unit in manner.options.roles if unit >= units]
    if beyond:
        raise click.UsageError(f"--role {beyond[0]}=...: a block has the units 0 to {units - 1}")


def _write(launch: Launch, writer: Writer, sink: BinaryIO, manner: Manner) -> list[Diagnostic]:
    if manner.compat:
        from mgpu_trace.export.jax_compat import write_jax_compat

        found = write_jax_compat(launch.buffer, launch.tracks, sink)
        launch.scan()  # for the report: JAX's output is made without pairing anything
        return found
    return writer(launch, sink, manner.options)


def _all(launch: Launch, more: list[Diagnostic]) -> list[Diagnostic]:
    """The findings of writing, with their file."""
    return more if launch.source is None else [d.in_file(launch.source) for d in more]


def _sum_up(made: Made, compat: str | None) -> None:
    how = "; written with JAX's times: cycles added to nanoseconds" if compat else ""
    click.echo(made.summary + how, err=True)
    if not made.written:
        click.echo("nothing was written (--strict)", err=True)
    elif made.path != STDOUT:
        shows = is_terminal(sys.stderr) and not FORMATS[format_for(made.path, None)].is_table
        then = ": open https://ui.perfetto.dev and drop the file there" if shows else ""
        click.echo(f"wrote {one_line(os.fspath(made.path))}{then}", err=True)
