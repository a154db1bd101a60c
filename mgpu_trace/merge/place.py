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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace import layout
from mgpu_trace.model import I32, I64, Bool

TURN_NS: Final = layout.WORD_RANGE
# The launch number orders launches whose host times are not known.
UNKNOWN: Final = -1
# Host times after the year 2116 are none, and nothing takes 73 years: so sums of them stay in 64 bits.
MAX_HOST_NS: Final = 2**62
MAX_DUR_NS: Final = 2**61
_MAX_FITS: Final = 2**31 - 1
# A launch with wrong times does not end a stretch: those after it are tried with so many before it too.
_BACK: Final = 4
# With so many launches, one end that contradicts the beginnings of most is wrong, if without it all agree.
_ENOUGH: Final = 5


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


Window = tuple[int, int]
"""First and last host time at which a launch can have begun."""


@dataclass(slots=True)
class _Stretch:
    """Launches that one offset (host time less timer, both in whole turns) can explain."""

    low: int
    high: int
    rows: list[int]

    def narrow(self, window: Window, timer: int, turn: int) -> None:
        """Keep the offsets that put a launch of that turn into its window."""
        self.low = max(self.low, window[0] - timer - turn * TURN_NS)
        self.high = min(self.high, window[1] - timer - turn * TURN_NS)


