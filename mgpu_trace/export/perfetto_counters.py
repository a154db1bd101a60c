"""Counters: how many blocks and units were at work, on each SM and on the device.

A track is active from its first enter to its last exit, and a block is resident from the first of
its tracks' enters to the last of their exits: the hardware's own times are not recorded, and a
block is on its SM a little longer than that.
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
from mgpu_trace.model import I64, Bool, Slices, Tracks

NEVER = np.iinfo(np.int64).max


class Extents:
    """When each track was active, as far as its slices say; filled as they come.

    Attributes
    ----------
    begin, end
        ``(n_tracks,)`` nanoseconds; of tracks without a slice, :data:`NEVER` and -1.
    """

    def __init__(self, n_tracks: int) -> None:
        self.begin: I64 = np.full(n_tracks, NEVER)
        self.end: I64 = np.full(n_tracks, -1)

    def add(self, slices: Slices, begin: I64, end: I64) -> I64:
        """Note the slices of whole tracks, by track and enter; the row of each track's first."""
        first = np.flatnonzero(np.diff(slices.track, prepend=-1))
        track = slices.track[first]
        self.begin[track] = begin[first]
        self.end[track] = np.maximum.reduceat(end, first) if len(first) else end
        return first

    @property
    def active(self) -> Bool:
        """``(n_tracks,)``: which tracks have a slice."""
        return self.end >= 0

    def span(self) -> tuple[int, int]:
        """The first begin and the last end of all; zeros where there is none."""
        return (int(self.begin.min()), int(self.end.max())) if self.active.any() else (0, 0)

    def of_blocks(self, tracks_per_block: int) -> tuple[I64, I64]:
        """The same for blocks."""
        return (
            self.begin.reshape(-1, tracks_per_block).min(axis=1),
            self.end.reshape(-1, tracks_per_block).max(axis=1),
        )


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


def counter_packets(tree: Tree, tracks: Tracks, extents: Extents, zero: Zero) -> Iterator[Words]:
    """Packets of all counters that the tree has."""
    if tree.counters == "none":
        return
    first = extents.begin.reshape(-1, tracks.tracks_per_block).argmin(axis=1)
    of_block = np.arange(len(first)) * tracks.tracks_per_block + first
    blocks = (of_block, *extents.of_blocks(tracks.tracks_per_block))
    units = (np.arange(len(tracks)), extents.begin, extents.end)
    for which, (track, begin, end) in enumerate((blocks, units)):
        active = end >= 0
        sm = tracks.sm[track[active]].astype(np.int64)
        spans = begin[active], end[active]
        uuid = partial(tree.counter_uuid, which)
        yield from _counter(steps(np.full_like(sm, DEVICE), *spans), zero, uuid)
        if tree.counters == "sm":
            yield from _counter(steps(sm, *spans), zero, uuid)


def _counter(of: Steps, zero: Zero, uuid: Callable[[int], int]) -> Iterator[Words]:
    """For each counter its track, and then its values."""
    edges = np.flatnonzero(np.diff(of.key, prepend=DEVICE - 1)).tolist()
    for first, last in pairwise((*edges, len(of.key))):
        yield default_rows(np.array([uuid(int(of.key[first]))], np.uint64), zero.clock)
        yield counter_rows(of.ns[first:last] + zero.ns, of.value[first:last])
