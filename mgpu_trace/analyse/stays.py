"""What follows for each SM from when blocks were there: how many at once, for how long any, until when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mgpu_trace.analyse.places import Places
from mgpu_trace.analyse.stretches import Changes, by_place_and_time
from mgpu_trace.analyse.sums import exact_sums
from mgpu_trace.model import I64, distinct


@dataclass(frozen=True, slots=True)
class PerSm:
    """SMs by id, ``(n_sms,)`` each; those without a block are not there.

    Attributes
    ----------
    sm
        Ids, ascending.
    n_blocks
        Blocks that were there.
    resident
        The most of them that shared a cycle; at least 1.
    first_start_cyc, last_end_cyc
        The first begin of a block and the last end of one.
    busy_cyc
        For how long any block was there.
    """

    sm: I64
    n_blocks: I64
    resident: I64
    first_start_cyc: I64
    last_end_cyc: I64
    busy_cyc: I64

    def __len__(self) -> int:
        return len(self.sm)

    def span(self) -> tuple[int, int]:
        """From the first begin of all to the last end; zeros where there is no block."""
        return (int(self.first_start_cyc.min()), int(self.last_end_cyc.max())) if len(self) else (0, 0)


def per_sm(stays: Places) -> PerSm:
    """The SMs of blocks."""
    sm = distinct(stays.sm)
    n, of = len(sm), np.searchsorted(sm, stays.sm)
    order = np.argsort(of, kind="stable")
    first = np.searchsorted(of[order], np.arange(n))
    changes = Changes.of_spans(of, stays.begin_cyc, stays.end_cyc)
    place, begin, end = changes.stretches(lambda count: count > 0)
    return PerSm(
        sm,
        np.bincount(of, minlength=n).astype(np.int64),
        _most_at_once(changes, n),
        np.minimum.reduceat(stays.begin_cyc[order], first) if n else np.zeros(0, np.int64),
        np.maximum.reduceat(stays.end_cyc[order], first) if n else np.zeros(0, np.int64),
        exact_sums(place, end - begin, n),
    )


def _most_at_once(changes: Changes, n_places: int) -> I64:
    """``(n_places,)`` the largest count of each place once all changes of a moment were made; at least 1."""
    order = by_place_and_time(changes.place, changes.cyc)
    place, cyc = changes.place[order], changes.cyc[order]
    count = np.cumsum(changes.by[order], dtype=np.int64)
    last = np.flatnonzero((np.diff(cyc, append=0) != 0) | (np.diff(place, append=-1) != 0))
    most = np.ones(n_places, np.int64)
    np.maximum.at(most, place[last], count[last])
    return most
