"""Lengths of many slices by group, kept as how often each length occurs: exact, and small.

Lengths are whole cycles and most of them recur, so counts of lengths take far less room than the
lengths. Where that is not so, lengths are rounded to their 11 leading bits, and it is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.model import F64, I64, Bool, distinct

# Lengths below this (at 2 GHz: 33 us) of the first groups are counted in a table. Of a row that is never
# touched nothing is in memory.
_SHORT_CYC: Final = 1 << 16
_TABLED_GROUPS: Final = 256
# So many single lengths are kept before they are counted, and so many counts before they are rounded.
_MAX_SINGLE: Final = 1 << 21
_MAX_COUNTED: Final = 1 << 22
_KEPT_BITS: Final = 11


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each length occurs in each group: by group, then by length. ``(n,)`` each.

    Attributes
    ----------
    group, cyc, n
        The group, the length in cycles, and how many slices have it.
    """

    group: I64
    cyc: I64
    n: I64

    def of_group(self, group: int) -> tuple[I64, I64]:
        """Lengths of one group, ascending, and how many slices have each."""
        first, last = np.searchsorted(self.group, [group, group + 1])
        return self.cyc[first:last], self.n[first:last]

    def percentiles(self, n_groups: int, *per_cent: float) -> list[F64]:
        """Percentiles of every group, interpolated as ``numpy.percentile`` does; NaN for an empty one."""
        ends = np.cumsum(self.n)
        total = np.zeros(n_groups, np.int64)
        np.add.at(total, self.group, self.n)
        before = np.cumsum(total) - total
        found = []
        for p in per_cent:
            rank = np.maximum(total - 1, 0) * (p / 100)
            lower = np.floor(rank)
            low = self._at(ends, before + lower.astype(np.int64), total)
            high = self._at(ends, before + np.ceil(rank).astype(np.int64), total)
            found.append(_between(low, high, rank - lower))
        return found

    def _at(self, ends: I64, rank: I64, total: I64) -> F64:
        """The length at a rank among all; of groups without one NaN."""
        value = np.full(len(rank), np.nan)
        some = total > 0
        value[some] = self.cyc[np.searchsorted(ends, rank[some], side="right")]
        return value

    def spread(self, n_groups: int) -> tuple[F64, F64, F64, F64]:
        """Mean, standard deviation (of the slices that are there), least and largest of every group."""
        total, length = np.zeros(n_groups), np.zeros(n_groups)
        np.add.at(total, self.group, self.n)
        np.add.at(length, self.group, self.n * self.cyc.astype(np.float64))
        nothing = np.full(n_groups, np.nan)
        mean = np.divide(length, total, out=nothing.copy(), where=total > 0)
        square = np.zeros(n_groups)
        np.add.at(square, self.group, self.n * (self.cyc - mean[self.group]) ** 2)
        deviation = np.sqrt(np.divide(square, total, out=nothing.copy(), where=total > 0))
        least, largest = nothing.copy(), nothing
        least[self.group[::-1]] = self.cyc[::-1]
        largest[self.group] = self.cyc
        return mean, deviation, least, largest

    def described(self, n_groups: int, per_cent: Sequence[float]) -> F64:
        """``(3 + n_percentiles, n_groups)``: deviation, least, largest and percentiles of every group."""
        _, *rest = self.spread(n_groups)
        return np.stack([*rest, *self.percentiles(n_groups, *per_cent)])

    def where(self, rows: Bool) -> Counts:
        """The rows of a mask."""
        return Counts(self.group[rows], self.cyc[rows], self.n[rows])


@dataclass(frozen=True, slots=True)
class Settled:
    """What is left of groups that had all their lengths before the end: ``(n,)``, and a column for each.

    Attributes
    ----------
    group
        The groups, in no order.
    described
        As :meth:`Counts.described` has it.
    """

    group: I64
    described: F64


def _between(low: F64, high: F64, share: F64) -> F64:
    """Interpolation with numpy's own rounding: from the nearer of the two."""
    step = high - low
    found: F64 = np.where(share >= 0.5, high - step * (1 - share), low + step * share)
    return found


