"""Sums of several columns by group, added up over runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.model import F64, I64

# Where sums stop. Only readings of broken clocks add up to that: at 2 GHz it is 72 years.
MAX_SUM: Final = 1 << 62
# Partial sums are put together when there are more rows of them than that, and than sums.
_MAX_PARTIAL: Final = 1 << 20


def exact_sums(code: NDArray[Any], column: NDArray[Any], n: int) -> I64:
    """``(n,)`` sums of a column of whole numbers, none below 0, by code; they stop at :data:`MAX_SUM`."""
    # bincount adds up in float64, which is exact below 2**53; beyond, in two halves.
    if not len(column) or int(column.max()) * len(column) < 1 << 53:
        return np.bincount(code, column, n).astype(np.int64)
    high, low = np.divmod(column, 1 << 26)
    upper: I64 = np.minimum(exact_sums(code, high, n), MAX_SUM >> 26) << 26
    found: I64 = np.minimum(upper + np.bincount(code, low, n).astype(np.int64), MAX_SUM)
    return found


def added(sums: I64, axis: int) -> I64:
    """Sums of sums along an axis, which stop at :data:`MAX_SUM` too."""
    return _stopped(sums.sum(axis=axis), sums.sum(axis=axis, dtype=np.float64))


def _stopped(total: I64, nearly: F64) -> I64:
    """Sums that may have wrapped, by the same in float64; what is between the two bounds did not."""
    found: I64 = np.where(nearly < 1.5 * MAX_SUM, np.minimum(total, MAX_SUM), MAX_SUM)
    return found


class Sums:
    """Adds up whole numbers by group code.

    Parameters
    ----------
    n_columns
        How many columns are added up beside the count.
    """

    def __init__(self, n_columns: int) -> None:
        self._n_columns = n_columns
        self._parts: list[tuple[I64, I64]] = [(np.zeros(0, np.int64), np.zeros((n_columns + 1, 0), np.int64))]
        self._n_partial = 0

    def add(self, code: NDArray[Any], columns: Sequence[NDArray[Any]]) -> None:
        """Add rows: codes ``(n,)``, and columns ``(n,)`` each."""
        if not len(code):
            return
        largest = int(code.max())
        if largest > 4 * len(code) + 4096:
            codes, code = np.unique(code, return_inverse=True)
            code, n = code.reshape(-1), len(codes)
        else:
            codes, n = np.arange(largest + 1), largest + 1
        found = np.empty((len(columns) + 1, n), np.int64)
        found[0] = np.bincount(code, minlength=n)
        for row, column in zip(found[1:], columns, strict=True):
            # A column of zeros (unclosed slices, mostly) costs a look only.
            row[:] = exact_sums(code, column, n) if column.any() else 0
        there = found[0] > 0
        self._parts.append((codes[there].astype(np.int64), found[:, there]))
        self._n_partial += int(np.count_nonzero(there))
        if self._n_partial > max(_MAX_PARTIAL, len(self._parts[0][0])):
            self._merge()

    def result(self) -> tuple[I64, I64]:
        """Codes ``(n,)``, ascending, and ``(n_columns + 1, n)``: counts, then the columns' sums."""
        self._merge()
        return self._parts[0]

    def _merge(self) -> None:
        if len(self._parts) == 1:
            return
        codes = np.concatenate([codes for codes, _ in self._parts])
        sums = np.concatenate([sums for _, sums in self._parts], axis=1)
        order = np.argsort(codes, kind="stable")
        codes, sums = codes[order], sums[:, order]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        whole = np.add.reduceat(sums, starts, axis=1)
        if int(sums.max(initial=0)) * len(self._parts) >= MAX_SUM:
            whole = _stopped(whole, np.add.reduceat(sums, starts, axis=1, dtype=np.float64))
        self._parts = [(codes[starts], whole)]
        self._n_partial = 0
