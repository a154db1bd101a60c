"""The end of a slice's record: what depends on its name and on how it ended, ready-made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from mgpu_trace.export.jsontext import json_string, shown_name
from mgpu_trace.export.records import texts
from mgpu_trace.layout import MAX_NAME_ID
from mgpu_trace.model import I32, I64, U8, U32

# How a slice ended, and what its record says about that.
MARKS: Final = (b"", b'"unclosed":true', b'"truncated":true')
CLOSED, UNCLOSED, TRUNCATED = range(3)

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
        self._ids: list[int] = []
        self._parts: list[bytes] = []
        self._table: U32 = np.empty((0, 1), np.uint32)
        self._lengths: I64 = np.empty(0, np.int64)

    def rows(self, name: I32, mark: U8) -> I64:
        """``(n,)`` rows of the tables for slices of these names and marks."""
        largest = int(name.max())
        if largest >= len(self._row_of_id):
            grown = np.full(min(2 * largest, MAX_NAME_ID) + 1, -1, np.int64)
            grown[: len(self._row_of_id)] = self._row_of_id
            self._row_of_id = grown
        rows = self._row_of_id[name]
        if rows.min() < 0:
            self._add(np.unique(name[rows < 0]))
            rows = self._row_of_id[name]
        rows += mark
        return rows

    def lengths(self, rows: I64) -> I64:
        """Bytes of each row's tail."""
        out: I64 = self._lengths[rows]
        return out

    def table(self) -> U32:
        """``(n_rows, columns)`` tails as words, padded with spaces; long ones are cut short."""
        return self._table

    def text(self, row: int) -> bytes:
        """One tail, whole."""
        return self._parts[row]

    def names_seen(self) -> Iterator[str]:
        """The names of all ids seen so far."""
        return map(self._name_of, self._ids)

    def _add(self, ids: I32) -> None:
        for name_id in ids.tolist():
            self._row_of_id[name_id] = len(self._parts)
            self._ids.append(name_id)
            name = b'"name":' + json_string(shown_name(self._name_of(name_id))) + b"}"
            self._parts += [self._args(mark) + name for mark in MARKS]
        self._table, _ = texts([part[:LONG_BYTES] for part in self._parts])
        self._lengths = np.array([len(part) for part in self._parts], np.int64)

    def _args(self, mark: bytes) -> bytes:
        if self._has_args:
            return (b"," + mark if mark else b"") + b"},"
        return b'"args":{' + mark + b"}," if mark else b""
