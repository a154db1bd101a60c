"""How many tracks were in regions where and when: a picture of a launch as numbers, made in one pass.

When the end of a launch is known its runs have gone by. So time is counted in bins that become twice as wide
whenever it goes on beyond the last one; there are many of them, and whole numbers of them become the
columns. Every cell is exact: a whole number of cycles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace.analyse.stretches import Changes
from mgpu_trace.model import F64, I32, I64, Bool, Slices, distinct

# Bins of one column: with fewer the columns might fill half of the width only, with these eight ninths.
_BINS: Final = 16


@dataclass(frozen=True, slots=True)
class Cells:
    """Activity by SM and time.

    Attributes
    ----------
    first_sm, last_sm
        ``(n_rows,)`` the SMs of each row: one, or several with neighbouring ids.
    n_sms
        ``(n_rows,)`` how many these are.
    edge_cyc
        ``(n_columns + 1,)`` begins of the columns and the end of the last, since the launch's first event.
    left_cyc, column_cyc
        A column is so long, and the first one would begin there; but the launch begins within the first
        and ends within the last.
    active_cyc
        ``(n_rows, n_columns)`` time in regions, summed over the row's tracks.
    """

    first_sm: I64
    last_sm: I64
    n_sms: I64
    edge_cyc: I64
    left_cyc: int
    column_cyc: int
    active_cyc: I64

    @property
    def active(self) -> F64:
        """``(n_rows, n_columns)``: how many tracks of one of the row's SMs were in regions, on average."""
        of = np.multiply.outer(self.n_sms, np.diff(self.edge_cyc)).astype(np.float64)
        found: F64 = np.divide(self.active_cyc, of, out=np.zeros(of.shape), where=of > 0)
        return found


class Raster:
    """Adds up time in cells as runs go by; memory by cells, whatever the launch.

    Parameters
    ----------
    sm
        ``(n_tracks,)`` the SM of each track.
    shows
        ``(n_tracks,)`` which tracks will be added.
    begin_cyc
        Where time begins: no span is before it.
    n_rows, n_columns
        At most so many.
    """

    def __init__(self, sm: I64, shows: Bool, begin_cyc: int, n_rows: int, n_columns: int) -> None:
        self._sms = distinct(sm[shows])
        self._per_row = max(1, -(-len(self._sms) // n_rows))
        size = -(-len(self._sms) // self._per_row), _BINS * n_columns
        self._row = np.full(len(sm), -1, np.int64)
        self._row[shows] = np.searchsorted(self._sms, sm[shows]) // self._per_row
        self._zero, self._n_columns = begin_cyc, n_columns
        self._shift = 0
        # What changes begin or end within their own bin, and how many tracks they add to all later ones.
        self._inside, self._after = np.zeros(size, np.int64), np.zeros(size, np.int64)

    def add(self, track: I32, begin_cyc: I64, end_cyc: I64) -> None:
        """Add spans, ``(n_spans,)`` each, on the launch's axis; those of one track are apart."""
        if not len(track):
            return
        self._reach(int(end_cyc.max()))
        row = self._row[track] * self._inside.shape[1]
        inside, after = self._inside.reshape(-1), self._after.reshape(-1)
        for cyc, sign in ((begin_cyc - self._zero, 1), (end_cyc - self._zero, -1)):
            bins = cyc >> self._shift
            rest = ((bins + 1) << self._shift) - cyc
            bins += row
            np.add.at(inside, bins, sign * rest)
            np.add.at(after, bins, sign)

    def cells(self, begin_cyc: int, end_cyc: int) -> Cells:
        """What was added, from the launch's begin to its end."""
        self._reach(end_cyc)
        width = 1 << self._shift
        # Where nothing was added both are 0, which may lie before time begins here.
        first = max(begin_cyc - self._zero, 0) // width
        n_bins = max(1, (end_cyc - 1 - self._zero) // width + 1 - first)
        per_column = -(-n_bins // self._n_columns)
        starts = np.arange(0, n_bins, per_column)
        found = np.add.reduceat(self._by_bin()[:, first : first + n_bins], starts, axis=1)
        left = self._zero + first * width
        edges = left + np.append(starts, n_bins) * width
        edges[0], edges[-1] = begin_cyc, end_cyc
        of_row = np.arange(0, len(self._sms), self._per_row)
        last = np.minimum(of_row + self._per_row, len(self._sms))
        return Cells(
            self._sms[of_row], self._sms[last - 1], last - of_row, edges, left, per_column * width, found
        )

    def _by_bin(self) -> I64:
        """``(n_rows, n_bins)`` time in regions."""
        before = np.cumsum(self._after, axis=1) - self._after
        return self._inside + (before << self._shift)

    def _reach(self, end_cyc: int) -> None:
        """Put neighbouring bins together until the last one is not over before this."""
        while (end_cyc - self._zero) >> self._shift >= self._inside.shape[1]:
            by_bin = self._by_bin()
            half = by_bin.shape[1] // 2
            self._inside[:, :half] = by_bin[:, 0::2] + by_bin[:, 1::2]
            self._inside[:, half:] = 0
            self._after[:] = 0
            self._shift += 1


def in_regions(run: Slices, keep: Bool | None) -> tuple[I32, I64, I64]:
    """When each track was in any of the kept slices: tracks, begins and ends of spans that are apart.

    Takes whole tracks; times are the track's own.
    """
    has_time = run.dur_cyc > 0
    # Every slice is in an outermost one of its lane.
    picked = run.where(has_time & (run.depth == 0 if keep is None else keep))
    begin, end = picked.start_cyc, picked.start_cyc + picked.dur_cyc
    if keep is None and not picked.lane.any():
        return picked.track, begin, end
    changes = Changes.of_spans(picked.track - run.track[0], begin, end)
    place, begin, end = changes.stretches(lambda count: count > 0)
    return (place + run.track[0]).astype(np.int32), begin, end
