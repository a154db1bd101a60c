"""What every command that answers a question takes, and how its answer is printed.

An answer is a :class:`~mgpu_trace.analyse.table.Table`. Findings go to standard error, the answer to
standard output: as a table, as one JSON object, or as CSV.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.dumping import OVERHEAD, ROLE
from mgpu_trace_cli.options import (
    Command,
    Decorator,
    allow_empty_option,
    array_option,
    json_option,
    spec_options,
)

if TYPE_CHECKING:
    from mgpu_trace.analyse.select import Selection
    from mgpu_trace.analyse.table import Table
    from mgpu_trace.diagnostics import Diagnostic
    from mgpu_trace.pipeline import Launch

VERSION: Final = 1  # of the JSON of all answers
MOST_ROWS: Final = 200  # that a terminal shows: a line for each SM, and the first of thousands of blocks
_ROWS_AT_ONCE: Final = 1000
_NO_TENTHS_FROM: Final = 100_000.0


@dataclass(frozen=True, slots=True)
class Question:
    """How to read a launch, and how to answer.

    Attributes
    ----------
    selection, roles
        Parsed ``--select`` and ``--role``.
    unit
        ``"auto"``, ``"ns"`` or ``"cyc"``.
    as_json, as_csv
        The form of the answer; a table where neither is set.
    """

    options: SpecOptions
    array: str | None
    selection: Selection
    roles: dict[int, str]
    overhead: Any
    unit: Any
    allow_empty: bool
    as_json: bool
    as_csv: bool

    @property
    def is_for_people(self) -> bool:
        return not (self.as_json or self.as_csv)

    def open(self, file: str) -> Launch:
        """The launch of a file, with the selection set.

        Raises
        ------
        click.UsageError
            For a role of a unit that no block has.
        """
        from mgpu_trace.pipeline import open_launch

        launch = open_launch(file, self.options, array=self.array, overhead=self.overhead)
        launch.selection = self.selection
        units = launch.spec.tracks_per_block
        beyond = [unit for unit in self.roles if unit >= units]
        if beyond:
            raise click.UsageError(f"--role {beyond[0]}=...: a block has the units 0 to {units - 1}")
        return launch


_role_option: Final = click.option("--role", "roles", type=ROLE, multiple=True, help="Name units of a block.")
_OPTIONS: Final = (
    click.option(
        "--select", multiple=True, metavar="KEY=VALUE", help="Keep sm=, block=, unit=, name=, time=."
    ),
    _role_option,
    click.option("--overhead", type=OVERHEAD, default="none", help="Probe cost to take off. Default: none."),
    allow_empty_option,
)
_unit_option: Final = click.option(
    "--unit",
    type=click.Choice(["auto", "ns", "cyc"]),
    default="auto",
    help="Default: ns where the SM clock's rate is known.",
)
_FORMS: Final = (json_option, click.option("--csv", "as_csv", is_flag=True, help="Print CSV."))


def question_options(command: Command) -> Command:
    """Give a command all that says how to read a launch and how to answer; it takes a ``question``."""
    for option in reversed(_FORMS):
        command = option(command)
    return reading_options(command)


def reading_options(command: Command) -> Command:
    """The same without the forms of an answer, for a command whose answer has one form of its own."""
    return launch_options(_unit_option(command))


def launch_options(command: Command) -> Command:
    """The same without --unit as well, for a command that gives times in both."""
    return _taking(command, _OPTIONS)


def comparing_options(command: Command) -> Command:
    """As :func:`question_options`, without --role: regions are compared in all units that have them."""
    for option in reversed(_FORMS):
        command = option(command)
    return _taking(_unit_option(command), [option for option in _OPTIONS if option is not _role_option])


def _taking(command: Command, options: Sequence[Decorator]) -> Command:
    @wraps(command)
    def asked(*args: Any, **kwargs: Any) -> Any:
        told: dict[str, Any] = {"as_json": False, "as_csv": False, "unit": "auto"}
        told |= {field.name: kwargs.pop(field.name) for field in fields(Question) if field.name in kwargs}
        if told["as_json"] and told["as_csv"]:
            raise click.UsageError("--json and --csv are two forms of one answer; give one of them")
        told["roles"] = _names_of_units(told.get("roles", ()))
        return command(*args, question=Question(selection=_selection(kwargs.pop("select")), **told), **kwargs)

    for option in reversed(options):
        asked = option(asked)
    return spec_options(array_option(asked))  # type: ignore[return-value]


def _names_of_units(roles: Sequence[list[tuple[int, str]]]) -> dict[int, str]:
    named = [pair for role in roles for pair in role]
    names = dict(named)
    if len(names) < len(named):
        raise click.UsageError("--role gives a unit two names")
    return names


def _selection(texts: Sequence[str]) -> Selection:
    from mgpu_trace.analyse.select import parse_selection

    try:
        return parse_selection(texts)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--select'") from None


def answer(
    launch: Launch,
    ask: Callable[[], Table],
    question: Question,
    show: Callable[[Table], None],
    found: Callable[[Table], Sequence[Diagnostic]] = lambda table: (),
) -> int:
    """Ask, print the answer and what was found; the exit status.

    Parameters
    ----------
    ask
        Makes the answer; reads the launch to its end.
    show
        Prints it for a person.
    found
        What is to be said about the answer besides the findings of the launch.
    """
    from mgpu_trace_cli.render import progress
    from mgpu_trace_cli.report import accepted, say

    with progress(launch, "reading"):
        table = ask()
    more = [d if launch.source is None else d.in_file(launch.source) for d in found(table)]
    report = accepted(launch.report + more, question.allow_empty)
    if question.as_json:
        print_json(json_of(launch, table, [d.to_dict() for d in report]), table)
    elif question.as_csv:
        print_csv(table)
    else:
        show(table)
    say(report)
    return int(report.has_errors)


def json_of(launch: Launch, table: Table, findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The one object that ``--json`` prints (docs/analysis.md), its rows still to be filled in."""
    return {
        "schema": f"mgpu-trace/{table.title}",
        "version": VERSION,
        "file": launch.source,
        "clock": launch.clock.to_dict(),
        **table.facts,
        "rows": [],
        "diagnostics": list(findings),
    }


