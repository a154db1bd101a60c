"""The rows of a query as a table for people, as CSV, as one JSON object, or as a Parquet file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

import click

VERSION: Final = 1  # of the JSON
MOST_ROWS: Final = 1000  # of a table for people


@dataclass(frozen=True, slots=True)
class Answer:
    """What was asked, the rows as a ``pyarrow.Table``, and what they were made from.

    Attributes
    ----------
    files
        ``file`` and ``clock`` of each launch.
    findings
        JSON-ready.
    """

    sql: str
    rows: Any
    files: list[dict[str, Any]]
    findings: list[dict[str, Any]]

    def facts(self) -> dict[str, Any]:
        """What there is to say besides the rows, JSON-ready."""
        from mgpu_trace.sql.answers import columns_of

        return {
            "schema": "mgpu-trace/query",
            "version": VERSION,
            "sql": self.sql,
            "files": self.files,
            "columns": columns_of(self.rows),
            "diagnostics": self.findings,
        }


def write_answer(answer: Answer, form: str, output: str | None) -> None:
    """Write it to a file, whole or not at all, or to standard output."""
    if form == "table" and output in (None, "-"):
        _print_table(answer)
        return
    with _opened(output) as sink:
        FORMS[form](answer, sink)


@contextmanager
def _opened(output: str | None) -> Iterator[BinaryIO]:
    from mgpu_trace.files import whole_file

    if output not in (None, "-"):
        with whole_file(output) as sink:
            yield sink
        return
    if sys.stdout is None:
        raise click.UsageError("standard output is closed; give -o FILE")
    yield cast(BinaryIO, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _cells(answer: Answer, most: int | None = None) -> tuple[list[list[str]], list[str]]:
    """The rows as text for people, and the names of the columns that are numbers."""
    from mgpu_trace.sql.answers import rows_of

    rows = [row for some in rows_of(answer.rows.slice(0, most)) for row in some]
    names = answer.rows.column_names
    kinds = [{_is_number(row[i]) for row in rows if row[i] is not None} for i in range(len(names))]
    numbers = [name for name, kind in zip(names, kinds, strict=True) if kind == {True}]
    return [list(map(_cell, row)) for row in rows], numbers


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    """A value as people read it: numbers that are not whole to ten digits."""
    from mgpu_trace.sql.answers import text_of

    if value is None:
        return "-"
    return f"{value:.10g}" if isinstance(value, float) else text_of(value)


def _print_table(answer: Answer) -> None:
    from mgpu_trace.diagnostics import one_line
    from mgpu_trace_cli.render import print_table

    if answer.rows.column_names == ["explain_key", "explain_value"]:  # lines that DuckDB has drawn
        for text in answer.rows.column("explain_value").to_pylist():
            click.echo("\n".join(map(one_line, text.splitlines())))
        return
    cells, numbers = _cells(answer, MOST_ROWS)
    print_table(list(map(one_line, answer.rows.column_names)), cells, right=numbers)
    if answer.rows.num_rows > MOST_ROWS:
        said = f"{MOST_ROWS} of {answer.rows.num_rows} rows; --format csv, json or parquet has all"
        click.echo(said, err=True)


def _write_table(answer: Answer, sink: BinaryIO) -> None:
    from mgpu_trace.diagnostics import one_line
    from mgpu_trace_cli.render import plain_table

    cells, numbers = _cells(answer)
    lines = [[one_line(cell) for cell in row] for row in cells]
    names = list(map(one_line, answer.rows.column_names))
    sink.write((plain_table(names, lines, right=numbers) + "\n").encode())


def _write_csv(answer: Answer, sink: BinaryIO) -> None:
    import csv
    import io

    from mgpu_trace.sql.answers import rows_of, text_of

    def written(rows: list[list[str]]) -> bytes:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue().encode()

    sink.write(written([answer.rows.column_names]))
    for some in rows_of(answer.rows):
        sink.write(written([list(map(text_of, row)) for row in some]))


def _write_json(answer: Answer, sink: BinaryIO) -> None:
    """One object; its rows are written as they are made."""
    from mgpu_trace.sql.answers import rows_of

    sink.write(json.dumps(answer.facts())[:-1].encode() + b', "rows": [')
    before = b"\n"
    names = answer.rows.column_names
    for some in rows_of(answer.rows):
        lines = [json.dumps(dict(zip(names, row, strict=True)), allow_nan=False) for row in some]
        sink.write(before + ",\n".join(lines).encode())
        before = b",\n"
    sink.write(b"\n]}\n")


def _write_parquet(answer: Answer, sink: BinaryIO) -> None:
    from mgpu_trace.columns import EXTRA
    from mgpu_trace.extras import needs

    pq = needs("pyarrow.parquet", EXTRA, "Parquet")
    about = {"mgpu-trace": json.dumps(answer.facts())}
    pq.write_table(answer.rows.replace_schema_metadata(about), sink, compression="zstd")


FORMS: Final[dict[str, Callable[[Answer, BinaryIO], None]]] = {
    "table": _write_table,
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
