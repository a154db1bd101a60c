"""The cells of a picture of tracks: which region each track was in for most of each."""

from __future__ import annotations

from typing import Final

import numpy as np

from mgpu_trace.analyse.timeline import Segments
from mgpu_trace.model import I64

# Instead of the id of a name: in no region at all; in regions, but for less than half of the time; in a
# region that is not selected.
NOTHING, LITTLE, OTHER = -1, -2, -3
_N_STATES: Final = 3


def edges_of(window_cyc: tuple[int, int], n_columns: int) -> I64:
    """``(n + 1,)`` whole cycles that cut a window into at most so many columns of at least one cycle."""
    begin, end = window_cyc
    span = max(1, end - begin)
    n = min(n_columns, span)
    return np.array([begin + i * span // n for i in range(n + 1)], np.int64)


def cells_of(found: Segments, n_columns: int) -> I64:
    """``(n_rows, n_columns)`` ids of names, or one of the numbers below 0 above.

    A cell shows the region that was innermost for the largest part of its time, of several the first one;
    where the track was in regions for half of the cell's time. Where there are more columns than cycles,
    a cycle is several equal cells.
    """
    edges = edges_of(found.window_cyc, n_columns)
    n, n_rows = len(edges) - 1, len(found.tracks)
    cell, state, cyc = _pieces(found, edges)
    in_regions = np.zeros(n_rows * n, np.int64)
    np.add.at(in_regions, cell, cyc)
    best = _largest(cell, state, cyc, n_rows * n)
    width = np.tile(np.diff(edges), n_rows)
    # Not 2 * in_regions < width, which may be beyond 64 bits.
    best[(in_regions > 0) & (in_regions < width - in_regions)] = LITTLE
    return best.reshape(n_rows, n)[:, np.arange(n_columns) * n // n_columns]


def _pieces(found: Segments, edges: I64) -> tuple[I64, I64, I64]:
    """Segments cut at the edges: the cell of each piece, what it is, and its length."""
    n = len(edges) - 1
    begin = np.maximum(found.begin_cyc, edges[0])
    end = np.minimum(found.end_cyc, edges[-1])
    inside = begin < end
    begin, end = begin[inside], end[inside]
    state = np.where(found.kept, found.name, OTHER)[inside]
    first = np.searchsorted(edges, begin, side="right") - 1
    n_pieces = np.searchsorted(edges, end) - first
    of = np.repeat(np.arange(len(begin)), n_pieces)
    column = first[of] + np.arange(len(of)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces)
    cyc = np.minimum(end[of], edges[column + 1]) - np.maximum(begin[of], edges[column])
    return found.row[inside][of] * n + column, state[of], cyc


def _largest(cell: I64, state: I64, cyc: I64, n_cells: int) -> I64:
    """``(n_cells,)`` what has the largest sum of lengths in each cell; of several what is there first."""
    found = np.full(n_cells, NOTHING, np.int64)
    if not len(cell):
        return found
    # Stable: of the pieces of one cell and state the first one comes first.
    order = np.lexsort((state, cell))
    cell, state, cyc = cell[order], state[order], cyc[order]
    starts = np.flatnonzero((np.diff(cell, prepend=-1) != 0) | (np.diff(state, prepend=-_N_STATES - 1) != 0))
    total = np.add.reduceat(cyc, starts)
    # In reverse: the last one that is written stays, the one with the largest sum that was there first.
    by_rank = np.lexsort((-order[starts], total))
    found[cell[starts][by_rank]] = state[starts][by_rank]
    return found