class Durations:
    """Collects lengths.

    Attributes
    ----------
    is_rounded
        Whether there were too many different lengths: all but each group's least and largest are then
        right to one part in 2048.
    """

    def __init__(self, per_cent: Sequence[float] = ()) -> None:
        self.is_rounded = False
        self._per_cent = per_cent
        self._settled: list[Settled] = []
        self._table = np.zeros((_TABLED_GROUPS, _SHORT_CYC), np.int32)
        self._longest_short = 0
        self._last_tabled = -1
        self._single: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._n_single = 0
        self._counted = _nothing()

    def add(self, group: NDArray[Any], cyc: I64, is_over: Callable[[I64], Bool] | None = None) -> None:
        """Add lengths ``(n,)`` of groups ``(n,)``, which are numbers from 0 on.

        Parameters
        ----------
        is_over
            Which of some groups get no more lengths after these; of them only what they are described by
            need be kept.
        """
        if not len(cyc):
            return
        tabled = cyc < _SHORT_CYC
        if group.max() >= _TABLED_GROUPS:
            tabled &= group < _TABLED_GROUPS
        if tabled.all():
            self._count_short(group, cyc)
            return
        self._count_short(group[tabled], cyc[tabled])
        self._single.append((group[~tabled], cyc[~tabled]))
        self._n_single += len(self._single[-1][1])
        if self._n_single > max(_MAX_SINGLE, len(self._counted.cyc) // 2):
            self._count_single(is_over)

    def settled(self) -> Settled:
        """The groups that :meth:`counts` lacks because they are described already."""
        none = Settled(np.zeros(0, np.int64), np.zeros((3 + len(self._per_cent), 0)))
        parts = [none, *self._settled]
        columns = np.concatenate([part.described for part in parts], axis=1)
        return Settled(np.concatenate([part.group for part in parts]), columns)

    def counts(self) -> Counts:
        """Everything that was added, but for groups that are settled."""
        self._count_single()
        table = self._table[: self._last_tabled + 1, : self._longest_short + 1]
        group, cyc = np.nonzero(table)
        return _merged(Counts(group, cyc, table[group, cyc].astype(np.int64)), self._counted)

    def _count_short(self, group: NDArray[Any], cyc: I64) -> None:
        if len(cyc):
            self._longest_short = max(self._longest_short, int(cyc.max()))
            self._last_tabled = max(self._last_tabled, int(group.max()))
            np.add.at(self._table.reshape(-1), group.astype(np.int64) * _SHORT_CYC + cyc, np.int32(1))

    def _count_single(self, is_over: Callable[[I64], Bool] | None = None) -> None:
        if not self._single:
            return
        group = np.concatenate([group for group, _ in self._single]).astype(np.int64)
        cyc = np.concatenate([cyc for _, cyc in self._single])
        self._single, self._n_single = [], 0
        counted = _merged(self._counted, _counted(group, cyc))
        if is_over is not None:
            counted = self._settle(counted, is_over)
        if len(counted.cyc) > _MAX_COUNTED:
            exact, counted = counted, _rounded(counted)
            self.is_rounded |= not np.array_equal(exact.cyc, counted.cyc)
        self._counted = counted

    def _settle(self, counted: Counts, is_over: Callable[[I64], Bool]) -> Counts:
        """Describe groups that are over; the counts of the others. Those of the table may be in it too."""
        over = (counted.group >= _TABLED_GROUPS) & is_over(counted.group)
        if over.any():
            done = counted.where(over)
            groups = distinct(done.group)
            dense = Counts(np.searchsorted(groups, done.group), done.cyc, done.n)
            self._settled.append(Settled(groups, dense.described(len(groups), self._per_cent)))
        return counted.where(~over)


def _counted(group: I64, cyc: I64) -> Counts:
    """Single lengths as counts."""
    bits = int(cyc.max()).bit_length()
    if int(group.max()).bit_length() + bits >= 63:
        return _merged(Counts(group, cyc, np.ones(len(cyc), np.int64)), _nothing())
    # Numbers are sorted several times as fast as their places are found.
    key = group << bits
    key |= cyc
    key.sort()
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    n = np.diff(starts, append=len(key))
    key = key[starts]
    return Counts(key >> bits, key & ((1 << bits) - 1), n)


def _merged(a: Counts, b: Counts) -> Counts:
    """Both, sorted, with one row for each length of a group; ``b`` has one already."""
    if not len(a.cyc):
        return b
    group, cyc = np.concatenate((a.group, b.group)), np.concatenate((a.cyc, b.cyc))
    n = np.concatenate((a.n, b.n))
    order = _sorted(group, cyc)
    group, cyc, n = group[order], cyc[order], n[order]
    first = _is_new(group, cyc)
    starts = np.flatnonzero(first)
    return Counts(group[starts], cyc[starts], np.add.reduceat(n, starts))


def _sorted(group: I64, cyc: I64) -> I64:
    bits = int(cyc.max()).bit_length()
    if int(group.max()).bit_length() + bits < 63:
        return np.argsort(group << bits | cyc)
    return np.lexsort((cyc, group))


def _is_new(group: I64, cyc: I64) -> Bool:
    new = np.ones(len(cyc), np.bool_)
    new[1:] = (group[1:] != group[:-1]) | (cyc[1:] != cyc[:-1])
    return new


def _rounded(counts: Counts) -> Counts:
    """Lengths cut to their leading bits, to the middle of what they stand for; ends of groups stay."""
    shift = np.maximum(np.frexp(counts.cyc.astype(np.float64))[1] - _KEPT_BITS, 0).astype(np.int64)
    cyc = (counts.cyc >> shift << shift) + ((1 << shift) >> 1)
    is_first = np.concatenate(([True], counts.group[1:] != counts.group[:-1]))
    is_last = np.concatenate((is_first[1:], [True]))
    # The middle of a group's first step may lie below its least length, that of its last above its largest.
    group_of = np.cumsum(is_first) - 1
    cyc = np.clip(cyc, counts.cyc[is_first][group_of], counts.cyc[is_last][group_of])
    cyc = np.where(is_first | is_last, counts.cyc, cyc)
    return _merged(Counts(counts.group, cyc, counts.n), _nothing())


def _nothing() -> Counts:
    return Counts(*(np.zeros(0, np.int64) for _ in range(3)))
