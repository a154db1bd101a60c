"""Enter and exit: which belong together.

An EXIT closes the innermost open region *of its name* (docs/format.md, "Pairing"). In a properly
nested track that is the usual stack, which :func:`pair_nested` finds without sorting anything;
:func:`pair_by_name` handles every track.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.decode.events import Events
from mgpu_trace.model import I32, I64, Bool

# Up to this depth one look per level is cheaper than sorting by level.
_LEVELS_BY_LOOK = 24


@dataclass(slots=True)
class Pairs:
    """Slices as pairs of events, sorted by enter.

    Attributes
    ----------
    enter, leave
        ``(n_slices,)`` indices into the events; ``leave`` of an unclosed slice is the track's last.
    closed
        ``(n_slices,)`` False where no exit was found.
    depth
        ``(n_slices,)`` regions open around the slice.
    orphan
        Indices of exits without an enter, ascending.
    """

    enter: I64
    leave: I64
    closed: Bool
    depth: I32
    orphan: I64


def nesting_levels(is_exit: Bool, bounds: I64) -> tuple[I32, Bool, Bool]:
    """The level of every event, and which tracks of the run nest and are closed.

    The level counts the regions open during the region that the event opens or closes, itself
    included: 1 for an outermost one. A track nests when its level never falls below 1 (no exit
    without an enter), and is closed when all its regions are left at its end.
    """
    n_tracks = len(bounds) - 1
    if is_exit.size == 0:
        return np.empty(0, np.int32), np.ones(n_tracks, np.bool_), np.ones(n_tracks, np.bool_)
    one = is_exit.view(np.int8)
    # Steps as wide as their sum: NumPy's running sums are slow where they must convert.
    step = one.astype(np.int32)
    step *= -2
    step += 1
    level = np.cumsum(step, dtype=np.int32)
    at_end = np.concatenate((np.zeros(1, np.int32), level))[bounds]
    if at_end.any():
        level -= np.repeat(at_end[:-1], np.diff(bounds))
    level += one
    nests = np.ones(n_tracks, np.bool_)
    if level.min() < 1:
        full = np.flatnonzero(bounds[:-1] < bounds[1:])
        nests[full] = np.minimum.reduceat(level, bounds[full]) >= 1
    return level, nests, np.diff(at_end) == 0


def pair_nested(events: Events, level: I32, closed: Bool) -> tuple[Pairs, Bool]:
    """Pair tracks that nest by level; also say for each pair whether the two names agree.

    Within a track the events of one level alternate enter, exit, enter, exit, and only the last
    enter may lack its exit. Where all tracks are closed, that holds across tracks as well.

    Parameters
    ----------
    events, level, closed
        Tracks that nest, the levels of their events, and which tracks are closed.
    """
    n = len(events)
    mate = np.empty(n, np.int64)
    all_closed = bool(closed.all())
    if not all_closed:
        mate[:] = -1
    for at in _events_by_level(level):
        if all_closed:
            mate[at[0::2]] = at[1::2]
        else:
            left = np.flatnonzero(events.is_exit[at])
            mate[at[left - 1]] = at[left]
    enter = np.flatnonzero(~events.is_exit)
    leave = mate[enter]
    found = np.ones(len(enter), np.bool_)
    same = events.name[enter] == events.name[leave]
    if not all_closed:
        found = leave >= 0
        same |= ~found
        last = np.repeat(events.bounds[1:] - 1, np.diff(np.searchsorted(enter, events.bounds)))
        leave = np.where(found, leave, last)
    return Pairs(enter, leave, found, level[enter] - 1, np.empty(0, np.int64)), same


def _events_by_level(level: I32) -> list[I64]:
    """Indices of the events of each level, ascending."""
    if level.size == 0:
        return []
    deepest = int(level.max())
    if deepest <= _LEVELS_BY_LOOK:
        narrow = level.astype(np.int8)
        return [np.flatnonzero(narrow == d) for d in range(1, deepest + 1)]
    # A stable sort keeps each level in buffer order, so all levels can be one list: each begins
    # with an enter, and an exit always follows its enter.
    return [np.argsort(_narrow(level.astype(np.int64)), kind="stable")]


def _narrow(key: I64) -> NDArray[Any]:
    """``key`` in 16 bits where it fits: NumPy's stable sort is then a radix sort."""
    if key.size and int(key.max()) < 1 << 16:
        return key.astype(np.uint16)
    return key


def pair_by_name(events: Events) -> Pairs:
    """Pair the events of any tracks: each exit with the innermost open enter of its name.

    Depth is left at zero: it depends on lanes (see lanes.py).
    """
    track = events.track_of_event()
    group = _dense(track, events.name)
    order = np.argsort(_narrow(group), kind="stable")
    group, is_exit = group[order], events.is_exit[order]

    open_after, orphan = _open_regions(group, is_exit)
    kept = np.flatnonzero(~orphan)
    level = open_after[kept] + is_exit[kept]
    if level.size and level.max() > 1:
        # Regions of one name inside each other: put each pair side by side.
        inside = np.lexsort((level, group[kept]))
        kept, level = kept[inside], level[inside]

    is_enter = ~is_exit[kept]
    at = np.flatnonzero(is_enter)
    mate = np.minimum(at + 1, len(kept) - 1)
    closed = is_exit[kept[mate]] & (group[kept[mate]] == group[kept[at]]) & (level[mate] == level[at])
    enter = order[kept[at]]
    leave = np.where(closed, order[kept[mate]], events.bounds[1:][track[enter]] - 1)
    by_enter = np.argsort(enter)
    return Pairs(
        enter[by_enter],
        leave[by_enter],
        closed[by_enter],
        np.zeros(len(enter), np.int32),
        np.sort(order[orphan]),
    )


def _dense(track: I64, name: I32) -> I64:
    """One small number for every (track, name)."""
    names, dense_name = np.unique(name, return_inverse=True)
    return track * len(names) + dense_name


def _open_regions(group: I64, is_exit: Bool) -> tuple[I64, Bool]:
    """Regions open after each event of its group, and which exits found none open.

    Without orphans the count would be a running sum. An orphan exit is one that takes the sum to
    a new low; taking the running low off again gives the count as if the orphans were not there.
    """
    n = len(group)
    if n == 0:
        return np.empty(0, np.int64), np.empty(0, np.bool_)
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    sizes = np.diff(starts, append=n)
    total = np.cumsum(np.where(is_exit, -1, 1))
    before = np.concatenate(([0], total))[starts]
    total = total - np.repeat(before, sizes)
    # Later groups lie far below earlier ones, so one running minimum serves all of them.
    far = np.repeat(np.arange(len(starts)) * (2 * n + 1), sizes)
    low = np.minimum(np.minimum.accumulate(total - far) + far, 0)
    low_before = np.concatenate(([0], low[:-1]))
    low_before[starts] = 0
    return total - low, low < low_before
