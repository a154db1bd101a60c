"""Self time: the cycles of a slice in which no region that was entered later was open.

So every cycle of a track in which some region is open belongs to exactly one slice, and the self
times of a track add up to the time that it spent in regions. Where regions nest that is a slice less
its children.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from mgpu_trace.analyse.sums import exact_sums
from mgpu_trace.model import I64, Bool, Slices

# From here on depths are not worth a look at each level; they stop counting at 32,767.
_MAX_LEVELS: Final = 512


def self_cyc(slices: Slices) -> I64:
    """``(n_slices,)`` self times in cycles of whole tracks' slices, which no selection has thinned out."""
    hard = crossing(slices)
    if hard is None:
        return slices.dur_cyc - _of_children(slices)
    found = np.empty(len(slices), np.int64)
    easy = slices.where(~hard)
    found[~hard] = easy.dur_cyc - _of_children(easy)
    row, begin, end = innermost(slices.where(hard))
    found[hard] = exact_sums(row, end - begin, int(np.count_nonzero(hard)))
    return found


def crossing(slices: Slices) -> Bool | None:
    """``(n_slices,)``: those of tracks where depth does not tell who is inside whom; None: no slice."""
    if not len(slices) or (not slices.lane.any() and slices.depth.max() < _MAX_LEVELS):
        return None
    # A track with a second lane has regions that cross.
    crosses = np.zeros(int(slices.track[-1] - slices.track[0]) + 1, np.bool_)
    crosses[slices.track[(slices.lane > 0) | (slices.depth >= _MAX_LEVELS)] - slices.track[0]] = True
    found: Bool = crosses[slices.track - slices.track[0]]
    return found


def parents(slices: Slices) -> I64:
    """``(n_slices,)`` the row of the slice around each, where all slices nest; -1 for an outermost one."""
    found = np.full(len(slices), -1, np.int64)
    for above, children, of in _families(slices):
        found[children] = above[of]
    return found


def _of_children(slices: Slices) -> I64:
    """Cycles of each slice's children, where all slices nest."""
    inside = np.zeros(len(slices), np.int64)
    for above, children, of in _families(slices):
        inside[above] = exact_sums(of, slices.dur_cyc[children], len(above))
    return inside


def _families(slices: Slices) -> Iterator[tuple[I64, I64, I64]]:
    """Level by level: the rows of a level, those of the level below it, and whose child each of these is."""
    n_levels = int(slices.depth.max(initial=0)) + 1
    if n_levels == 1:
        return
    kind = np.uint8 if n_levels <= 256 else np.uint16
    # Rows by level: NumPy sorts numbers this narrow digit by digit, in one pass each.
    rows = np.argsort(slices.depth.astype(kind), kind="stable")
    edges = np.cumsum(np.bincount(slices.depth, minlength=n_levels)).tolist()
    first = 0
    for last, children_end in pairwise(edges):
        above, children = rows[first:last], rows[last:children_end]
        # A child's parent is the last slice of the level above before it.
        yield above, children, _last_before(above, children, len(slices))
        first = last


def _last_before(above: I64, children: I64, n_rows: int) -> I64:
    """Which row of those above is the last one before each child; both ascend, and there is one."""
    if len(children) * 16 < n_rows:
        return np.searchsorted(above, children) - 1
    is_parent = np.zeros(n_rows, np.bool_)
    is_parent[above] = True
    return np.cumsum(is_parent, dtype=np.int64)[children] - 1


def innermost(slices: Slices) -> tuple[I64, I64, I64]:
    """Who is innermost when: rows, and begins and ends of stretches in cycles, ``(n_stretches,)`` each.

    Each moment belongs to the slice entered last of those open, also where regions cross.

    Between two neighbouring times of a track nothing changes. The last slice over each such stretch is
    the largest row whose range of stretches covers it. Every range is the union of two whose length is
    a power of two, and those are halved, level by level, down to single stretches.
    """
    n = len(slices)
    track = np.concatenate((slices.track, slices.track))
    cyc = np.concatenate((slices.start_cyc, slices.start_cyc + slices.dur_cyc))
    order = np.lexsort((cyc, track))
    place = np.empty(2 * n, np.int64)
    place[order] = np.arange(2 * n)
    first, last = place[:n], place[n:]
    # Of equal times any place will do: the stretches between them have no length.
    length = last - first
    level = np.zeros(n, np.int64)
    level[length > 0] = np.frexp(length[length > 0].astype(np.float64))[1] - 1
    row = np.arange(n, dtype=np.int64)
    top = np.full(2 * n, -1, np.int64)
    for k in range(int(level.max()), -1, -1):
        here = (level == k) & (length > 0)
        np.maximum.at(top, first[here], row[here])
        np.maximum.at(top, last[here] - (1 << k), row[here])
        if k:
            half = 1 << (k - 1)
            lower = top.copy()
            np.maximum(lower[half:], top[:-half], out=lower[half:])
            top = lower
    cyc = cyc[order]
    covered = np.flatnonzero((top[:-1] >= 0) & (cyc[1:] > cyc[:-1]))
    return top[covered], cyc[covered], cyc[covered + 1]
