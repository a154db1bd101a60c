"""The end of a slice's record: what depends on its name and on how it ended, ready-made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from mgpu_trace.export.jsontext import is_altered, json_string, shown_name
from mgpu_trace.export.records import Record, texts
from mgpu_trace.layout import MAX_NAME_ID
from mgpu_trace.model import I32, I64, U8, U32, distinct

# How a slice ended, and what its record says about that.
MARKS: Final = (b"", b'"unclosed":true', b'"truncated":true')
CLOSED, UNCLOSED, TRUNCATED = range(3)

# A buffer of garbage may have a million different names: more tails than this are not kept.
_MOST_TAILS: Final = 1 << 16
# Tails up to this long are padded to one width; longer ones are written one by one.
LONG_BYTES: Final = 512


class Tails:
    """Tails by name id and mark, made when an id is first seen.

    Parameters
    ----------
    name_of
        Region name of a name id.
    has_args
        Whether an ``args`` object is already open in the record.
    """

    def __init__(self, name_of: Callable[[int], str], has_args: bool) -> None:
        self._name_of = name_of
        self._has_args = has_args
        self._row_of_id = np.full(256, -1, np.int64)
        self._altered: set[int] = set()
        self._closed = TailTable([])
        self._any = TailTable([])

    def rows(self, name: I32, mark: U8 | None) -> tuple[TailTable, I64]:
        """The table for slices of these names and marks, and each slice's row in it.

        Without marks (all closed) the table is a smaller one.
        """
        index = name.astype(np.intp)
        try:
            rows = self._row_of_id[index]
        except IndexError:
            self._grow(int(name.max()))
            rows = self._row_of_id[index]
        if rows.min() < 0:
            self._add(name)
            rows = self._row_of_id[index]
        if mark is None:
            return self._closed, rows
        return self._any, rows * len(MARKS) + mark

    @property
    def n_altered(self) -> int:
        """Names so far that could not be written as they are."""
        return len(self._altered)

    def _grow(self, largest_id: int) -> None:
        grown = np.full(min(2 * largest_id, MAX_NAME_ID) + 1, -1, np.int64)
        grown[: len(self._row_of_id)] = self._row_of_id
        self._row_of_id = grown

    def _add(self, name: I32) -> None:
        """Make the tails of all ids of ``name``; old ones are forgotten where there would be too many."""
        marked = list(self._any.parts)
        if len(marked) + len(MARKS) * len(name) > _MOST_TAILS:
            marked = []
            self._row_of_id[:] = -1
        for name_id in distinct(name[self._row_of_id[name] < 0]).tolist():
            self._row_of_id[name_id] = len(marked) // len(MARKS)
            text = self._name_of(name_id)
            if is_altered(text):
                self._altered.add(name_id)
            tail = b',"name":' + json_string(shown_name(text)) + b"}"
            marked += [self._args(mark) + tail for mark in MARKS]
        self._any = TailTable(marked)
        self._closed = TailTable(marked[:: len(MARKS)])

    def _args(self, mark: bytes) -> bytes:
        if self._has_args:
            return (b"," + mark if mark else b"") + b"}"
        return b',"args":{' + mark + b"}" if mark else b""


class TailTable:
    """Tails as rows of words, and the templates of whole records that end in them.

    Attributes
    ----------
    parts
        The tails, whole.
    lengths
        ``(n,)`` bytes of each.
    widest, narrowest
        The largest and the smallest of them.
    """

    def __init__(self, parts: list[bytes]) -> None:
        self.parts = parts
        self._words, _ = texts([part[:LONG_BYTES] for part in parts])
        self.lengths = np.array([len(part) for part in parts], np.int64)
        self.widest = int(self.lengths.max(initial=0))
        self.narrowest = int(self.lengths.min(initial=LONG_BYTES))
        self._templates: dict[int, U32] = {}

    def __len__(self) -> int:
        return len(self.parts)

    def templates(self, record: Record) -> U32:
        """``(n, columns)``: for each tail a record with everything but its numbers."""
        found = self._templates.get(id(record))
        if found is None:
            found = np.tile(record.row, (len(self), 1))
            place = record.fields["tail"]
            found[:, place.column : place.column + place.columns] = self._words[:, : place.columns]
            self._templates[id(record)] = found
        return found
