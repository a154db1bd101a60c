"""How long tracks were in one thing while another track of their place was in another: all pairs at once.

The begins and ends of all spans, by place and time, cut time into pieces in which nothing changes. For each
thing two clocks run along the pieces: one while at least one track of the place is in it, one while at
least two are. Each track is then followed through its own begins and ends. Between two of them it is in
the same things all the time, and another track was in thing B for as long as B's first clock ran; or B's
second clock, where the track itself is in B. Added up for all things A that the track is in, that is one
product of two matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.analyse.stretches import Spans, by_place_and_time
from mgpu_trace.model import I64, Bool, distinct

# Pieces times things that are looked at together: what is in a core's own cache is fast.
_CELLS: Final = 1 << 17
# Sums of whole numbers in float64 are exact up to here.
_MAX_EXACT: Final = 1 << 53


@dataclass(frozen=True, slots=True)
class _Spans:
    """Spans as rows of the table of times: ``(n_spans,)`` each.

    Attributes
    ----------
    track, thing
        As in :class:`Spans`.
    first, last
        The times at which they begin and end, by row.
    counts
        Whether it is one whose time is counted, one that runs beside others, or both: bits 1 and 2.
    """

    track: NDArray[Any]
    thing: NDArray[Any]
    first: I64
    last: I64
    counts: NDArray[np.int8]

    def at(self, rows: Any) -> _Spans:
        return _Spans(
            self.track[rows], self.thing[rows], self.first[rows], self.last[rows], self.counts[rows]
        )


_COUNTED: Final = 1
_BESIDE: Final = 2


def shared_cyc(of: Spans, beside: Spans, place: I64, n_of: int, n_beside: int) -> I64:
    """``(n_of, n_beside)`` cycles of tracks in each thing while another track of their place is in each.

    Parameters
    ----------
    of
        Whose time is counted; things are numbers below ``n_of``.
    beside
        What runs beside it; things are numbers below ``n_beside``. May be the same object as ``of``.
    place
        ``(n_tracks,)`` each track's place.
    """
    found = np.zeros((n_of, n_beside), np.int64)
    if not len(of) or not len(beside):
        return found
    cyc, spans = _in_order(of, beside, place)
    n_pieces = max(1, _CELLS // max(n_of, n_beside))
    still_open = np.zeros(0, np.int64)
    begins = np.searchsorted(spans.first, np.arange(0, len(cyc) + n_pieces, n_pieces))
    for i, first in enumerate(range(0, len(cyc) - 1, n_pieces)):
        last = min(first + n_pieces, len(cyc) - 1)
        here = np.concatenate((still_open, np.arange(begins[i], begins[i + 1])))
        still_open = here[spans.last[here] > last]
        if not len(here):
            continue
        part = spans.at(here)
        # What began before or ends later is cut: times add up.
        np.maximum(part.first - first, 0, out=part.first)
        np.minimum(part.last - first, last - first, out=part.last)
        _add_shared(part, cyc[first : last + 1], found)
    return found


def _in_order(of: Spans, beside: Spans, place: I64) -> tuple[I64, _Spans]:
    """All begins and ends by place and time, and the spans by begin."""
    both = of if of is beside else Spans.joined([of, beside])
    counts = np.full(len(both), _COUNTED | _BESIDE, np.int8)
    if of is not beside:
        counts[: len(of)], counts[len(of) :] = _COUNTED, _BESIDE
    n = len(both)
    where = place[both.track]
    cyc = np.concatenate((both.begin_cyc, both.end_cyc))
    order = by_place_and_time(np.concatenate((where, where)), cyc)
    row = np.empty(2 * n, np.int64)
    row[order] = np.arange(2 * n)
    by_begin = order[order < n]
    spans = _Spans(both.track, both.thing, row[:n], row[n:], counts)
    return cyc[order], spans.at(by_begin)


def _add_shared(spans: _Spans, cyc: I64, found: I64) -> None:
    """Add up the pieces between these times; of many things only few are there."""
    n_of, n_beside = found.shape
    if max(n_of, n_beside) <= len(spans.thing):
        found += _shared(spans, cyc, n_of, n_beside)
        return
    things = distinct(spans.thing)
    few = replace(spans, thing=np.searchsorted(things, spans.thing))
    some = _shared(few, cyc, len(things), len(things))
    of, beside = np.flatnonzero(things < n_of), np.flatnonzero(things < n_beside)
    found[np.ix_(things[of], things[beside])] += some[np.ix_(of, beside)]


def _shared(spans: _Spans, cyc: I64, n_of: int, n_beside: int) -> I64:
    """The same for the pieces between these times."""
    # No entry, and no clock, is larger than the time of all spans together.
    most = float((cyc[spans.last] - cyc[spans.first]).sum(dtype=np.float64))
    kind: Any = np.float64 if most < _MAX_EXACT / 2 else np.int64
    counted, is_beside = (spans.counts & _COUNTED) != 0, (spans.counts & _BESIDE) != 0
    one, two = _clocks(spans.at(is_beside), cyc, n_beside, kind)
    order, edge = _by_track(spans, len(cyc))
    in_of = _states(spans, counted, order, n_of)
    in_beside = in_of if counted.all() and is_beside.all() else _states(spans, is_beside, order, n_beside)
    # What lies between the last edge of a track and the first of the next counts nothing: no span is open.
    ran_one, ran_two = np.diff(one[edge], axis=0), np.diff(two[edge], axis=0)
    np.copyto(ran_one, ran_two, where=in_beside[:-1].view(np.bool_))
    found: I64 = (in_of[:-1].T.astype(kind) @ ran_one).astype(np.int64)
    return found


def _clocks(spans: _Spans, cyc: I64, n_things: int, kind: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """``(n_times, n_things)`` each: how long any track, and two tracks, have been in each thing so far."""
    n = len(cyc)
    up = np.bincount(spans.first * n_things + spans.thing, minlength=n * n_things)
    up -= np.bincount(spans.last * n_things + spans.thing, minlength=n * n_things)
    count = np.cumsum(up.reshape(n, n_things), axis=0)[:-1]
    width = np.diff(cyc).astype(kind)[:, None]
    found = []
    for least in (1, 2):
        clock = np.zeros((n, n_things), kind)
        np.cumsum(np.where(count >= least, width, 0), axis=0, out=clock[1:])
        found.append(clock)
    return found[0], found[1]


def _by_track(spans: _Spans, n_times: int) -> tuple[I64, I64]:
    """Begins and ends of spans (numbered one after the other) by track, then time; and their times' rows."""
    edge = np.concatenate((spans.first, spans.last))
    track = np.concatenate((spans.track, spans.track)).astype(np.int64)
    order = np.argsort(track * n_times + edge)
    return order, edge[order]


def _states(spans: _Spans, which: Bool, order: I64, n_things: int) -> NDArray[np.int8]:
    """``(n_edges, n_things)`` whether a track is in each thing, from each edge to the next; of some spans."""
    n = len(which)
    # Spans of one track and thing are apart, so this never leaves 0 and 1.
    turn = np.zeros((2 * n, n_things), np.int8)
    of = order % n
    mine = np.flatnonzero(which[of])
    turn[mine, spans.thing[of[mine]]] = np.where(order[mine] < n, 1, -1)
    return np.cumsum(turn, axis=0, dtype=np.int8, out=turn)
