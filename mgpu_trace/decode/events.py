"""From words to events: tags split, clocks unwrapped, in one flat array per run of tracks.

The rules and their reasons are in docs/format.md, "Events".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mgpu_trace import layout
from mgpu_trace.decode.tally import Tally
from mgpu_trace.diagnostics import catalogue
from mgpu_trace.model import I32, I64, U32, Bool, TraceBuffer, Tracks

# What the hardware's own clock may step back by; more than that is a wrong reading.
SMALL_STEP_BACK_CYC: Final = 64

# From this many events per track on, copying track by track beats one gather for all.
_LONG_TRACK_EVENTS = 192


@dataclass(slots=True)
class Events:
    """The events of a run of tracks, in buffer order.

    Attributes
    ----------
    first_track
        The run's first track; track ``i`` of the run is ``first_track + i``.
    bounds
        ``(n_tracks_of_run + 1,)``: events of the run's track ``i`` are ``bounds[i]:bounds[i + 1]``.
    name, is_exit
        ``(n_events,)`` the two halves of the tag.
    time_cyc
        ``(n_events,)`` unwrapped cycles; each track has its own zero, ``base_cyc``. Where no track of
        the run is as long as 2**32 cycles these are the 32-bit readings themselves: differences
        modulo 2**32 are then exact, and nothing need be summed.
    base_cyc
        ``(n_tracks_of_run,)`` ``time_cyc`` of each track's first event (0 where there is none).
    """

    first_track: int
    bounds: I64
    name: I32
    is_exit: Bool
    time_cyc: I64 | U32
    base_cyc: I64 | U32

    def __len__(self) -> int:
        return len(self.name)

    @property
    def n_events(self) -> I64:
        """Events of each track of the run."""
        return np.diff(self.bounds)

    def track_of_event(self) -> I64:
        """``(n_events,)`` index of each event's track in the run."""
        n = self.n_events
        return np.repeat(np.arange(len(n)), n)

    def extent_cyc(self) -> I64:
        """``(n_tracks_of_run,)`` cycles from each track's first event to its last; -1 where there is none."""
        extent = np.full(len(self.base_cyc), -1, np.int64)
        full = np.flatnonzero(self.bounds[:-1] < self.bounds[1:])
        # In the type of the readings: of 32-bit ones the difference wraps as they do.
        extent[full] = self.time_cyc[self.bounds[1:][full] - 1] - self.base_cyc[full]
        return extent

    def of_tracks(self, keep: Bool) -> tuple[Events, I64]:
        """The events of the tracks of a mask (the other tracks become empty), and their indices."""
        rows = np.flatnonzero(np.repeat(keep, self.n_events))
        bounds = np.concatenate(([0], np.cumsum(np.where(keep, self.n_events, 0))))
        part = Events(
            self.first_track, bounds, self.name[rows], self.is_exit[rows], self.time_cyc[rows], self.base_cyc
        )
        return part, rows


def read_events(buffer: TraceBuffer, tracks: Tracks, first: int, last: int, tally: Tally) -> Events:
    """The events of tracks ``first`` to ``last`` (exclusive), with sound tags and unwrapped clocks."""
    skipped = tracks.n_skipped[first:last].astype(np.int64)
    n_events = tracks.n_events[first:last].astype(np.int64) - skipped
    bounds = np.zeros(len(n_events) + 1, np.int64)
    np.cumsum(n_events, out=bounds[1:])
    tag, clock = _gather(buffer.words, first, bounds, skipped)

    name = (tag & np.uint32(layout.NAME_MASK)).view(np.int32)
    is_exit = tag.view(np.int32) < 0  # bit 31 is the sign
    if name.size and name.max() > layout.MAX_NAME_ID:
        sound = name <= layout.MAX_NAME_ID
        bounds = _drop_garbage(first, bounds, sound, tally)
        name, is_exit, clock = name[sound], is_exit[sound], clock[sound]

    time_cyc, steps_back = _unwrap(clock, bounds)
    has_events = bounds[:-1] < bounds[1:]
    base_cyc = np.zeros(len(n_events), time_cyc.dtype)
    base_cyc[has_events] = time_cyc[bounds[:-1][has_events]]
    events = Events(first, bounds, name, is_exit, time_cyc, base_cyc)
    if steps_back:
        _level(events, tally)
    return events


def _gather(words: U32, first: int, bounds: I64, skipped: I64) -> tuple[U32, U32]:
    """Tags and clocks of the run's events, ``(n_events,)`` each, in native byte order."""
    n_events = np.diff(bounds)
    total = int(bounds[-1])
    tag, clock = np.empty(total, np.uint32), np.empty(total, np.uint32)
    n_tracks = len(n_events)
    if total == 0:
        return tag, clock
    start = layout.HEADER_WORDS + layout.WORDS_PER_EVENT * skipped
    stop = start + layout.WORDS_PER_EVENT * n_events
    if not skipped.any() and n_events.min() == n_events.max():
        block = words[first : first + n_tracks, int(start[0]) : int(stop[0])]
        tag.reshape(n_tracks, -1)[:] = block[:, 0::2]
        clock.reshape(n_tracks, -1)[:] = block[:, 1::2]
    elif total >= _LONG_TRACK_EVENTS * n_tracks:
        for i in range(n_tracks):
            row = words[first + i, int(start[i]) : int(stop[i])]
            tag[bounds[i] : bounds[i + 1]] = row[0::2]
            clock[bounds[i] : bounds[i + 1]] = row[1::2]
    else:
        words_per_track = words.shape[1]
        run = words[first : first + n_tracks].reshape(-1)
        place = np.arange(n_tracks) * words_per_track + start - layout.WORDS_PER_EVENT * bounds[:-1]
        at = np.repeat(place, n_events) + layout.WORDS_PER_EVENT * np.arange(total)
        tag[:] = run[at]
        clock[:] = run[at + 1]
    return tag, clock


