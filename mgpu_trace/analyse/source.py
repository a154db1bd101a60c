"""What an answer is made from: a whole Timeline, or a Launch that decodes as it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from mgpu_trace.model import F64, I64, Bool, Slices, Timeline, Tracks

if TYPE_CHECKING:
    from mgpu_trace.clock import ClockModel
    from mgpu_trace.diagnostics import Report
    from mgpu_trace.spec import TraceSpec

_PART_SLICES: Final = 1 << 15


class Source(Protocol):
    """A launch. ``report`` is complete once the runs were read to their end.

    ``whole_runs()`` gives the slices of whole tracks in runs, and which of them are selected (None:
    all). What depends on the slices around one (self times, occurrences) is worked out on whole tracks.
    """

    @property
    def spec(self) -> TraceSpec: ...
    @property
    def tracks(self) -> Tracks: ...
    @property
    def clock(self) -> ClockModel: ...
    @property
    def report(self) -> Report: ...
    @property
    def kept_tracks(self) -> Bool: ...
    def touches(self, begin_ns: I64, end_ns: I64) -> Bool: ...
    def whole_runs(self) -> Iterator[tuple[Slices, Bool | None]]: ...


def whole_parts(source: Source) -> Iterator[tuple[Slices, Bool | None]]:
    """``source.whole_runs()``, long ones in parts of whole tracks that fit the processor's cache."""
    for run, keep in source.whole_runs():
        first = 0
        while len(run) - first > 2 * _PART_SLICES:
            last = int(np.searchsorted(run.track, run.track[first + _PART_SLICES], side="right"))
            yield run.where(slice(first, last)), None if keep is None else keep[first:last]
            first = last
        yield (
            (run.where(slice(first, None)), None if keep is None else keep[first:]) if first else (run, keep)
        )


def is_one_axis(source: Source) -> bool:
    """Whether times of different SMs can be compared in cycles.

    SMs are placed against each other by the global timer, in nanoseconds. Where no rate is known those
    are taken for cycles, so only times of one SM are what they are called.
    """
    if source.clock.rate_mhz is not None:
        return True
    sm = source.tracks.sm[source.tracks.has_events]
    return not len(sm) or bool((sm == sm[0]).all())


def origin_cyc(source: Source) -> I64:
    """``(n_tracks,)`` when each track's first event was, in cycles since the launch's first.

    Between tracks of one SM these are the differences of its own counter, exact to the cycle. SMs are
    placed against each other by the clock model, to the nearest cycle.
    """
    cyc: F64 = source.clock.origin_ns / source.clock.ns_per_cyc
    sm = source.tracks.sm
    order = np.lexsort((cyc, ~source.tracks.has_events, sm))
    starts = np.flatnonzero(np.diff(sm[order].astype(np.int64), prepend=-1))
    first = np.repeat(cyc[order][starts], np.diff(starts, append=len(order)))
    found = np.empty(len(cyc), np.int64)
    # Whole cycles from the SM's first track, which the nearest number finds again, and that one's own.
    found[order] = (np.rint(cyc[order] - first) + np.rint(first)).astype(np.int64)
    return found


def smallest_gap_cyc(source: Source) -> int | None:
    """Smallest number of cycles between two neighbouring events of a track; of a Launch, once it was read.

    Of a Timeline it is found in its slices. None where some events are in none of them (a selection, exits
    without an enter), or were moved (``--overhead``); and where no track has two events.
    """
    if isinstance(source, Timeline):
        return _gap_of_slices(source)
    gap: int | None = getattr(source, "gap_cyc", None)
    return gap


def _gap_of_slices(timeline: Timeline) -> int | None:
    tracks, closed = timeline.tracks, timeline.slices.closed
    n_events = tracks.n_events.astype(np.int64) - tracks.n_skipped
    # An event is the begin or the end of one slice at most: so where as many are, all are.
    if timeline.clock.overhead_cyc or len(closed) + np.count_nonzero(closed) != n_events.sum():
        return None
    extent = np.maximum(timeline.track_extents(), 0)
    gaps = (_gap_of_part(run, n_events, extent) for run, _ in whole_parts(timeline) if len(run))
    return min((gap for gap in gaps if gap is not None), default=None)


def _gap_of_part(run: Slices, n_events: I64, extent: I64) -> int | None:
    here = slice(int(run.track[0]), int(run.track[-1]) + 1)
    # All tracks in one row of times: each begins after the one before has ended.
    lift = np.cumsum(extent[here]) - extent[here]
    begin = lift[run.track - run.track[0]] + run.start_cyc
    # Enters are in order and exits nearly so, which this sort makes use of: 25 times as fast as the default.
    cyc = np.sort(np.concatenate((begin, (begin + run.dur_cyc)[run.closed])), kind="stable")
    inside = np.ones(len(cyc) + 1, np.bool_)
    inside[np.cumsum(n_events[here])] = False  # between the last event of a track and the first of the next
    gaps = np.diff(cyc)[inside[1:-1]]
    return int(gaps.min()) if len(gaps) else None


class Extents:
    """When each track was in its regions, in cycles since its first event; filled as runs go by.

    Attributes
    ----------
    begin_cyc, end_cyc
        ``(n_tracks,)`` first enter and last exit; both 0 for a track without slices.
    is_active
        ``(n_tracks,)`` which tracks have slices.
    """

    def __init__(self, n_tracks: int) -> None:
        self.begin_cyc: I64 = np.zeros(n_tracks, np.int64)
        self.end_cyc: I64 = np.zeros(n_tracks, np.int64)
        self.is_active: Bool = np.zeros(n_tracks, np.bool_)

    def add(self, slices: Slices) -> None:
        """Note the slices of whole tracks."""
        if not len(slices):
            return
        first = np.flatnonzero(np.diff(slices.track, prepend=-1))
        track = slices.track[first]
        self.begin_cyc[track] = slices.start_cyc[first]
        self.end_cyc[track] = np.maximum.reduceat(slices.start_cyc + slices.dur_cyc, first)
        self.is_active[track] = True

    @property
    def dur_cyc(self) -> I64:
        """``(n_tracks,)`` from first enter to last exit."""
        return self.end_cyc - self.begin_cyc