def print_json(answer: Mapping[str, Any], table: Table) -> None:
    """The one object, its rows in parts: a reader that has seen enough is noticed, and memory stays small."""
    names = list(answer)
    before = {name: answer[name] for name in names[: names.index("rows")]}
    after = {name: answer[name] for name in names[names.index("rows") + 1 :]}
    click.echo(json.dumps(before, allow_nan=False)[:-1] + ', "rows": [', nl=False)
    for i, rows in enumerate(table.in_parts(_ROWS_AT_ONCE)):
        click.echo(f"{', ' if i else ''}{json.dumps(rows, allow_nan=False)[1:-1]}", nl=False)
    click.echo(f"], {json.dumps(after, allow_nan=False)[1:]}")


def print_csv(table: Table) -> None:
    """The table as CSV: a line of names, then one for each row; what does not exist is empty."""
    from mgpu_trace.diagnostics import one_line
    from mgpu_trace_cli.render import is_terminal

    # A name may hold what a terminal would obey. A program gets it as it is.
    said: Callable[[Any], Any] = one_line if is_terminal(sys.stdout) else lambda text: text
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(table.columns)
    for rows in table.in_parts(_ROWS_AT_ONCE):
        for row in rows:
            writer.writerow([said(value) if isinstance(value, str) else value for value in row.values()])


def print_rows(
    table: Table, columns: Sequence[str] | None = None, *, drop: Sequence[str] | None = ()
) -> None:
    """The table for a person: on a terminal, or as aligned text in a pipe.

    Parameters
    ----------
    columns
        Which, in that order; None: all.
    drop
        Columns that a narrow terminal does without, the first one first, and a line that says which; None:
        none of them, however long the lines get.
    """
    import numpy as np

    from mgpu_trace.diagnostics.clip import clipped
    from mgpu_trace_cli.render import is_terminal, print_fitted

    names = [name for name in columns or table.columns if name in table.columns]
    most = MOST_ROWS if is_terminal(sys.stdout) else len(table)
    rows = table.take(np.arange(min(most, len(table)))).rows()
    digits = {name: digits_of(row[name] for row in rows) for name in names}
    cells = [[cell_of(name, row[name], clipped, digits[name]) for name in names] for row in rows]
    right = [name for name in names if not any(isinstance(row[name], str) for row in rows)]
    missing = print_fitted(names, cells, right=right, drop=drop)
    if missing:
        click.echo(fill(f"no room for {', '.join(missing)}; --csv and --json have all columns"))
    if len(rows) < len(table):
        click.echo(fill(f"the first {len(rows)} of {len(table)} rows; a pipe, --csv and --json have all"))


def fill(text: str) -> str:
    """A sentence for a person, broken where the terminal ends; in a pipe one line."""
    import textwrap

    from mgpu_trace_cli.render import terminal_columns

    room = terminal_columns()
    return textwrap.fill(text, int(room)) if room < len(text) else text


def digits_of(values: Iterable[Any]) -> int:
    """How many digits people want after the point: none where there are large values in a column."""
    return int(not any(isinstance(value, float) and abs(value) >= _NO_TENTHS_FROM for value in values))


def cell_of(name: str, value: Any, clipped: Callable[[str], str] = str, digits: int = 1) -> str:
    """A value as people read it: shares in per cent, times to a tenth."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return clipped(value)
    if name.endswith("share"):
        return f"{100 * value:.1f}%"
    if isinstance(value, float):
        return f"{value:.3f}" if name == "cv" else f"{value:.{digits}f}"
    return str(value)
