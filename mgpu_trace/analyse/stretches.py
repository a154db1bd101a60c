"""Stretches of time: of tracks in a region, of blocks without work. All in whole cycles of one time axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.analyse.sums import exact_sums
from mgpu_trace.model import I32, I64, Bool


@dataclass(frozen=True, slots=True)
class Spans:
    """Times at which tracks were in something, ``(n_spans,)`` each; those of one track and thing are apart.

    Attributes
    ----------
    track, thing
        Row of ``Tracks``; what it was in, such as the id of a region's name.
    begin_cyc, end_cyc
        From and to; never of length 0.
    """

    track: I32
    thing: I32
    begin_cyc: I64
    end_cyc: I64

    def __len__(self) -> int:
        return len(self.track)

    @property
    def dur_cyc(self) -> I64:
        return self.end_cyc - self.begin_cyc

    def where(self, keep: Bool) -> Spans:
        """The rows for which ``keep`` is set."""
        return Spans(self.track[keep], self.thing[keep], self.begin_cyc[keep], self.end_cyc[keep])

    def totals(self, n_things: int) -> I64:
        """``(n_things,)`` cycles of each thing, summed over tracks."""
        return exact_sums(self.thing, self.dur_cyc, n_things)

    def renumbered(self, number: NDArray[Any]) -> Spans:
        """Things under other numbers, by an array from old to new; what has a number below 0 is left out."""
        thing = number[self.thing].astype(np.int32)
        found = Spans(self.track, thing, self.begin_cyc, self.end_cyc)
        keep = thing >= 0
        return found if keep.all() else found.where(keep)

    @staticmethod
    def joined(parts: list[Spans]) -> Spans:
        """One after the other."""
        return Spans(
            np.concatenate([np.zeros(0, np.int32), *(part.track for part in parts)]),
            np.concatenate([np.zeros(0, np.int32), *(part.thing for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.begin_cyc for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.end_cyc for part in parts)]),
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """How a count goes up and down in each place, ``(n_changes,)`` each, in any order.

    Attributes
    ----------
    place
        A number from 0 on; what a place is (a track, a block, an SM) the user says.
    cyc, by
        When, and by how much.
    """

    place: I64
    cyc: I64
    by: NDArray[np.int8]

    @staticmethod
    def of_spans(place: NDArray[Any], begin_cyc: I64, end_cyc: I64, by: int | NDArray[Any] = 1) -> Changes:
        """Up at the begin and down again at the end of spans, ``(n_spans,)`` each."""
        up = np.broadcast_to(np.asarray(by, np.int8), len(place))
        places = np.concatenate((place, place)).astype(np.int64)
        return Changes(places, np.concatenate((begin_cyc, end_cyc)), np.concatenate((up, -up)))

    @staticmethod
    def joined(parts: list[Changes]) -> Changes:
        """All of them."""
        return Changes(
            np.concatenate([np.zeros(0, np.int64), *(part.place for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(part.cyc for part in parts)]),
            np.concatenate([np.zeros(0, np.int8), *(part.by for part in parts)]),
        )

    def moved(self, place: I64) -> Changes:
        """In other places, by an array from old to new; what is in a place below 0 is left out."""
        moved = place[self.place]
        keep = moved >= 0
        if keep.all():
            return Changes(moved, self.cyc, self.by)
        return Changes(moved[keep], self.cyc[keep], self.by[keep])

    def stretches(self, holds: Callable[[I64], Bool]) -> tuple[I64, I64, I64]:
        """Where the count is such that ``holds`` says so: places, begins and ends of the longest stretches.

        By place, then by time. Counts begin and end with 0 in every place, for which ``holds`` must not.
        """
        order = by_place_and_time(self.place, self.cyc)
        place, cyc = self.place[order], self.cyc[order]
        count = np.cumsum(self.by[order], dtype=np.int64)
        # Of several changes at one time the last one tells.
        lasts = np.flatnonzero((np.diff(cyc, append=0) != 0) | (np.diff(place, append=-1) != 0))
        place, cyc, inside = place[lasts], cyc[lasts], holds(count[lasts])
        turns = np.diff(inside.astype(np.int8), prepend=0)
        begins, ends = np.flatnonzero(turns > 0), np.flatnonzero(turns < 0)
        return place[begins], cyc[begins], cyc[ends]


def by_place_and_time(place: NDArray[Any], cyc: I64) -> I64:
    """``(n,)`` rows in the order of place, then time; of equal ones in any order."""
    if not len(place):
        return np.zeros(0, np.int64)
    first = int(cyc.min())
    bits = (int(cyc.max()) - first).bit_length()
    if int(place.max()).bit_length() + bits < 63:
        return np.argsort(place.astype(np.int64) << bits | (cyc - first))
    return np.lexsort((cyc, place))
