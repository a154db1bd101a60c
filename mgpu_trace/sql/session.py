"""The four tables of decoded launches, and one statement of SQL over them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, Protocol

import numpy as np

from mgpu_trace.analyse.select import Selection
from mgpu_trace.analyse.source import Source, origin_cyc
from mgpu_trace.columns import EXTRA
from mgpu_trace.columns import Source as TableSource
from mgpu_trace.columns.fields import FILE, LAUNCH, NAMES, SLICES, TABLES, TRACKS, Field, schema_of
from mgpu_trace.columns.others import Decoded, launch_table, names_table, tracks_table
from mgpu_trace.columns.regions import Texts, as_text
from mgpu_trace.columns.slices import SliceColumns
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.extras import needs
from mgpu_trace.model import Slices, occurrence
from mgpu_trace.sql.answers import tidied
from mgpu_trace.sql.lazy import lazy_table

# The SQL may come from anywhere: it reads the four tables, no file, no other machine, no variable of
# Python, and leaves nothing on the disk. The last setting makes the others final.
_SETTINGS: Final = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
    "lock_configuration": "true",
}
_QUESTIONS: Final = ("SELECT", "EXPLAIN", "MULTI")  # PIVOT counts as several
_WAIT_S: Final = 0.05


class Asked(TableSource, Source, Protocol):
    """A Timeline or a Launch, for its tables and for what is worked out on whole tracks."""


class Session:
    """Answers SQL over launches.

    Parameters
    ----------
    roles
        Names for units, such as ``{0: "tma"}``.

    Raises
    ------
    MgpuTraceError
        MGT631 where duckdb or pyarrow are missing.
    """

    def __init__(self, roles: Mapping[int, str] | None = None) -> None:
        needs("pyarrow", EXTRA, "query")
        self._duckdb = needs("duckdb", EXTRA, "query")
        self._connection = self._duckdb.connect(config=_SETTINGS)
        self._roles = dict(roles or {})
        self._launches: list[tuple[str | None, Decoded]] = []
        self._show()

    def add(self, source: Asked, file: str | None = None) -> Decoded:
        """Decode a launch to its end, and let its rows be in the tables."""
        slices = Slices.collect(_numbered(source), _most_slices(source))
        decoded = Decoded(source, slices, source.report, origin_cyc(source))
        self._launches.append((file, decoded))
        return decoded

    def check(self, sql: str) -> None:
        """Refuse what is not one question, or does not fit the tables.

        Raises
        ------
        MgpuTraceError
            MGT630, MGT632.
        """
        statements = self._told(lambda: self._connection.extract_statements(sql))
        kinds = [str(statement.type).rpartition(".")[2] for statement in statements]
        if len(kinds) != 1:
            said = f"{len(kinds)} statements" if kinds else "no statement"
            raise _refused(f"{said}, where one is answered", "ask with one SELECT; WITH names parts of it")
        if kinds[0] not in _QUESTIONS:
            raise _refused(f"{kinds[0]} is no question", "ask with SELECT; -o writes the answer")
        self._told(lambda: self._connection.sql(sql))

    def ask(self, sql: str) -> Any:
        """The answer as a ``pyarrow.Table``; Ctrl-C ends it.

        Raises
        ------
        MgpuTraceError
            MGT630, MGT632; MGT902 where it needs more memory than there is.
        """
        self.check(sql)
        self._show()
        self._count()
        return self._told(lambda: tidied(self._apart(lambda: self._connection.sql(sql).to_arrow_table())))

    def _show(self, at_once: bool = False) -> None:
        """Give DuckDB the tables of the launches that were added; ``at_once``: with all columns made."""
        tables = {
            "slices": self._slices(),
            "tracks": self._other(TRACKS, lambda one: tracks_table(one, self._roles)),
            "launch": self._other(LAUNCH, launch_table),
            "names": self._other(NAMES, names_table),
        }
        for name, table in tables.items():
            self._connection.register(name, table.scanner().to_table() if at_once else table)

    def _other(self, fields: Sequence[Field], table_of: Callable[[Decoded], Any]) -> Any:
        """The rows of all launches; made, all columns at once, where they are read."""
        pa = needs("pyarrow", EXTRA, "query")

        @cache
        def whole() -> Any:
            tables = [table_of(launch) for _, launch in self._launches]
            files = _files(self._launches, [len(table) for table in tables])
            table = pa.concat_tables([schema_of(fields).empty_table(), *tables])
            return table.add_column(0, FILE.to_arrow(), files)

        return lazy_table(schema_of((FILE, *fields)), lambda name: whole().column(name))

    def _count(self) -> None:
        """Should another DuckDB read a dataset in another way, it gets plain tables."""
        n_rows = sum(len(launch.slices) for _, launch in self._launches)
        said = self._connection.sql("SELECT count(track) FROM slices").to_arrow_table().column(0)[0].as_py()
        if said != n_rows:
            self._show(at_once=True)

    def _slices(self) -> Any:
        pa = needs("pyarrow", EXTRA, "query")
        texts = Texts()
        parts = [(SliceColumns(one.source, self._roles, texts), one.slices) for _, one in self._launches]
        counts = [len(slices) for _, slices in parts]
        kinds = {field.name: field.to_arrow().type for field in SLICES}

        def column(name: str) -> Any:
            if name == FILE.name:
                return _files(self._launches, counts)
            if name == "region":  # all names before the first rows: they have one dictionary
                numbers = [columns.regions.numbers(slices.name) for columns, slices in parts]
                return pa.chunked_array(map(texts.column, numbers), kinds[name])
            return pa.chunked_array([columns.column(name, s) for columns, s in parts], kinds[name])

        return lazy_table(schema_of(TABLES["slices"]), column)

    def _apart(self, run: Callable[[], Any]) -> Any:
        """Run in a thread of its own: DuckDB looks for Ctrl-C only now and then, and can be told."""
        done: list[Any] = []
        failed: list[BaseException] = []
        is_over = threading.Event()  # a join that is interrupted takes the thread for ended (Python 3.11)

        def work() -> None:
            try:
                done.append(run())
            except BaseException as error:
                failed.append(error)
            finally:
                is_over.set()

        threading.Thread(target=work).start()
        try:
            while not is_over.wait(_WAIT_S):
                pass
        except BaseException:
            while not is_over.is_set():
                self._connection.interrupt()
                is_over.wait(_WAIT_S)
            raise
        if failed:
            raise failed[0]
        return done[0]

    def _told(self, run: Callable[[], Any]) -> Any:
        """The result of ``run``; DuckDB's errors as findings."""
        pa = needs("pyarrow", EXTRA, "query")
        try:
            return run()
        except self._duckdb.OutOfMemoryException as error:
            hint = "ask for less, or dump to .parquet and ask DuckDB itself"
            raise MgpuTraceError(Diagnostic(catalogue.OUT_OF_MEMORY, _line_of(error), hint=hint)) from error
        except (self._duckdb.Error, pa.ArrowException) as error:
            about_names = isinstance(error, self._duckdb.BinderException | self._duckdb.CatalogException)
            hint = "mgpu-trace query --schema lists the tables and columns" if about_names else ""
            raise MgpuTraceError(Diagnostic(catalogue.SQL_ERROR, _line_of(error), hint=hint)) from error


