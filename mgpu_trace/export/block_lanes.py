"""Lanes: blocks that do not overlap in time share a line, so that an SM has as many as it needs."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from mgpu_trace.export.perfetto_counters import Extents
from mgpu_trace.model import I64, Tracks, distinct


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a launch's blocks.

    Attributes
    ----------
    lane
        ``(n_tracks,)`` the lane of each track's block on the track's SM.
    lead
        ``(n_tracks,)`` the first track on the same line: of one SM, lane and unit.
    begin, end
        ``(n_tracks,)`` when its block was there, in nanoseconds.
    """

    lane: I64
    lead: I64
    begin: I64
    end: I64


def find_lanes(tracks: Tracks, extents: Extents) -> Lanes:
    """Put the blocks of a launch into lanes; tracks without a slice are on none."""
    n = len(tracks)
    lane, lead, begin, end = np.zeros(n, np.int64), np.arange(n), extents.begin.copy(), extents.end.copy()
    rows = np.flatnonzero(extents.active)
    sm = tracks.sm[rows].astype(np.int64)
    # A broken header may put a track of a block on another SM: there it counts as a block of its own.
    place = (rows // tracks.tracks_per_block << 32) + sm
    places = distinct(place)
    of = np.searchsorted(places, place)
    first, last = np.full(len(places), np.iinfo(np.int64).max), np.full(len(places), -1)
    np.minimum.at(first, of, begin[rows])
    np.maximum.at(last, of, end[rows])
    begin[rows], end[rows] = first[of], last[of]
    lane[rows] = lanes_of_blocks(places & 0xFFFFFFFF, first, last)[of]
    order = rows[np.lexsort((rows, rows % tracks.tracks_per_block, lane[rows], sm))]
    line = np.stack((tracks.sm[order].astype(np.int64), lane[order], order % tracks.tracks_per_block))
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (line[:, 1:] != line[:, :-1]).any(axis=0)
    lead[order] = order[starts][np.cumsum(starts) - 1]
    return Lanes(lane, lead, begin, end)


def lanes_of_blocks(sm: I64, begin: I64, end: I64) -> I64:
    """The lane of each block among those of its SM: 0, 1, ...; the lowest that is free.

    A lane is free again after the end of its block, not at it: so no two blocks of a lane share even
    one instant. There are as many lanes as blocks were there at once, and never more.

    Parameters
    ----------
    sm, begin, end
        ``(n_blocks,)`` where and when each was.

    Returns
    -------
    I64
        ``(n_blocks,)``.
    """
    lane = np.zeros(len(sm), np.int64)
    order = np.lexsort((end, begin, sm))
    columns = (order, sm[order], begin[order], end[order])
    previous = None
    for block, on, first, last in zip(*(c.tolist() for c in columns), strict=True):
        if on != previous:
            previous, n_lanes = on, 0
            busy: list[tuple[int, int]] = []
            free: list[int] = []
        while busy and busy[0][0] < first:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            free.append(n_lanes)
            n_lanes += 1
        lane[block] = heapq.heappop(free)
        heapq.heappush(busy, (last, int(lane[block])))
    return lane
