"""Decode: from words to slices, in cycles. Never raises about data.

The recipe is :meth:`Decoder._decode_run`: read the events of some tracks, pair them, lay them out.
Tracks are independent, so a buffer of any size is decoded in runs of tracks; a broken track comes
out as far as it can be trusted and is reported, and costs no other track anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.decode import checks
from mgpu_trace.decode.events import Events, read_events, remove_overhead, smallest_gap_cyc
from mgpu_trace.decode.headers import read_headers
from mgpu_trace.decode.lanes import lay_out
from mgpu_trace.decode.pairing import Pairs, nesting_levels, pair_adjacent, pair_by_name, pair_nested
from mgpu_trace.decode.tally import IDS_KEPT, Tally
from mgpu_trace.diagnostics import Report, catalogue
from mgpu_trace.model import I32, I64, Bool, Slices, TraceBuffer, TrackFlag, Tracks, distinct, occurrence
from mgpu_trace.spec import TraceSpec

__all__ = ["Decoded", "Decoder", "decode"]

# Events of one run: the columns of a run this long stay in a core's own cache.
RUN_EVENTS: Final = 96 * 1024
# Words that one run may bring into memory: tracks that are mostly unused space are read whole.
_RUN_WORDS: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Decoded:
    """A buffer, decoded whole."""

    tracks: Tracks
    slices: Slices
    report: Report
    n_lost_events: int


def decode(buffer: TraceBuffer, *, overhead_cyc: int = 0, with_index: bool = False) -> Decoded:
    """Decode all of ``buffer``; see :class:`Decoder` for the parameters."""
    decoder = Decoder(buffer, overhead_cyc=overhead_cyc, with_index=with_index)
    slices = Slices.collect(decoder.runs(), decoder.n_events)
    return Decoded(decoder.tracks, slices, decoder.report(), decoder.n_lost_events)


class Decoder:
    """Decodes a buffer in runs of tracks.

    The headers are read at once; :meth:`runs` reads the events and may be called again.

    Parameters
    ----------
    buffer
        The words and their spec.
    overhead_cyc
        Cycles to take off for every event before the one at hand (0: raw times).
    with_index
        Whether to fill ``Slices.index``.
    run_events
        About how many events one run holds; a track is never split.

    Attributes
    ----------
    tracks
        One row per track; the TRUNCATED flag is set as the runs go by.
    n_lost_events
        Events known to be lost, left out or overwritten, of the headers and the runs so far.
    watch_gap
        Whether :meth:`runs` look for the smallest gap between two neighbouring events of a track.
    gap_cyc
        It, in cycles, of the runs so far; None where there is no pair or nobody looked.
    """

    def __init__(
        self,
        buffer: TraceBuffer,
        *,
        overhead_cyc: int = 0,
        with_index: bool = False,
        run_events: int = RUN_EVENTS,
    ) -> None:
        self.buffer = buffer
        self.overhead_cyc = overhead_cyc
        self.with_index = with_index
        self.run_events = run_events
        self.watch_gap = False
        self.gap_cyc: int | None = None
        self._of_headers = Tally()
        headers = read_headers(buffer, self._of_headers)
        self.tracks = headers.tracks
        self._tally = Tally()
        self._n_orphans = 0
        overfull = headers.used > buffer.spec.capacity_words
        beyond = headers.used[overfull] // 2 - headers.tracks.n_events[overfull]
        self._lost_by_headers = int(beyond.sum() + headers.tracks.n_skipped.sum())

    @property
    def spec(self) -> TraceSpec:
        return self.buffer.spec

    @property
    def n_events(self) -> int:
        """Events that are read; there are no more slices than that."""
        return int(self.tracks.n_events.sum(dtype=np.int64) - self.tracks.n_skipped.sum(dtype=np.int64))

    @property
    def n_lost_events(self) -> int:
        garbage = self._tally.get(catalogue.GARBAGE_TAG)
        return self._lost_by_headers + self._n_orphans + (0 if garbage is None else garbage.n)

    def report(self) -> Report:
        """The findings about the headers and about the runs so far."""
        found = Tally({**self._of_headers, **self._tally})
        if self.spec.bounds_checked is not False:
            full = self.tracks.flags & (TrackFlag.FULL | TrackFlag.TRUNCATED) == TrackFlag.FULL
            found.tracks(catalogue.MAYBE_TRUNCATED, full)
        return checks.report(self.spec, found)

    def runs(self) -> Iterator[Slices]:
        """The slices, in runs of tracks; an empty run is left out."""
        self._tally = Tally()
        self._n_orphans = 0
        self.gap_cyc = None
        for first, last in self._bounds():
            events = read_events(self.buffer, self.tracks, first, last, self._tally)
            self.buffer.release(first, last)
            if self.watch_gap:
                self.gap_cyc = _smaller(self.gap_cyc, smallest_gap_cyc(events))
            if len(events):
                yield self._decode_run(events)

    def smallest_gap_cyc(self) -> int | None:
        """The smallest number of cycles between two neighbouring events of any track."""
        smallest = None
        for first, last in self._bounds():
            gap = smallest_gap_cyc(read_events(self.buffer, self.tracks, first, last, Tally()))
            self.buffer.release(first, last)
            smallest = _smaller(smallest, gap)
        return smallest

    def track_extents(self) -> I64:
        """``(n_tracks,)`` cycles from each track's first event to its last; -1 where none is read.

        Nothing is paired, so this takes a fifth of the time of :meth:`runs`; and it is exact: the times
        are the ones that the slices have.
        """
        extent = np.empty(len(self.tracks), np.int64)
        for first, last in self._bounds():
            events = read_events(self.buffer, self.tracks, first, last, Tally())
            self.buffer.release(first, last)
            if self.overhead_cyc:
                remove_overhead(events, self.overhead_cyc)
            extent[first:last] = events.extent_cyc()
        return extent

    def _bounds(self) -> Iterator[tuple[int, int]]:
        """First and last (exclusive) track of each run: whole tracks, about ``run_events`` events."""
        n_events = self.tracks.n_events.astype(np.int64)
        before = np.cumsum(n_events) - n_events
        of_events = before // self.run_events
        of_words = np.arange(len(n_events)) * self.spec.words_per_track // _RUN_WORDS
        cuts = np.flatnonzero((np.diff(of_events) != 0) | (np.diff(of_words) != 0)) + 1
        edges = [0, *cuts.tolist(), len(n_events)]
        yield from pairwise(edges)

    def _decode_run(self, events: Events) -> Slices:
        raw_cyc = remove_overhead(events, self.overhead_cyc) if self.overhead_cyc else None
        nested = np.ones(len(events.base_cyc), np.bool_)
        paired = pair_adjacent(events)
        if paired is None:
            level, nested = nesting_levels(events.is_exit, events.bounds)
            if not nested.all():
                return self._decode_mixed(events, nested, raw_cyc)
            paired = pair_nested(events, level)
        pairs, same = paired
        if not same.all():
            nested[_track_of(events, pairs.enter[~same])] = False
            return self._decode_mixed(events, nested, raw_cyc)
        if not pairs.closed.all():
            self._count_unclosed(events, pairs)
        return self._slices(events, pairs, np.zeros(len(pairs.enter), np.int32), raw_cyc)

    def _decode_mixed(self, events: Events, nested: Bool, raw_cyc: I64 | None) -> Slices:
        """A run with tracks that do not nest: those that do by level, the others by name."""
        sound, sound_rows = events.of_tracks(nested)
        level, _ = nesting_levels(sound.is_exit, sound.bounds)
        easy, same = pair_nested(sound, level)
        if not same.all():
            nested[_track_of(sound, easy.enter[~same])] = False
            return self._decode_mixed(events, nested, raw_cyc)

        other, other_rows = events.of_tracks(~nested)
        hard = pair_by_name(other)
        track = _track_of(other, hard.enter)
        hard.depth, lane, crossing = lay_out(hard, track)
        self._n_orphans += len(hard.orphan)
        self._count_orphans(other, hard.orphan)
        self._tally.tracks(
            catalogue.CROSSING_REGIONS,
            np.bincount(track[crossing], minlength=len(nested)) > 0,
            first_track=events.first_track,
        )
        enter = np.concatenate((sound_rows[easy.enter], other_rows[hard.enter]))
        order = np.argsort(enter)
        both = Pairs(
            enter[order],
            np.concatenate((sound_rows[easy.leave], other_rows[hard.leave]))[order],
            np.concatenate((easy.name, hard.name))[order],
            np.concatenate((easy.closed, hard.closed))[order],
            np.concatenate((easy.depth, hard.depth))[order],
            other_rows[hard.orphan],
        )
        self._count_unclosed(events, both)
        lanes = np.concatenate((np.zeros(len(easy.enter), np.int32), lane))[order]
        return self._slices(events, both, lanes, raw_cyc)

    def _flags(self, events: Events) -> NDArray[np.uint8]:
        first = events.first_track
        return self.tracks.flags[first : first + len(events.base_cyc)]

    def _count_orphans(self, events: Events, orphan: I64) -> None:
        """Orphan exits; where a track's first events are skipped, they are to be expected."""
        track = _track_of(events, orphan)
        track = track[self._flags(events)[track] & TrackFlag.OVERWRITTEN == 0]
        if track.size:
            self._tally.add(catalogue.ORPHAN_EXIT, track.size, events.first_track + int(track[0]))

    def _count_unclosed(self, events: Events, pairs: Pairs) -> None:
        """Regions that were never left, and the tracks that were truncated (their flag is set)."""
        flags, first = self._flags(events), events.first_track
        track = _track_of(events, pairs.enter[~pairs.closed])
        if self.spec.bounds_checked is not False:
            truncated = np.bincount(track, minlength=len(flags)) > 0
            truncated &= flags & TrackFlag.FULL != 0
            flags[truncated] |= TrackFlag.TRUNCATED
            self._tally.tracks(catalogue.TRUNCATED_TRACK, truncated, first_track=first)
        told = flags & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL) != 0
        unclosed = track[~told[track]]
        if unclosed.size:
            self._tally.add(catalogue.UNCLOSED_REGION, unclosed.size, first + int(unclosed[0]))

    def _slices(self, events: Events, pairs: Pairs, lane: I32, raw_cyc: I64 | None) -> Slices:
        """The table of a run."""
        enter, leave = pairs.enter, pairs.leave
        n_slices = np.diff(np.searchsorted(enter, events.bounds))
        run_tracks = np.arange(len(n_slices), dtype=np.int32)
        time = events.time_cyc
        begin = time[enter]
        dur_cyc = (time[leave] - begin).astype(np.int64)
        begin -= np.repeat(events.base_cyc, n_slices)
        track = np.repeat(run_tracks + np.int32(events.first_track), n_slices)
        slices = Slices(
            track,
            pairs.name,
            pairs.depth,
            lane,
            begin.astype(np.int64),
            dur_cyc,
            pairs.closed,
            occurrence(track, pairs.name) if self.with_index else None,
            None if raw_cyc is None else raw_cyc[leave] - raw_cyc[enter] - dur_cyc,
        )
        self._count_unknown(slices)
        return slices

    def _count_unknown(self, slices: Slices) -> None:
        names = self.spec.names
        if names is not None and slices.name.size and slices.name.max() >= len(names):
            unknown = slices.name >= len(names)
            ids = distinct(slices.name[unknown])
            self._tally.add(
                catalogue.UNKNOWN_NAME,
                int(np.count_nonzero(unknown)),
                int(slices.track[np.argmax(unknown)]),
                ids=ids[:IDS_KEPT],
            )


def _track_of(events: Events, rows: I64) -> I64:
    """The run's track of each event index."""
    return np.searchsorted(events.bounds, rows, side="right") - 1


def _smaller(a: int | None, b: int | None) -> int | None:
    """The smaller of two that may not be there."""
    return b if a is None or (b is not None and b < a) else a