def _drop_garbage(first: int, bounds: I64, sound: Bool, tally: Tally) -> I64:
    """Count the events whose tag cannot be one, and return the bounds without them."""
    kept = np.concatenate(([0], np.cumsum(sound)))[bounds]
    n_dropped = np.diff(bounds) - np.diff(kept)
    tally.add(catalogue.GARBAGE_TAG, int(n_dropped.sum()), first + int(np.flatnonzero(n_dropped)[0]))
    return kept.astype(np.int64)


def _unwrap(clock: U32, bounds: I64) -> tuple[I64 | U32, bool]:
    """Unwrapped times (any zero per track), and whether any of them runs backwards.

    ``%clock`` wraps every 2**32 cycles. Differences modulo 2**32 are exact as long as neighbouring
    events are closer than 2**31; summing them in 64 bits removes the wrap.
    """
    if clock.size == 0:
        return clock, False
    step = np.empty(clock.size, np.uint32)
    np.subtract(clock[1:], clock[:-1], out=step[1:])  # wraps on purpose
    inner = bounds[:-1]
    step[inner[inner < clock.size]] = 0
    largest = int(step.max())
    if largest * int(np.diff(bounds).max()) < layout.WORD_RANGE // 2:
        return clock, False
    signed = step.view(np.int32).astype(np.int64)
    return np.cumsum(signed), largest >= layout.WORD_RANGE // 2


def _level(events: Events, tally: Tally) -> None:
    """Make the times of every track non-decreasing, moving as few events as possible (in place)."""
    back = np.flatnonzero(np.diff(events.time_cyc) < 0) + 1
    back = back[~np.isin(back, events.bounds)]  # between two tracks there is no order
    disordered = np.zeros(len(events.base_cyc), np.bool_)
    disordered[np.searchsorted(events.bounds, back, side="right") - 1] = True
    part, rows = events.of_tracks(disordered)

    n_events = part.n_events
    time = part.time_cyc - np.repeat(part.base_cyc, n_events)
    lift = np.repeat(_lifts(time, part), n_events)
    up = running_max(time + lift) - lift
    down = np.maximum(np.minimum.accumulate((time + lift)[::-1])[::-1] - lift, 0)

    starts = part.bounds[:-1][disordered]
    drop = np.maximum.reduceat(up - time, starts)
    up_moves = np.add.reduceat(up != time, starts, dtype=np.int64)
    down_moves = np.add.reduceat(down != time, starts, dtype=np.int64)
    use_down = np.repeat(down_moves < up_moves, n_events[disordered])
    events.time_cyc[rows] = np.where(use_down, down, up) + np.repeat(part.base_cyc, n_events)

    small = drop <= SMALL_STEP_BACK_CYC
    for code, mine in ((catalogue.CLOCK_STEP_BACK, small), (catalogue.CLOCK_DISORDER, ~small)):
        rows = np.flatnonzero(disordered)[mine]
        if rows.size:
            tally.add(code, rows.size, events.first_track + int(rows[0]), drop[mine])


def running_max(time: I64) -> I64:
    """The largest value so far, ``(n,)``."""
    out: I64 = np.maximum.accumulate(time)
    return out


def remove_overhead(events: Events, overhead_cyc: int) -> I64:
    """Take ``overhead_cyc`` per earlier event off every time (in place); the old times are returned.

    Gaps shorter than the overhead become zero, so that no time runs backwards.
    """
    n_events = events.n_events
    rank = np.arange(len(events)) - np.repeat(events.bounds[:-1], n_events)
    before: I64 = (events.time_cyc - np.repeat(events.base_cyc, n_events)).astype(np.int64)
    time: I64 = before - overhead_cyc * rank
    # One running maximum for all tracks: lift each track above the one before it.
    lift = np.repeat(_lifts(time, events), n_events)
    events.time_cyc = running_max(time + lift) - lift
    events.base_cyc = np.zeros(len(n_events), np.int64)
    return before


def _lifts(time: I64, events: Events) -> I64:
    """``(n_tracks_of_run,)`` offsets that put every track's times above all those before it."""
    full = events.n_events > 0
    starts = events.bounds[:-1][full]
    low = np.zeros(len(full), np.int64)
    high = np.zeros(len(full), np.int64)
    if starts.size:
        low[full] = np.minimum.reduceat(time, starts)
        high[full] = np.maximum.reduceat(time, starts)
    return np.concatenate(([0], np.cumsum(high - low + 1)[:-1])) - low


def smallest_gap_cyc(events: Events) -> int | None:
    """The smallest number of cycles between two neighbouring events of one track; None: no pair."""
    gaps: Any = np.diff(events.time_cyc)  # of one track: never negative, in either type
    inner = events.bounds[1:-1]
    gaps = np.delete(gaps, inner[(inner > 0) & (inner < len(events))] - 1)
    return int(gaps.min()) if gaps.size else None
