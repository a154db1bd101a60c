"""What an answer is made from: a whole Timeline, or a Launch that decodes as it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mgpu_trace.model import F64, I64, Bool, Slices, Timeline, Tracks

if TYPE_CHECKING:
    from mgpu_trace.clock import ClockModel
    from mgpu_trace.diagnostics import Report
    from mgpu_trace.spec import TraceSpec


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
    def whole_runs(self) -> Iterator[tuple[Slices, Bool | None]]: ...


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
    slices, tracks = timeline.slices, timeline.tracks
    n_events = np.bincount(slices.track, minlength=len(tracks))
    n_events += np.bincount(slices.track[slices.closed], minlength=len(tracks))
    if timeline.clock.overhead_cyc or (n_events != tracks.n_events - tracks.n_skipped).any():
        return None
    # All tracks in one row of times: each begins after the one before has ended.
    extent = np.maximum(timeline.track_extents(), 0)
    begin = (np.cumsum(extent) - extent)[slices.track] + slices.start_cyc
    cyc = np.sort(np.concatenate((begin, (begin + slices.dur_cyc)[slices.closed])))
    inside = np.ones(len(cyc) + 1, np.bool_)
    inside[np.cumsum(n_events)] = False  # between the last event of a track and the first of the next
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
