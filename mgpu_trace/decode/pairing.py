"""Enter and exit: which belong together.

An EXIT closes the innermost open region *of its name* (docs/format.md, "Pairing"). In a properly
nested track that is the usual stack, which :func:`pair_adjacent` (all closed, the usual case) and
:func:`pair_nested` find without sorting anything; :func:`pair_by_name` handles every track.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.decode.events import Events
from mgpu_trace.model import I16, I32, I64, Bool

# Rounds of taking out innermost pairs: as deep as real kernels nest, and few where they do not.
_ROUNDS = 10
# Up to this depth one look per level is cheaper than sorting by level.
_LEVELS_BY_LOOK = 24


@dataclass(slots=True)
class Pairs:
    """Slices as pairs of events, sorted by enter.

    Attributes
    ----------
    enter, leave
        ``(n_slices,)`` indices into the events; ``leave`` of an unclosed slice is the track's last.
    name
        ``(n_slices,)`` name id of the enter.
    closed
        ``(n_slices,)`` False where no exit was found.
    depth
        ``(n_slices,)`` regions open around the slice.
    orphan
        Indices of exits without an enter, ascending.
    """

    enter: I64
    leave: I64
    name: I32
    closed: Bool
    depth: I16
    orphan: I64


def nesting_levels(is_exit: Bool, bounds: I64) -> tuple[I32, Bool]:
    """The level of every event, and which tracks of the run nest.

    The level counts the regions open during the region that the event opens or closes, itself
    included: 1 for an outermost one. A track nests when its level never falls below 1: it has no exit
    without an enter, though it may have an enter without an exit.
    """
    n_tracks = len(bounds) - 1
    nests = np.ones(n_tracks, np.bool_)
    if is_exit.size == 0:
        return np.empty(0, np.int32), nests
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
    if level.min() < 1:
        full = np.flatnonzero(bounds[:-1] < bounds[1:])
        nests[full] = np.minimum.reduceat(level, bounds[full]) >= 1
    return level, nests


def pair_adjacent(events: Events) -> tuple[Pairs, Bool] | None:
    """Pair closed tracks that nest by taking out innermost pairs, round after round.

    An enter and an exit that follow each other are a pair; without them their neighbours may be one.
    Where nothing is left after a few rounds, and every track has as many enters as exits, all tracks
    nest and are closed: no level was ever counted. Otherwise None.

    Returns
    -------
    pairs, same
        The slices, and for each whether its two names agree.
    """
    mate = _mates(events.is_exit)
    if mate is None:
        return None
    enter = np.flatnonzero(~events.is_exit)
    if (2 * np.diff(np.searchsorted(enter, events.bounds)) != events.n_events).any():
        return None  # an enter of one track was paired with an exit of another
    leave, name = mate[enter], events.name[enter]
    # As many more of the events before an enter are enters than exits as there are regions open.
    depth = np.arange(0, 2 * len(enter), 2)
    depth -= enter
    closed = np.ones(len(enter), np.bool_)
    pairs = Pairs(enter, leave, name, closed, depth.astype(np.int16), np.empty(0, np.int64))
    return pairs, name == events.name[leave]


def _mates(is_exit: Bool) -> I64 | None:
    """The exit of every enter, ``(n_events,)``, or None where some have none or nest too deep."""
    mate = np.arange(1, len(is_exit) + 1)  # of an innermost pair; the others follow
    places = None
    for _ in range(_ROUNDS):
        is_pair = is_exit[:-1] < is_exit[1:]
        if places is not None:
            at = np.flatnonzero(is_pair)
            mate[places[at]] = places[at + 1]
        paired = np.zeros(len(is_exit), np.bool_)
        paired[:-1] = is_pair
        paired[1:] |= is_pair
        rest = np.flatnonzero(~paired)
        if rest.size in (0, len(is_exit)):
            return mate if rest.size == 0 else None
        is_exit = is_exit[rest]
        places = rest if places is None else places[rest]
    return None


def pair_nested(events: Events, level: I32) -> tuple[Pairs, Bool]:
    """Pair tracks that nest by level; also say for each pair whether the two names agree.

    Within a track the events of one level alternate enter, exit, enter, exit, and only the last
    enter may lack its exit. So an exit always follows its enter.

    Parameters
    ----------
    events, level
        Tracks that nest, and the levels of their events.
    """
    mate = np.full(len(events), -1, np.int64)
    for at in _events_by_level(level):
        left = np.flatnonzero(events.is_exit[at])
        mate[at[left - 1]] = at[left]
    enter = np.flatnonzero(~events.is_exit)
    leave, name = mate[enter], events.name[enter]
    closed = leave >= 0
    last = np.repeat(events.bounds[1:] - 1, np.diff(np.searchsorted(enter, events.bounds)))
    leave = np.where(closed, leave, last)
    same = ~closed | (name == events.name[leave])
    return Pairs(enter, leave, name, closed, saturated(level[enter] - 1), np.empty(0, np.int64)), same


def _events_by_level(level: I32) -> Iterator[I64]:
    """Indices of the events of one level after the other, each ascending."""
    if level.size == 0:
        return
    deepest = int(level.max())
    if deepest <= _LEVELS_BY_LOOK:
        narrow = level.astype(np.int8)
        for at_level in range(1, deepest + 1):
            yield np.flatnonzero(narrow == at_level)
    else:
        yield stable_order(level)  # all levels in one: each begins with an enter


def saturated(depth: I32) -> I16:
    """Depth in 16 bits; a hostile track can nest deeper than they count."""
    return np.minimum(depth, np.iinfo(np.int16).max).astype(np.int16)


def stable_order(key: NDArray[Any]) -> I64:
    """The order that sorts ``key`` (not negative) and leaves equal ones as they stand.

    NumPy's stable sort is a radix sort for 16 bits, and many times slower for more: so wider keys
    are sorted by their lower half, then by their upper one.
    """
    largest = int(key.max(initial=0))
    if largest < 1 << 16:
        return np.argsort(key.astype(np.uint16), kind="stable")
    if largest >= 1 << 32:
        return np.argsort(key, kind="stable")
    order = np.argsort((key & 0xFFFF).astype(np.uint16), kind="stable")
    upper = (key >> 16).astype(np.uint16)
    by_upper: I64 = order[np.argsort(upper[order], kind="stable")]
    return by_upper


def dense_ids(name: I32) -> tuple[I64, int]:
    """Small numbers in place of name ids, in the order of the ids; and how many there are."""
    used = np.zeros(int(name.max(initial=0)) + 1, np.bool_)
    used[name] = True
    dense = np.cumsum(used) - 1
    return dense[name], int(dense[-1]) + 1


def pair_by_name(events: Events) -> Pairs:
    """Pair the events of any tracks: each exit with the innermost open enter of its name.

    Depth is left at zero: it depends on lanes (see lanes.py).
    """
    track = events.track_of_event()
    dense, n_names = dense_ids(events.name)
    group = track * n_names + dense
    order = stable_order(group)
    group, is_exit = group[order], events.is_exit[order]

    open_after, orphan = _open_regions(group, is_exit)
    kept = np.flatnonzero(~orphan)
    level = open_after[kept] + is_exit[kept]
    if level.size and level.max() > 1:
        # Regions of one name inside each other: put each pair side by side.
        inside = stable_order(level)
        inside = inside[stable_order(group[kept][inside])]
        kept, level = kept[inside], level[inside]

    is_enter = ~is_exit[kept]
    at = np.flatnonzero(is_enter)
    mate = np.minimum(at + 1, len(kept) - 1)
    closed = is_exit[kept[mate]] & (group[kept[mate]] == group[kept[at]]) & (level[mate] == level[at])
    enter = order[kept[at]]
    leave = np.where(closed, order[kept[mate]], events.bounds[1:][track[enter]] - 1)
    by_enter = stable_order(enter)
    return Pairs(
        enter[by_enter],
        leave[by_enter],
        events.name[enter[by_enter]],
        closed[by_enter],
        np.zeros(len(enter), np.int16),
        np.sort(order[orphan]),
    )


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
