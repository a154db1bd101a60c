"""Tables of slices as Parquet, Arrow and CSV: written in runs, whatever the size of the launch.

The schema of Parquet and of Arrow comes before the data and says what was found in it. So the launch is
decoded twice: once for the findings and the names, and once to be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO, Final

from mgpu_trace.columns import EXTRA
from mgpu_trace.columns.about import KEY, about, altered
from mgpu_trace.columns.fields import schema_of
from mgpu_trace.columns.regions import Texts, as_text
from mgpu_trace.columns.slices import SliceColumns, batches, slice_fields
from mgpu_trace.diagnostics import Diagnostic
from mgpu_trace.export import Source
from mgpu_trace.extras import needs
from mgpu_trace.model import Slices

# Rows of a row group or record batch: enough for a reader to skip by, few enough to be held.
_ROWS: Final = 256 * 1024
_NEAR: Final = ("start_cyc", "begin_ns", "end_ns")  # near to the row before: written as differences


def write_parquet(source: Source, sink: BinaryIO, options: Any = None) -> list[Diagnostic]:
    """Write the slices as Parquet, compressed with zstd.

    Returns
    -------
    list of Diagnostic
        Names that could not be written as they are (MGT604).
    """
    pq = needs("pyarrow.parquet", EXTRA, "Parquet")
    pa = needs("pyarrow", EXTRA, "Parquet")
    table = _Table(source, options)
    schema, parts = table.read_twice()
    near = [name for name in _NEAR if source.clock.rate_mhz is not None or not name.endswith("_ns")]
    coded = [name for name in schema.names if name not in (*_NEAR, "dur_cyc", "dur_ns")]
    how = {"use_dictionary": coded, "column_encoding": dict.fromkeys(near, "DELTA_BINARY_PACKED")}
    with _as_file(sink) as file, pq.ParquetWriter(file, schema, compression="zstd", **how) as writer:
        for some in parts:
            writer.write_table(pa.Table.from_batches(some), row_group_size=2 * _ROWS)
    return table.findings()


def write_arrow(source: Source, sink: BinaryIO, options: Any = None) -> list[Diagnostic]:
    """Write the slices as an Arrow IPC file (Feather), not compressed: it can be mapped.

    Returns
    -------
    list of Diagnostic
        Names that could not be written as they are (MGT604).
    """
    pa = needs("pyarrow", EXTRA, "Arrow")
    ipc = needs("pyarrow.ipc", EXTRA, "Arrow")
    table = _Table(source, options)
    schema, parts = table.read_twice()
    with _as_file(sink) as file, ipc.new_file(file, schema) as writer:
        for some in parts:
            writer.write_table(pa.Table.from_batches(some).combine_chunks(), max_chunksize=2 * _ROWS)
    return table.findings()


def write_csv(source: Source, sink: BinaryIO, options: Any = None) -> list[Diagnostic]:
    """Write the slices as CSV: a line of names, then one for each slice; texts in quotes, null is empty.

    It has no place for the spec and the findings.

    Returns
    -------
    list of Diagnostic
        Names that could not be written as they are (MGT604).
    """
    csv = needs("pyarrow.csv", EXTRA, "CSV")
    pa = needs("pyarrow", EXTRA, "CSV")
    table = _Table(source, options, Texts(_without_nul))
    schema, parts = table.read_once()
    plain = csv.WriteOptions(include_header=False)
    with _as_file(sink) as file:
        file.write((",".join(schema.names) + "\n").encode())
        for some in parts:
            csv.write_csv(pa.Table.from_batches(some), file, plain)
    return table.findings()


def _without_nul(text: str) -> str:
    """Text without NUL, at which many a reader of CSV ends."""
    return as_text(text).replace("\0", "\ufffd")


class _Table:
    """One launch on its way into a file."""

    def __init__(self, source: Source, options: Any, texts: Texts | None = None) -> None:
        self._source = source
        self._roles = dict(getattr(options, "roles", None) or {})
        self._columns = SliceColumns(source, self._roles, texts)

    def read_once(self) -> tuple[Any, Iterator[Sequence[Any]]]:
        """The schema, and the batches as the launch is decoded."""
        runs = self._source.runs()
        first = next(runs, Slices.collect((), 0))
        schema = schema_of(slice_fields(first, self._roles))
        return schema, batches(self._columns, chain((first,), runs), schema, _ROWS)

    def read_twice(self) -> tuple[Any, Iterator[Sequence[Any]]]:
        """The schema with all that was found in its metadata, and the batches."""
        one = Slices.collect((), 0)
        for run in self._source.runs():
            self._columns.regions.numbers(run.name)
            one = run.where(slice(1))
        facts = {KEY: about(self._source, self.findings(), self._roles)}
        schema = schema_of(slice_fields(one, self._roles), facts)
        return schema, batches(self._columns, self._source.runs(), schema, _ROWS)

    def findings(self) -> list[Diagnostic]:
        """What could not be written as it is."""
        return altered(self._columns.regions)


class _Counting:
    """What pyarrow asks of a file, on a sink that can only be written to."""

    closed = False

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._at = 0

    def write(self, data: Any) -> int:
        self._sink.write(data)
        n_bytes = memoryview(data).nbytes
        self._at += n_bytes
        return n_bytes

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        """The sink is flushed by whoever opened it."""

    def close(self) -> None:
        """The sink stays open."""


@contextmanager
def _as_file(sink: BinaryIO) -> Iterator[Any]:
    pa = needs("pyarrow", EXTRA, "a table")
    with pa.PythonFile(_Counting(sink), mode="w") as file:
        yield file