def place(bounds: Bounds) -> Placement:
    """Place the launches of one device; see the module for how.

    Where the host's time is not known for any launch, each launch is put into the first turn after
    the one before it, and that is an assumption.
    """
    n = len(bounds.timer_ns)
    if not (bounds.latest_ns != UNKNOWN).any() and not (bounds.earliest_ns != UNKNOWN).any():
        return _in_sequence(bounds)
    windows = _windows(bounds)
    timers = bounds.timer_ns.tolist()
    noted = ((bounds.earliest_ns != UNKNOWN) & (bounds.latest_ns != UNKNOWN)).tolist()
    begin, uncertainty = np.zeros(n, np.int64), np.zeros(n, np.int64)
    of, n_fits = np.zeros(n, np.int32), np.zeros(n, np.int32)
    for number, stretch in enumerate(_stretches(bounds, windows)):
        offset = (stretch.low + stretch.high) // 2
        for row in stretch.rows:
            first, last = _turns(windows[row], timers[row], stretch)
            turn = _nearest(sum(windows[row]) // 2 - timers[row] - offset)
            if first <= last:  # else the host's times are wrong, which contradictions() says
                turn = min(max(turn, first), last)
            begin[row] = timers[row] + turn * TURN_NS + offset
            uncertainty[row] = -(-(stretch.high - stretch.low) // 2)
            of[row], n_fits[row] = number, min(max(last - first + 1, 1), _MAX_FITS) if noted[row] else 0
    return Placement(begin, uncertainty, of, n_fits, True)


def _nearest(ns: int) -> int:
    """The whole number of turns that is nearest to a time."""
    return (ns + TURN_NS // 2) // TURN_NS


def _windows(bounds: Bounds) -> list[Window]:
    """When each launch can have begun.

    Where one bound was not noted, the launch is taken to have begun within one turn of the other; where
    none was, within one turn of the launch before it.
    """
    columns = (bounds.earliest_ns.tolist(), bounds.latest_ns.tolist(), bounds.dur_ns.tolist())
    found = [(0, 0)] * len(bounds.timer_ns)
    last = 0
    for row in np.argsort(bounds.number, kind="stable").tolist():
        low, high, dur = (column[row] for column in columns)
        if low == UNKNOWN and high == UNKNOWN:
            low, high = last, last + TURN_NS - 1
        elif low == UNKNOWN:
            low, high = max(high - dur - TURN_NS + 1, 0), max(high - dur, 0)
        elif high == UNKNOWN:
            high = low + TURN_NS - 1
        else:
            high -= dur
        last = low
        # Bounds that contradict each other (clocks that were set) leave the instant of the earlier one.
        found[row] = low, max(low, high)
    return found


def _stretches(bounds: Bounds, windows: Sequence[Window]) -> list[_Stretch]:
    """Stretches of launches, in the order of their windows, each with the offsets that fit all of it.

    Only what the host noted on both sides, without contradiction, says something about the offset, and
    only where the two are less than a turn apart. All other launches join what these found.
    """
    span = bounds.latest_ns - bounds.earliest_ns - bounds.dur_ns
    is_whole = (bounds.earliest_ns != UNKNOWN) & (bounds.latest_ns != UNKNOWN) & (span >= 0)
    tells = is_whole & (span < TURN_NS)
    order = np.lexsort((bounds.number, np.array(windows)[:, 0])).tolist()
    telling = [row for row in order if tells[row]]
    if not telling:
        # Nothing does. The narrowest window is as good a guess as there is.
        telling = [min(order, key=lambda row: (not is_whole[row], windows[row][1] - windows[row][0]))]
    timers = bounds.timer_ns.tolist()
    found, of = _apart(*_of_telling(telling, windows, timers), windows, timers)
    begins = [windows[row][0] for row in telling]
    for row in sorted({*order} - {*telling}):
        found[of[max(bisect_right(begins, windows[row][1]) - 1, 0)]].rows.append(row)
    return found


def _of_telling(
    rows: Sequence[int], windows: Sequence[Window], timers: Sequence[int]
) -> tuple[list[_Stretch], list[int]]:
    """Stretches of the launches that say something about the offset, and the stretch of each of these."""
    found: list[_Stretch] = []
    of: list[int] = []
    unsure: list[tuple[int, _Stretch]] = []
    for row in rows:
        low, high = windows[row]
        for number in range(len(found) - 1, max(len(found) - 1 - _BACK, -1), -1):
            first, last = _turns(windows[row], timers[row], found[number])
            if first <= last:
                break
        else:
            of.append(len(found))
            found.append(_Stretch(low - timers[row], high - timers[row], [row]))
            continue
        of.append(number)
        found[number].rows.append(row)
        if first == last:
            found[number].narrow(windows[row], timers[row], first)
        else:
            unsure.append((row, found[number]))
    # Where several turns fitted, the launches after it may have left one.
    for row, stretch in sorted(unsure, key=lambda one: windows[one[0]][1] - windows[one[0]][0]):
        first, last = _turns(windows[row], timers[row], stretch)
        if first == last:
            stretch.narrow(windows[row], timers[row], first)
    return found, of


def _apart(
    found: Sequence[_Stretch], of: Sequence[int], windows: Sequence[Window], timers: Sequence[int]
) -> tuple[list[_Stretch], list[int]]:
    """Stretches that follow each other: those that lie in one another in time become one.

    Clocks that drift do not come back, so of such stretches some have wrong times.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for position, number in enumerate(of):
        first.setdefault(number, position)
        last[number] = position
    groups: list[list[int]] = []
    until = -1
    for number, position in first.items():
        if position < until:
            groups[-1].append(number)
        else:
            groups.append([number])
        until = max(until, last[number])
    new = {number: i for i, group in enumerate(groups) for number in group}
    whole = [
        found[group[0]] if len(group) == 1 else _agreed([found[i] for i in group], windows, timers)
        for group in groups
    ]
    return whole, [new[number] for number in of]


def _agreed(parts: Sequence[_Stretch], windows: Sequence[Window], timers: Sequence[int]) -> _Stretch:
    """One stretch of launches of which some have wrong times.

    That a launch was over is sure; that it had not yet been made is not: several kernels of a program may
    run before the callback of the first comes. So the offsets are bounded by the ends, but for few of them
    that would contradict many beginnings, and by the latest beginning that does not contradict these.
    """
    rows = [row for part in parts for row in part.rows]
    base = (parts[0].low + parts[0].high) // 2
    low = np.array([windows[row][0] - timers[row] - base for row in rows], np.int64)
    high = np.array([windows[row][1] - timers[row] - base for row in rows], np.int64)
    turns = ((low + high) // 2 + TURN_NS // 2) // TURN_NS
    low -= turns * TURN_NS
    high -= turns * TURN_NS
    ends, begins = np.sort(high), np.sort(low)
    end = int(ends[0])
    if len(ends) >= _ENOUGH and begins[-1] <= ends[1] and begins[-_ENOUGH // 2] > end:
        end = int(ends[1])
    return _Stretch(base + int(low[low <= end].max()), base + end, rows)


def _turns(window: Window, timer: int, of: _Stretch) -> tuple[int, int]:
    """First and last turn ``k`` with ``timer + k turns + offset`` in the window for an offset that fits.

    The last is before the first where there is none.
    """
    return -((timer + of.high - window[0]) // TURN_NS), (window[1] - timer - of.low) // TURN_NS


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


def contradictions(bounds: Bounds, placement: Placement) -> tuple[Bool, Bool]:
    """Launches that lie outside what the host noted, by more than the uncertainty.

    Returns
    -------
    before, after
        ``(n_launches,)`` which begin before the first time that was noted, and which end after the second.
    """
    early = bounds.earliest_ns != UNKNOWN
    late = bounds.latest_ns != UNKNOWN
    before = placement.begin_ns + placement.uncertainty_ns < bounds.earliest_ns
    after = placement.begin_ns + bounds.dur_ns - placement.uncertainty_ns > bounds.latest_ns
    return placement.is_on_host & early & before, placement.is_on_host & late & after
