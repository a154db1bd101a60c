"""Buffers to the traces that ``open`` shows: what was asked for, and a format that has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click
from click.core import ParameterSource

from mgpu_trace.diagnostics import one_line
from mgpu_trace_cli.contents import check_formats, content_options
from mgpu_trace_cli.dumping import OVERHEAD, ROLE, Manner, check_roles, manner_of
from mgpu_trace_cli.options import Command
from mgpu_trace_cli.outputs import STDOUT, writer_for
from mgpu_trace_cli.render import progress
from mgpu_trace_cli.report import accepted, say

if TYPE_CHECKING:
    from mgpu_trace.pipeline import Launch

# The one that the viewer loads fastest comes first (docs/view.md has the figures).
FORMATS: Final = ("json", "pftrace")


def making_options(command: Command) -> Command:
    """Give a command what ``dump`` takes about a trace; what a trace shows it shares with it."""
    chosen = click.option(
        "--format",
        "chosen",
        type=click.Choice(FORMATS),
        help="Default: json, unless only pftrace has it all.",
    )
    select = click.option(
        "--select", multiple=True, metavar="KEY=VALUE", help="Keep sm=, block=, unit=, name=, time=."
    )
    roles = click.option("--role", "roles", type=ROLE, multiple=True, help="Name units of a block.")
    overhead = click.option(
        "--overhead", type=OVERHEAD, default="none", help="Probe cost to take off. Default: none."
    )
    return chosen(select(roles(content_options(overhead(command)))))


@dataclass(frozen=True, slots=True)
class Making:
    """How a buffer becomes a trace, the same for every file.

    Attributes
    ----------
    open_file
        Gives the launch of a file.
    manner
        How it is written.
    said
        The options on the command line that a trace made before has no use for.
    """

    open_file: Callable[[str], Launch]
    manner: Manner
    said: tuple[str, ...]

    @property
    def suffix(self) -> str:
        """Of the name that the trace is served under."""
        return f".trace.{self.manner.chosen_format}.gz"

    def write(self, file: str, sink: BinaryIO) -> bool:
        """Write the compressed trace of a buffer and say what was found; whether there was no error."""
        from mgpu_trace.export.output import gzipped
        from mgpu_trace.view.hold import room_for

        launch = self.open_file(file)
        check_roles(launch, self.manner)
        launch.selection = self.manner.selection
        writer = writer_for(STDOUT, self.manner.chosen_format)
        with progress(launch, "decoding"), room_for(sink), gzipped(sink) as packed:
            more = writer(launch, packed, self.manner.options)
        found = [finding.in_file(launch.source or "") for finding in more]
        report = accepted(launch.report + found, self.manner.allow_empty)
        say(report)
        click.echo(launch.summary(), err=True)
        return not report.has_errors

    def check_use(self, made: list[str], n_files: int) -> None:
        """Tell whoever gives options for a buffer that these files are traces already.

        Raises
        ------
        click.UsageError
            Where there is no buffer at all.
        """
        if not (made and self.said):
            return
        options = ", ".join(self.said)
        if len(made) == n_files:
            one = f"{one_line(made[0])} is a trace already, shown as it is"
            what = one if n_files == 1 else "these are traces already, shown as they are"
            raise click.UsageError(f"for buffers only: {options}; {what}")
        for name in made:
            click.echo(f"{one_line(name)} is a trace already: shown as it is, without {options}", err=True)


def making_of(open_file: Callable[[str], Launch], asked: dict[str, Any], others: frozenset[str]) -> Making:
    """The options of the command that runs put together; ``others`` are not about buffers."""
    context = click.get_current_context()
    said = tuple(
        _spelled(option, context.params[option.name])
        for option in context.command.params
        if option.name
        and option.name not in others
        and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    )
    asked = {**asked, "compat": None, "strict": False, "quiet": False}
    asked["chosen"] = _format_of(asked)
    return Making(open_file, manner_of(**asked), said)


def _spelled(option: click.Parameter, value: object) -> str:
    """An option as it was given, such as ``--no-lanes``."""
    spellings = option.secondary_opts if value is False and option.secondary_opts else option.opts
    return max(spellings, key=len)


def _format_of(asked: dict[str, Any]) -> str:
    """The chosen format, or the first that has a place for all that was asked for."""
    fit = [chosen for chosen in FORMATS if _has_it_all(chosen, asked)]
    if not fit:
        check_formats([STDOUT], {**asked, "chosen": FORMATS[-1]})  # which says what contradicts itself
    chosen: str | None = asked["chosen"]
    if chosen is not None and chosen not in fit:
        raise click.UsageError(f"--format {chosen} has no place for all of that; leave it away")
    return chosen or fit[0]


def _has_it_all(chosen: str, asked: dict[str, Any]) -> bool:
    try:
        check_formats([STDOUT], {**asked, "chosen": chosen})
    except click.UsageError:
        return False
    return True
