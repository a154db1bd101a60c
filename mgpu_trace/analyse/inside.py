"""Who is inside whom in a run of whole tracks, and what follows: unions of slices, and innermost regions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.analyse.selftime import crossing, innermost, parents
from mgpu_trace.analyse.stretches import Changes, Spans
from mgpu_trace.model import Bool, Slices


class Inside:
    """A run of whole tracks' slices, which no selection has thinned out."""

    def __init__(self, run: Slices) -> None:
        hard = crossing(run)
        self._hard_rows = hard
        self._easy = run if hard is None else run.where(~hard)
        self._parent = parents(self._easy)
        self._hard = None if hard is None else run.where(hard)

    def unions(self, counts: Bool) -> Spans:
        """When each track was in any of the slices that count, by name; cycles of the track."""
        easy, hard = self._split(counts)
        keep = self._outermost_of_name(easy) & (self._easy.dur_cyc > 0)
        found = spans_of(self._easy.where(keep))
        if self._hard is None:
            return found
        slices = spans_of(self._hard.where(hard))
        key = slices.track.astype(np.int64) << 32 | slices.thing
        keys, which = np.unique(key, return_inverse=True)
        changes = Changes.of_spans(which.reshape(-1), slices.begin_cyc, slices.end_cyc)
        place, begin, end = changes.stretches(lambda count: count > 0)
        thing = (keys[place] & 0xFFFFFFFF).astype(np.int32)
        return Spans.joined([found, Spans((keys[place] >> 32).astype(np.int32), thing, begin, end)])

    def of_innermost(self, counts: Bool) -> tuple[Spans, NDArray[np.int8]]:
        """When the innermost slice of each track counts, as spans and how much to count each.

        A slice that counts adds its time (1) unless that around it does; one that does not takes its time
        off again (-1) where that around it counts. So counts of a track add up to 1 or 0.
        """
        easy, hard = self._split(counts)
        above = np.zeros(len(easy), np.bool_)
        has_parent = self._parent >= 0
        above[has_parent] = easy[self._parent[has_parent]]
        turns = (easy != above) & (self._easy.dur_cyc > 0)
        found, weight = spans_of(self._easy.where(turns)), np.where(easy[turns], 1, -1).astype(np.int8)
        if self._hard is None:
            return found, weight
        more = self._stretches(hard)
        return Spans.joined([found, more]), np.concatenate((weight, np.ones(len(more), np.int8)))

    def of_any(self) -> Spans:
        """When each track was in any region; things are the names of some of them."""
        found = spans_of(self._easy.where((self._parent < 0) & (self._easy.dur_cyc > 0)))
        if self._hard is None:
            return found
        return Spans.joined([found, self._stretches(np.ones(len(self._hard), np.bool_))])

    def _stretches(self, counts: Bool) -> Spans:
        """Of tracks with crossing regions: when a slice that counts was innermost."""
        assert self._hard is not None
        row, begin, end = innermost(self._hard)
        keep = counts[row]
        return Spans(self._hard.track[row[keep]], self._hard.name[row[keep]], begin[keep], end[keep])

    def _split(self, of_rows: Bool) -> tuple[Bool, Bool]:
        hard = self._hard_rows
        return (of_rows, of_rows[:0]) if hard is None else (of_rows[~hard], of_rows[hard])

    def _outermost_of_name(self, counts: Bool) -> Bool:
        """Of the slices that count, those that are inside no other of their name that does."""
        found, name = counts.copy(), self._easy.name
        row = np.flatnonzero(counts & (self._parent >= 0))
        around = self._parent[row]
        while len(row):
            is_same = counts[around] & (name[around] == name[row])
            found[row[is_same]] = False
            around = self._parent[around]
            further = ~is_same & (around >= 0)
            row, around = row[further], around[further]
        return found


def spans_of(slices: Slices) -> Spans:
    """The slices as they are."""
    return Spans(slices.track, slices.name, slices.start_cyc, slices.start_cyc + slices.dur_cyc)
