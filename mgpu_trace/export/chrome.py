"""Chrome JSON: complete events, by the rules of docs/perfetto.md.

Every slice is one ``X`` event of fixed width; see records.py for how they are made. Times are
nanoseconds since the launch's first event, written as microseconds with three decimals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

import numpy as np

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.export import Source
from mgpu_trace.export.chrome_blocks import BlockSlices, mark_records
from mgpu_trace.export.jsontext import json_bytes, json_string
from mgpu_trace.export.lines import ExtraTids, Ids, Lines, spelled
from mgpu_trace.export.picture import Arrangement, GroupBy, Picture
from mgpu_trace.export.records import CHARS, Record, n_groups, put_integer, put_micros
from mgpu_trace.export.tails import CLOSED, LONG_BYTES, TRUNCATED, UNCLOSED, Tails, TailTable
from mgpu_trace.model import I64, U8, U32, Slices, TrackFlag

# Slices per chunk: its records stay in a core's own cache until they are written.
_CHUNK: Final = 8 * 1024
# "%d.%03d" microseconds are exact to the nanosecond below this (26 days).
MAX_TIME_NS: Final = 1 << 51
# With more padding than this per record, on average, the records are squeezed before they are written.
_MIN_PADDING_BYTES: Final = 24
# A template for a line and a tail must serve this many slices to be worth making.
_MIN_USES: Final = 4

ARGS: Final = ("cycles", "index")


@dataclass(frozen=True, slots=True)
class ChromeOptions:
    """What to write besides names and times.

    Attributes
    ----------
    args
        Which of :data:`ARGS` every slice carries. ``cycles`` is its exact length in SM cycles,
        ``index`` the occurrence of its name in its track (needs ``Slices.index``).
    roles
        Names for units, such as ``{0: "tma", 1: "mma"}``.
    group_by
        What lines are grouped by: ``"sm"``, ``"block"`` or ``"unit"``.
    lanes
        Whether blocks that do not overlap in time share lines, each with a slice around its regions;
        else there is a line for each unit of each block. Grouped by block it makes no difference.
    """

    args: Collection[str] = ()
    roles: Mapping[int, str] = field(default_factory=dict)
    group_by: GroupBy = "sm"
    lanes: bool = True

    def arrangement(self) -> Arrangement:
        """What of this is about lines."""
        return Arrangement(self.group_by, self.lanes, self.roles)


def write_chrome(source: Source, sink: BinaryIO, options: ChromeOptions | None = None) -> list[Diagnostic]:
    """Write a trace; the report in its metadata is the source's, after its runs were read.

    Returns
    -------
    list of Diagnostic
        What could not be written as it is: altered names (MGT604), times too long (MGT606).
    """
    sink.write(HEAD)
    writer = LaunchWriter(source, sink, options or ChromeOptions())
    writer.write_events(b"\n")
    found = writer.diagnostics()
    sink.write(tail(writer.metadata(found)))
    return found


HEAD: Final = b'{"traceEvents":['


def tail(metadata: Mapping[str, Any]) -> bytes:
    """What ends a trace."""
    return b'\n],"displayTimeUnit":"ns","metadata":' + json_bytes(metadata) + b"}\n"


class LaunchWriter:
    """Writes the events of one launch into a trace.

    Parameters
    ----------
    source, sink, options
        As :func:`write_chrome` has them.
    ids
        Where its processes and threads come from, if other launches are in the trace.
    begin_ns
        Time of the launch's first event since the trace's zero.
    """

    def __init__(
        self,
        source: Source,
        sink: BinaryIO,
        options: ChromeOptions,
        ids: Ids | None = None,
        begin_ns: int = 0,
    ) -> None:
        self._source = source
        self._sink = sink
        self._options = options
        self._picture = Picture(source, options.arrangement(), spelled)
        self._lines = Lines(self._picture, ids)
        self._begin_ns = begin_ns
        self._blocks = BlockSlices(self._picture, self._lines, MAX_TIME_NS, begin_ns)
        self._tails = Tails(source.spec.name_of, bool(options.args))
        self._records: dict[tuple[int, ...], Record] = {}
        self._n_slices = 0
        self._n_too_long = 0

    def write_events(self, before: bytes) -> None:
        """Write every record; ``before`` goes before the first one: a comma where others are there."""
        for batch in _batched(self._lines.introductions()):
            self._sink.write(before + b",\n".join(batch))
            before = b",\n"
        for records in self._blocks.records():
            self._sink.write(records.data)
        for run in self._source.runs():
            for first in range(0, len(run), _CHUNK):
                self._write_chunk(run.where(slice(first, first + _CHUNK)))
        marks = mark_records(self._source, self._picture, self._lines, MAX_TIME_NS, self._begin_ns)
        for batch in _batched(marks):
            self._sink.write(before + b",\n".join(batch))

    def _write_chunk(self, chunk: Slices) -> None:
        track = chunk.track.astype(np.intp)
        begin, end = self._source.clock.narrow_begin_end_ns(track, chunk.start_cyc, chunk.dur_cyc)
        if self._begin_ns:
            begin, end = begin + np.int64(self._begin_ns), end + np.int64(self._begin_ns)
        longest = int(end.max())
        if longest >= MAX_TIME_NS:
            keep = end < MAX_TIME_NS
            self._n_too_long += len(chunk) - int(np.count_nonzero(keep))
            if keep.any():
                self._write_chunk(chunk.where(keep))
            return
        table, rows = self._tails.rows(chunk.name, self._marks(chunk))
        lengths = None
        widest = table.widest
        if table.widest - table.narrowest > _MIN_PADDING_BYTES:
            lengths = table.lengths[rows]
            widest = int(lengths.max())
        extra = self._lines.extra_tids(chunk)  # before the record's layout: it may need wider tids
        record = self._record(chunk, longest, min(widest, LONG_BYTES))
        array = self._records_of_lines(chunk, track, record, table, rows, extra)
        end -= begin
        for name, ns in (("ts", begin), ("dur", end)):
            place = record.fields[name]
            put_micros(array, place.column, place.columns - 1, ns)
        for name, value in self._args(chunk):
            place = record.fields[name]
            put_integer(array, place.column, place.columns, value)
        self._write_records(array, record, table, rows, lengths)
        self._n_slices += len(chunk)

    def _records_of_lines(
        self, chunk: Slices, track: I64, record: Record, table: TailTable, rows: I64, extra: ExtraTids | None
    ) -> U32:
        """Records with process, thread and tail filled in; the numbers are still blank."""
        templates = table.templates(record)
        lines = self._lines
        first, last = int(chunk.track[0]), int(chunk.track[-1])
        n_tracks = last - first + 1
        if extra is None and n_tracks * len(table) * _MIN_USES < len(chunk):
            # Long tracks: few different combinations of line and tail, so make each of them once.
            of_lines = np.repeat(templates[None], n_tracks, axis=0)
            record.put(of_lines, "pid", lines.pid_text[first : last + 1, None])
            record.put(of_lines, "tid", lines.tid_text[first : last + 1, None])
            which = track - first
            which *= len(table)
            which += rows
            return record.filled(of_lines.reshape(-1, len(record.row)), which)
        array = record.filled(templates, rows)
        record.put(array, "pid", lines.pid_text.take(track, axis=0))
        tid_text = lines.tid_text.take(track, axis=0)
        if extra is not None:
            where, text, new = extra
            tid_text[where] = text
            for line in new:
                self._sink.write(b",\n" + line)
        record.put(array, "tid", tid_text)
        return array

    def _args(self, chunk: Slices) -> Iterator[tuple[str, I64]]:
        if "cycles" in self._options.args:
            yield "cycles", chunk.dur_cyc
        if "index" in self._options.args and chunk.index is not None:
            yield "index", chunk.index

    def _record(self, chunk: Slices, longest_ns: int, tail_bytes: int) -> Record:
        """A record layout for numbers as large as this chunk's; few different ones are ever needed."""
        tail_columns = -(-tail_bytes // CHARS)
        time_columns = n_groups(longest_ns // 1000) + 1
        arg_columns = [(name, n_groups(int(value.max()))) for name, value in self._args(chunk)]
        pid, tid = self._lines.pid_text.shape[1], self._lines.tid_text.shape[1]
        key = (tid, time_columns, tail_columns, *(columns for _, columns in arg_columns))
        record = self._records.get(key)
        if record is None:
            parts: list[bytes | tuple[str, int]] = [b',\n{"ph":"X","pid":', ("pid", pid)]
            parts += [b',"tid":', ("tid", tid), b',"ts":', ("ts", time_columns)]
            parts += [b',"dur":', ("dur", time_columns)]
            for i, (name, columns) in enumerate(arg_columns):
                parts += [(b"," if i else b',"args":{') + json_string(name) + b":", (name, columns)]
            record = self._records[key] = Record([*parts, ("tail", tail_columns)])
        return record

    def _marks(self, chunk: Slices) -> U8 | None:
        """How each slice ended: an unclosed one of a track that lost its tail is truncated."""
        if chunk.closed.all():
            return None
        lost = self._source.tracks.flags[chunk.track] & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL) != 0
        return np.where(chunk.closed, CLOSED, np.where(lost, TRUNCATED, UNCLOSED)).astype(np.uint8)

    def _write_records(
        self, array: U32, record: Record, table: TailTable, rows: I64, lengths: I64 | None
    ) -> None:
        fixed_bytes = record.fields["tail"].column * CHARS
        if lengths is None:
            self._sink.write(array.data)
        elif int(lengths.max()) > LONG_BYTES:
            # Some tails are too long to be padded: those are written one by one.
            done = 0
            for at in np.flatnonzero(lengths > LONG_BYTES).tolist():
                self._sink.write(array[done:at].data)
                head = array[at, : fixed_bytes // CHARS].tobytes()
                self._sink.write(head + table.parts[int(rows[at])])
                done = at + 1
            self._sink.write(array[done:].data)
        elif (
            int(lengths.sum()) + len(rows) * (fixed_bytes + _MIN_PADDING_BYTES)
            < len(rows) * record.width_bytes
        ):
            used = np.arange(record.width_bytes) < (fixed_bytes + lengths)[:, None]
            self._sink.write(array.view(np.uint8)[used].data)
        else:
            self._sink.write(array.data)

    def diagnostics(self) -> list[Diagnostic]:
        """What could not be written as it is."""
        found = []
        altered = self._tails.n_altered
        if altered:
            what = "name" if altered == 1 else "names"
            message = f"{altered} {what} of regions could not be written (lone surrogates, or empty)"
            found.append(Diagnostic(catalogue.NAME_ALTERED, message, altered))
        n_too_long = self._n_too_long + self._blocks.n_too_long
        if n_too_long:
            message = f"{n_too_long} slices end 26 days or more after the first event; left out"
            found.append(
                Diagnostic(catalogue.TIME_TOO_LONG, message, n_too_long, hint="check --sm-clock-mhz")
            )
        return found

    def metadata(self, diagnostics: list[Diagnostic]) -> dict[str, Any]:
        """What the trace says about the launch; complete once its events were written."""
        source = self._source
        return {
            "tool": "mgpu-trace",
            "spec": source.spec.to_dict(),
            "clock": source.clock.to_dict(),
            "n_tracks": len(source.tracks),
            "n_slices": self._n_slices,
            "picture": self._picture.to_dict(),
            "diagnostics": [d.to_dict() for d in (*source.report, *diagnostics)],
            **source.more_facts(),
        }


def _batched(items: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Lists of up to a few thousand items."""
    batch: list[bytes] = []
    for item in items:
        batch.append(item)
        if len(batch) == 4096:
            yield batch
            batch = []
    if batch:
        yield batch
