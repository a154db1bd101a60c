"""``mgpu-trace query``: launches decoded, asked once, and the answer in the form that was wanted."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.columns.fields import TABLES
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report
from mgpu_trace_cli.answers import FORMS, Answer, write_answer
from mgpu_trace_cli.asking import Question
from mgpu_trace_cli.options import Command

if TYPE_CHECKING:
    from mgpu_trace.sql.session import Session

_SUFFIXES: Final = {f".{form}": form for form in FORMS if form != "table"}

HELP: Final = """\
Answer a question in SQL about launches.

The SQL is one statement for DuckDB (mgpu-trace[analysis]), over these tables. Times end in their unit;
those in _ns are null where no clock rate is known. --schema says what each column holds.

""" + "\n\n".join(
    "\b\n"
    + fill(
        ", ".join(field.name for field in fields),
        width=78,
        initial_indent=f"{name:<8}",
        subsequent_indent=" " * 8,
        break_on_hyphens=False,
    )
    for name, fields in TABLES.items()
)


def _print_schema(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from mgpu_trace_cli.render import print_table

        rows = [
            (table, field.name, _TYPES[field.kind], field.unit, field.about)
            for table, fields in TABLES.items()
            for field in fields
        ]
        print_table(("table", "column", "type", "unit", "what it holds"), rows)
        ctx.exit()


# Types as SQL calls them.
_TYPES: Final = {"bool": "BOOLEAN", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT"} | {
    "float64": "DOUBLE",
    "text": "VARCHAR",
    "choice": "VARCHAR",
}
_OPTIONS: Final = (
    click.option("--format", "form", type=click.Choice(FORMS), help="Default: table, or by the name of OUT."),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
    click.option("--csv", "form", flag_value="csv", help="The same as --format csv."),
    click.option("-o", "--output", metavar="OUT", help="A file for the answer. Default: standard output."),
    click.option(
        "--schema",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_schema,
        help="List the tables and their columns, with types and units.",
    ),
)


def answer_options(command: Command) -> Command:
    """Give a command what says in which form, and where, its rows go."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def form_of(form: str | None, output: str | None) -> str:
    """The form of the answer, by what was said and the name of the output.

    Raises
    ------
    click.UsageError
        Where the two contradict each other; for Parquet without a file.
    """
    by_name = next((f for suffix, f in _SUFFIXES.items() if (output or "").lower().endswith(suffix)), None)
    if form and by_name and form != by_name:
        raise click.UsageError(f"--format {form} and -o {output} contradict each other")
    form = form or by_name or "table"
    if form == "parquet" and output in (None, "-"):
        raise click.UsageError("--format parquet is for a file: give -o NAME.parquet")
    return form


def ask(sql: str, files: Sequence[str], question: Question, form: str | None, output: str | None) -> int:
    """Decode the files, answer, and say what was found; the exit status.

    Raises
    ------
    MgpuTraceError, ExceptionGroup
        Where the SQL cannot be run, or no file can be read.
    """
    from mgpu_trace.sql.session import Session
    from mgpu_trace_cli.report import accepted, say

    form = form_of(form, output)
    session = Session(question.roles)
    session.check(sql)  # before anything is decoded
    found, failed = Report(), []
    clocks: list[dict[str, Any]] = []
    for file in files:
        try:
            found += _add(session, file, question, clocks)
        except MgpuTraceError as error:
            failed.append(error)
    if len(failed) == len(files):
        raise ExceptionGroup("no file", failed)
    report = accepted(found + [error.diagnostic for error in failed], question.allow_empty)
    answer = Answer(sql, session.ask(sql), clocks, [d.to_dict() for d in report])
    write_answer(answer, form, output)
    say(report)
    return int(report.has_errors)


def _add(
    session: Session, file: str, question: Question, clocks: list[dict[str, Any]]
) -> Sequence[Diagnostic]:
    from mgpu_trace_cli.render import progress

    launch = question.open(file)
    with progress(launch, "reading"):
        decoded = session.add(launch, launch.source)
    clocks.append({"file": launch.source, "clock": launch.clock.to_dict()})
    return tuple(decoded.report)
