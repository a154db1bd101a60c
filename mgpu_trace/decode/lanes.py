"""Depth and lane of slices that need not nest: crossing regions go to lanes of their own.

The rules are in docs/format.md, "Crossing regions". Everything here works on all tracks of a run
at once; a region keeps to one lane, because two slices of one name never cross.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace.decode.pairing import Pairs, dense_ids, saturated, stable_order
from mgpu_trace.model import I16, I32, I64, Bool

# A track with more names than this is not packed: every name takes a lane of its own.
MAX_PACKED_NAMES: Final = 64


@dataclass(slots=True)
class _Edges:
    """Begins and ends of slices in the order in which they happen: ``(2 * n_slices,)`` each.

    Ends at the same event (the last of a track) come innermost first.
    """

    slice: I64
    is_end: Bool


def lay_out(pairs: Pairs, track: I64) -> tuple[I16, I32, Bool]:
    """Depth and lane of every slice, and for each slice whether its track has crossing regions.

    Parameters
    ----------
    pairs
        Slices of any tracks, sorted by enter.
    track
        ``(n_slices,)`` track of each.
    """
    n = len(track)
    lane = np.zeros(n, np.int32)
    if n == 0:
        return np.empty(0, np.int16), lane, np.empty(0, np.bool_)
    edges = _edges(pairs)
    depth, mate = _nest(edges, None, n)
    crosses = mate != np.arange(n)
    crossing = np.zeros(n, np.bool_)
    if not crosses.any():
        return saturated(depth), lane, crossing

    row = np.cumsum(np.diff(track, prepend=track[:1]) != 0)
    crossing = (np.bincount(row, crosses) > 0)[row]
    rows = np.flatnonzero(crossing)
    new_index = np.cumsum(crossing) - 1
    mine = crossing[edges.slice]
    inner = _Edges(new_index[edges.slice[mine]], edges.is_end[mine])
    lane[rows] = _lanes(inner, track[rows], pairs.name[rows])
    depth, _ = _nest(edges, lane, n)
    return saturated(depth), lane, crossing


def _edges(pairs: Pairs) -> _Edges:
    n = len(pairs.enter)
    # By event; at one event the begin comes first, then ends from the innermost (the last begun) out:
    # a stable sort keeps them in the order in which they stand here.
    which = np.concatenate((np.arange(n), np.arange(n - 1, -1, -1)))
    key = np.concatenate((2 * pairs.enter, 2 * pairs.leave[::-1] + 1))
    order = np.argsort(key, kind="stable")
    return _Edges(which[order], order >= n)


def _nest(edges: _Edges, lane: I32 | None, n: int) -> tuple[I32, I64]:
    """Depth of each slice in its lane, and the slice that plain nesting would have closed at its end.

    Every begin has its end, so levels return to zero after each track and lanes of all tracks can
    share one count each. Without lanes all slices are in one.
    """
    which, is_end = edges.slice, edges.is_end
    if lane is not None:
        order = stable_order(lane[which])
        which, is_end = which[order], is_end[order]
    level = np.cumsum(1 - 2 * is_end.astype(np.int64)) + is_end
    depth = np.empty(n, np.int32)
    depth[which[~is_end]] = level[~is_end] - 1
    # Within a lane and level begins and ends alternate, and each lane has as many of both: so they
    # do when all lanes' events of a level follow each other.
    by_level = stable_order(level)
    mate = np.empty(n, np.int64)
    mate[which[by_level[1::2]]] = which[by_level[0::2]]
    return depth, mate


def _lanes(edges: _Edges, track: I64, name: I32) -> I32:
    """The lane of each slice of tracks with crossing regions, ``(n_slices,)``."""
    rank, row, n_names = _name_ranks(track, name)
    lane = rank.copy()
    packed = n_names[row] <= MAX_PACKED_NAMES
    if packed.any():
        conflict = _conflicts(edges, row, np.where(packed, rank, -1), len(n_names))
        of_name = _colour(conflict)
        lane[packed] = of_name[row[packed], rank[packed]]
    return lane.astype(np.int32)


def _name_ranks(track: I64, name: I32) -> tuple[I64, I64, I64]:
    """Each slice's name as a number by first enter in its track; its track's row; names per row."""
    row = np.cumsum(np.diff(track, prepend=track[:1]) != 0)
    dense, n_names = dense_ids(name)
    key = row * n_names + dense
    by_key = stable_order(key)
    sorted_key = key[by_key]
    # The first slice of each (row, name): slices are sorted by (track, enter).
    first = by_key[np.flatnonzero(np.diff(sorted_key, prepend=-1))]
    first.sort()
    row_of_name = row[first]
    names_of_row = np.bincount(row_of_name)
    start = np.cumsum(names_of_row) - names_of_row
    rank_of_key = np.zeros(int(sorted_key[-1]) + 1, np.int64)
    rank_of_key[key[first]] = np.arange(len(first)) - start[row_of_name]
    return rank_of_key[key], row, names_of_row


def _conflicts(edges: _Edges, row: I64, rank: I64, n_rows: int) -> Bool:
    """``(n_tracks, n_names, n_names)``: which names of a track have slices that cross.

    A slice crosses none of another name's slices exactly when the innermost open one of that name
    is the same at its begin and at its end. Names are looked at one rank at a time, for all tracks.
    """
    n_ranks = int(rank.max()) + 1
    conflict = np.zeros((n_rows, n_ranks, n_ranks), np.bool_)
    begin, end = np.empty(len(row), np.int64), np.empty(len(row), np.int64)
    places = np.arange(len(edges.slice))
    begin[edges.slice[~edges.is_end]] = places[~edges.is_end]
    end[edges.slice[edges.is_end]] = places[edges.is_end]
    for r in range(n_ranks):
        innermost = _innermost(edges, rank == r)
        other = np.flatnonzero((innermost[begin] != innermost[end]) & (rank != r) & (rank >= 0))
        conflict[row[other], rank[other], r] = True
    return conflict | conflict.transpose(0, 2, 1)


def _innermost(edges: _Edges, chosen: Bool) -> I64:
    """After each edge, the innermost open slice among the chosen ones of its track, or -1."""
    at = np.flatnonzero(chosen[edges.slice])
    which, is_end = edges.slice[at], edges.is_end[at]
    # Edges of one level (chosen slices open after the edge) in order: a begin is its own answer, and
    # an end goes back to the last begin that left as many open. Level 0 has ends only.
    level = np.cumsum(np.where(is_end, -1, 1))
    order = stable_order(level)
    begins = np.where(is_end[order], -1, np.arange(len(at)))
    last_begin = np.maximum.accumulate(begins)
    after = np.empty(len(at), np.int64)
    after[order] = np.where(level[order] > 0, which[order][last_begin], -1)
    latest = np.full(len(edges.slice), -1, np.int64)
    latest[at] = np.arange(len(at))
    latest = np.maximum.accumulate(latest)
    # Every track's slices have ended before the next track begins, so nothing leaks between them.
    return np.where(latest >= 0, after[latest], -1) if len(at) else latest


def _colour(conflict: Bool) -> I64:
    """The lowest lane for each name that no conflicting earlier name has: ``(n_tracks, n_names)``."""
    n_rows, n_ranks, _ = conflict.shape
    lane = np.zeros((n_rows, n_ranks), np.int64)
    for r in range(1, n_ranks):
        taken = np.zeros((n_rows, r + 1), np.bool_)
        rows, earlier = np.nonzero(conflict[:, r, :r])
        taken[rows, lane[rows, earlier]] = True
        lane[:, r] = np.argmin(taken, axis=1)
    return lane
