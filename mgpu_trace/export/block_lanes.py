"""Lanes: blocks that do not overlap in time share a line, so that an SM has as many as it needs."""

from __future__ import annotations

import heapq

import numpy as np

from mgpu_trace.model import I64, Bool


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
    order = order[_shares(sm[order], begin[order], end[order])]
    if order.size:
        columns = (sm[order], begin[order], end[order])
        lane[order] = _lowest_free(*(column.tolist() for column in columns))
    return lane


def _shares(sm: I64, begin: I64, end: I64) -> Bool:
    """``(n_blocks,)``: which blocks, by SM and begin, are of an SM that ever had two at once."""
    starts = np.ones(len(sm), np.bool_)
    starts[1:] = sm[1:] != sm[:-1]
    of = np.cumsum(starts) - 1
    shares = np.zeros(int(of[-1]) + 1 if len(of) else 0, np.bool_)
    # Where no block is there yet when its successor begins, none is.
    shares[of[1:][~starts[1:] & (begin[1:] <= end[:-1])]] = True
    found: Bool = shares[of]
    return found


def _lowest_free(sm: list[int], begin: list[int], end: list[int]) -> list[int]:
    """One block after the other, by SM and begin: a loop, for each needs to know where those before went."""
    lanes: list[int] = []
    previous = None
    push, pop = heapq.heappush, heapq.heappop
    for on, first, last in zip(sm, begin, end, strict=True):
        if on != previous:
            previous, n_lanes = on, 0
            busy: list[tuple[int, int]] = []
            free: list[int] = []
        while busy and busy[0][0] < first:
            push(free, pop(busy)[1])
        if free:
            lane = pop(free)
        else:
            lane = n_lanes
            n_lanes += 1
        push(busy, (last, lane))
        lanes.append(lane)
    return lanes