def query(sql: str, *sources: Asked, roles: Mapping[int, str] | None = None) -> Any:
    """The answer to one statement of SQL over launches, as a ``pyarrow.Table``.

    Parameters
    ----------
    sql
        Reads the tables ``slices``, ``tracks``, ``launch`` and ``names`` (docs/tables.md).
    sources
        Launches or Timelines.
    roles
        Names for units, such as ``{0: "tma"}``, in the columns ``role``.

    Raises
    ------
    MgpuTraceError
        MGT630 for an error in the SQL, MGT632 for what is not one question, MGT631 where duckdb or
        pyarrow are missing.
    """
    session = Session(roles)
    session.check(sql)
    for source in sources:
        session.add(source, getattr(source, "source", None))
    return session.ask(sql)


def _numbered(source: Asked) -> Iterator[Slices]:
    """The selected slices in runs; where not all are, with their occurrence in the whole track."""
    if getattr(source, "selection", Selection()) == Selection():
        yield from source.runs()
        return
    for run, keep in source.whole_runs():
        numbered = replace(run, index=occurrence(run.track, run.name)) if run.index is None else run
        yield numbered if keep is None else numbered.where(keep)


def _most_slices(source: Source) -> int:
    """A number that the slices of ``source`` do not exceed."""
    return int(source.tracks.n_events.sum(dtype=np.int64))


def _files(launches: Sequence[tuple[str | None, Decoded]], counts: Sequence[int]) -> Any:
    """The column ``file`` of the rows of the launches, ``counts`` of each."""
    pa = needs("pyarrow", EXTRA, "query")
    texts = Texts()
    numbers = [texts.number_of(as_text(file or "")) for file, _ in launches]
    chunks = [
        texts.column(np.full(n, number, np.int32), np.full(n, file is None))
        for (file, _), n, number in zip(launches, counts, numbers, strict=True)
    ]
    return pa.chunked_array(chunks, FILE.to_arrow().type)


def _line_of(error: BaseException) -> str:
    """What DuckDB says, in one line and without the picture of the place."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line]
    places = [i for i, line in enumerate(told) if line.startswith("LINE ")]
    return " ".join(told[: places[0]] if places and places[0] else told)


def _refused(message: str, hint: str) -> MgpuTraceError:
    return MgpuTraceError(Diagnostic(catalogue.SQL_REFUSED, message, hint=hint))
