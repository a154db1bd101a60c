"""Counters: how many blocks and units were at work, on each SM and on the device.

A track is active from its first event to its last, and a block is resident from the first of its
tracks' events to the last: the hardware's own times are not recorded, and a block is on its SM a
little longer than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from mgpu_trace.export.perfetto_options import Zero
from mgpu_trace.export.perfetto_rows import Words, counter_rows, default_rows
from mgpu_trace.export.perfetto_tree import DEVICE, Tree
from mgpu_trace.model import I64, Tracks, distinct


@dataclass(frozen=True, slots=True)
class Steps:
    """Values of several counters, by counter, then by time: ``(n,)`` each.

    Attributes
    ----------
    key
        Which counter.
    ns, value
        From when on it has which value.
    """

    key: I64
    ns: I64
    value: I64


def steps(key: I64, begin: I64, end: I64) -> Steps:
    """How many of the spans of each key were open; what begins and ends at once is not seen.

    Parameters
    ----------
    key, begin, end
        ``(n,)`` spans.
    """
    keys = np.concatenate((key, key))
    ns = np.concatenate((begin, end))
    change = np.repeat((1, -1), len(key))
    order = np.lexsort((ns, keys))
    keys, ns, value = keys[order], ns[order], np.cumsum(change[order])
    # The value after all changes of one time; every key's spans have ended before the next key.
    last = np.ones(len(keys), np.bool_)
    last[:-1] = (keys[1:] != keys[:-1]) | (ns[1:] != ns[:-1])
    return Steps(keys[last], ns[last], value[last])


def counter_packets(tree: Tree, tracks: Tracks, zero: Zero) -> Iterator[Words]:
    """Packets of all counters that the tree has: of the tracks that are shown, and their blocks."""
    presence, shown = tree.picture.presence, tree.picture.shown
    if tree.counters == "none":
        return
    stays = distinct(presence.stay[shown])
    active = shown & presence.active
    blocks = (presence.sm[stays], presence.stay_begin[stays], presence.stay_end[stays])
    units = (tracks.sm[active].astype(np.int64), presence.begin[active], presence.end[active])
    for which, (sm, begin, end) in enumerate((blocks, units)):
        uuid = partial(tree.counter_uuid, which)
        yield from _counter(steps(np.full_like(sm, DEVICE), begin, end), zero, uuid)
        if tree.counters == "sm":
            yield from _counter(steps(sm, begin, end), zero, uuid)


def _counter(of: Steps, zero: Zero, uuid: Callable[[int], int]) -> Iterator[Words]:
    """For each counter its track, and then its values."""
    edges = np.flatnonzero(np.diff(of.key, prepend=DEVICE - 1)).tolist()
    for first, last in pairwise((*edges, len(of.key))):
        yield default_rows(np.array([uuid(int(of.key[first]))], np.uint64), zero.clock)
        yield counter_rows(of.ns[first:last] + zero.ns, of.value[first:last])
