"""Slices in Chrome JSON that are no regions: those of blocks, and marks where events were lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from mgpu_trace.export import Source
from mgpu_trace.export.jsontext import json_bytes
from mgpu_trace.export.lines import Lines
from mgpu_trace.export.marks import marks
from mgpu_trace.export.picture import Picture, block_name
from mgpu_trace.export.records import Record, n_groups, put_micros, texts
from mgpu_trace.model import I64, U32, distinct

# Tracks per batch.
_BATCH: Final = 4096


class BlockSlices:
    """Records of the slices of all shown blocks; none where blocks have no slice.

    They come before all regions: of a block and a region that begin and end together, the one that
    comes first in the file is the outer one.

    Parameters
    ----------
    picture, lines
        The lines, and their ids.
    max_ns
        What ends then or later is left out.
    begin_ns
        Time of the launch's first event.

    Attributes
    ----------
    n_too_long
        How many are left out.
    """

    def __init__(self, picture: Picture, lines: Lines, max_ns: int, begin_ns: int = 0) -> None:
        self._picture = picture
        self._lines = lines
        self._begin_ns = begin_ns
        self._layouts: dict[tuple[int, int], Record] = {}
        wanted = np.flatnonzero(picture.shown) if picture.has_blocks else np.empty(0, np.int64)
        self._tracks = wanted[picture.block_span(wanted)[1] < max_ns - begin_ns]
        self.n_too_long = len(wanted) - len(self._tracks)

    def records(self) -> Iterator[U32]:
        """Batch by batch."""
        for first in range(0, len(self._tracks), _BATCH):
            yield self._records(self._tracks[first : first + _BATCH])

    def _records(self, tracks: I64) -> U32:
        begin, end = (ns + self._begin_ns for ns in self._picture.block_span(tracks))
        block = tracks // self._picture.spec.tracks_per_block
        blocks = distinct(block)
        names = [block_name(self._picture.spec, block).encode() for block in blocks.tolist()]
        tails, _ = texts([b',"name":"%b"}' % name for name in names])
        record = self._layout(n_groups(int(end.max()) // 1000) + 1, tails.shape[1])
        array = record.filled(record.row[None], np.zeros(len(tracks), np.int64))
        record.put(array, "pid", self._lines.pid_text[tracks])
        record.put(array, "tid", self._lines.tid_text[tracks])
        record.put(array, "tail", tails[np.searchsorted(blocks, block)])
        for name, ns in (("ts", begin), ("dur", end - begin)):
            place = record.fields[name]
            put_micros(array, place.column, place.columns - 1, ns)
        return array

    def _layout(self, time: int, tail: int) -> Record:
        """A layout for so many columns; few different ones are ever needed."""
        if (time, tail) not in self._layouts:
            pid, tid = self._lines.pid_text.shape[1], self._lines.tid_text.shape[1]
            parts: list[bytes | tuple[str, int]] = [b',\n{"ph":"X","cat":"block","pid":', ("pid", pid)]
            parts += [b',"tid":', ("tid", tid), b',"ts":', ("ts", time), b',"dur":', ("dur", time)]
            self._layouts[time, tail] = Record([*parts, ("tail", tail)])
        return self._layouts[time, tail]


def mark_records(
    source: Source, picture: Picture, lines: Lines, max_ns: int, begin_ns: int = 0
) -> Iterator[bytes]:
    """Marks on the lines of tracks that lost events, to be written after all regions.

    Of two slices of no length at one time the second lies in the first: so no region lies in a mark.
    """
    for mark in marks(source, picture):
        if mark.ns < max_ns - begin_ns:
            times = divmod(mark.ns + begin_ns, 1000)
            yield _MARK % (*lines.ids(mark.track), *times, json_bytes(mark.name), json_bytes(mark.args))


_MARK: Final = b'{"ph":"X","cat":"loss","pid":%d,"tid":%d,"ts":%d.%03d,"dur":0,"name":%b,"args":%b}'
