"""Where the launches of a device lie in the host's time.

A launch knows the low 32 bits of its device's global timer, which turns every 4.29 s, and the host
knows when the launch had not yet been made and when it was over. The timer and the host's clock run
at nearly one speed, so one offset must put every launch of the device between its bounds. All launches
together leave an interval of offsets, far narrower than any one launch does, and the offset picks each
launch's turn.

Where no offset fits any longer (the two clocks have drifted apart, or the timer was reset), a new
stretch of launches begins, with an offset of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace import layout
from mgpu_trace.model import I32, I64, Bool

TURN_NS: Final = layout.WORD_RANGE
# The launch number orders launches whose host times are not known.
UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known about when the launches of one device began. All columns ``(n_launches,)``.

    Attributes
    ----------
    timer_ns
        Low 32 bits of the global timer at the launch's first event.
    dur_ns
        From the first event to the last.
    earliest_ns
        Host time before which the launch was not made; :data:`UNKNOWN` where nobody noted it.
    latest_ns
        Host time at which it was over; :data:`UNKNOWN` as well.
    number
        Order in which the launches were made, as far as it is known.
    """

    timer_ns: I64
    dur_ns: I64
    earliest_ns: I64
    latest_ns: I64
    number: I64


@dataclass(frozen=True, slots=True)
class Placement:
    """When the launches began. All columns ``(n_launches,)``.

    Attributes
    ----------
    begin_ns
        Host time (UNIX epoch) of the first event; since the device's first launch where the host's
        time is not known for any launch.
    uncertainty_ns
        How far off ``begin_ns`` may be, either way, with all other launches of the same stretch.
    stretch
        0, 1, 2, ...: launches with one offset are exact against each other.
    n_fits
        How many turns of the timer lie between the launch's bounds: 1 is certain; 0 where the turn was
        assumed, for want of bounds.
    is_on_host
        Whether ``begin_ns`` is host time.
    """

    begin_ns: I64
    uncertainty_ns: I64
    stretch: I32
    n_fits: I32
    is_on_host: bool


@dataclass(slots=True)
class _Stretch:
    """Launches that one offset (host time less timer, both in whole turns) can explain."""

    low: int
    high: int
    rows: list[int]


def place(bounds: Bounds) -> Placement:
    """Place the launches of one device; see the module for how.

    Where the host's time is not known for any launch, each launch is put into the first turn after
    the one before it, and that is an assumption.
    """
    n = len(bounds.timer_ns)
    if not (bounds.latest_ns != UNKNOWN).any() and not (bounds.earliest_ns != UNKNOWN).any():
        return _in_sequence(bounds)
    windows = list(_windows(bounds))
    timers = bounds.timer_ns.tolist()
    known = ((bounds.earliest_ns != UNKNOWN) & (bounds.latest_ns != UNKNOWN)).tolist()
    begin, uncertainty = np.zeros(n, np.int64), np.zeros(n, np.int64)
    of, n_fits = np.zeros(n, np.int32), np.zeros(n, np.int32)
    for number, stretch in enumerate(_stretches(windows, timers, bounds.number.tolist())):
        offset = (stretch.low + stretch.high) // 2
        for row in stretch.rows:
            first, last = windows[row]
            turns = _turns(windows[row], timers[row], stretch.low, stretch.high)
            times = [timers[row] + turn * TURN_NS + offset for turn in turns]
            begin[row] = _nearest(times, (first + last) // 2)
            uncertainty[row] = -(-(stretch.high - stretch.low) // 2)
            of[row], n_fits[row] = number, len(turns) if known[row] else 0
    return Placement(begin, uncertainty, of, n_fits, True)


def _nearest(times: Sequence[int], to: int) -> int:
    return min(times, key=lambda ns: abs(ns - to))


def _windows(bounds: Bounds) -> Iterator[tuple[int, int]]:
    """First and last host time at which each launch can have begun.

    Where one bound was not noted, the launch is taken to have begun within one turn of the other.
    """
    columns = (bounds.earliest_ns, bounds.latest_ns, bounds.dur_ns)
    known = [
        (low if low != UNKNOWN else None, high - dur if high != UNKNOWN else None)
        for low, high, dur in zip(*(column.tolist() for column in columns), strict=True)
    ]
    last = 0
    for low, high in known:
        if low is None and high is None:
            low, high = last, last + TURN_NS - 1
        elif low is None and high is not None:
            low = high - TURN_NS + 1
        elif high is None and low is not None:
            high = low + TURN_NS - 1
        assert low is not None
        assert high is not None
        last = low
        # Bounds that contradict each other (clocks that were set) leave the instant of the earlier one.
        yield low, max(low, high)


def _stretches(
    windows: Sequence[tuple[int, int]], timers: Sequence[int], numbers: Sequence[int]
) -> list[_Stretch]:
    """Stretches of launches, in the order of their windows, each with the offsets that fit all of it."""
    order = sorted(range(len(windows)), key=lambda row: (windows[row][0], numbers[row]))
    # A window of a turn and more says nothing about the offset: those launches join what the others found.
    narrow = [row for row in order if windows[row][1] - windows[row][0] < TURN_NS] or order[:1]
    found: list[_Stretch] = []
    for row in narrow:
        low, high = windows[row][0] - timers[row], windows[row][1] - timers[row]
        turns = _turns(windows[row], timers[row], found[-1].low, found[-1].high) if found else []
        if not turns:
            found.append(_Stretch(low, high, [row]))
            continue
        found[-1].rows.append(row)
        if len(turns) == 1:  # where several fit, the launch says nothing about the offset
            found[-1].low = max(found[-1].low, low - turns[0] * TURN_NS)
            found[-1].high = min(found[-1].high, high - turns[0] * TURN_NS)
    starts = [windows[stretch.rows[0]][0] for stretch in found]
    for row in sorted({*order} - {*narrow}):
        found[max(bisect_right(starts, windows[row][1]) - 1, 0)].rows.append(row)
    return found


def _turns(window: tuple[int, int], timer: int, low: int, high: int) -> list[int]:
    """Turns ``k`` for which ``timer + k turns + offset`` is in the window for some offset in the interval."""
    first = -((timer + high - window[0]) // TURN_NS)
    last = (window[1] - timer - low) // TURN_NS
    return list(range(first, last + 1))


def _in_sequence(bounds: Bounds) -> Placement:
    """Without host times: each launch within one turn after the one before it, by number."""
    n = len(bounds.timer_ns)
    order = np.argsort(bounds.number, kind="stable")
    begin = np.zeros(n, np.int64)
    if n:
        step = np.diff(bounds.timer_ns[order], prepend=bounds.timer_ns[order[:1]]) % TURN_NS
        begin[order] = np.cumsum(step)
    nothing = np.zeros(n, np.int32)
    return Placement(begin, np.zeros(n, np.int64), nothing, nothing.copy(), False)


def contradictions(bounds: Bounds, placement: Placement) -> Bool:
    """``(n_launches,)``: which launches lie outside what the host noted, by more than the uncertainty."""
    early = bounds.earliest_ns != UNKNOWN
    late = bounds.latest_ns != UNKNOWN
    before = placement.begin_ns + placement.uncertainty_ns < bounds.earliest_ns
    after = placement.begin_ns + bounds.dur_ns - placement.uncertainty_ns > bounds.latest_ns
    found: Bool = placement.is_on_host & ((early & before) | (late & after))
    return found
