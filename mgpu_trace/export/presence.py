"""When tracks and blocks were there: from their first event to their last, whatever is selected.

A *stay* is a block on an SM. Every track of a block names the same SM, but for broken headers: such a
block has a stay on each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace.export import Source
from mgpu_trace.model import I64, Bool, TrackFlag, distinct

NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Presence:
    """Nanoseconds since the launch's first event, as slices have them.

    Attributes
    ----------
    begin, end
        ``(n_tracks,)`` first and last event of each track; :data:`NEVER` and -1 where none is read.
    stay
        ``(n_tracks,)`` the stay of each track's block on its SM; -1 where the track recorded nothing, or
        its header is broken, or no event of the stay is read.
    block, sm
        ``(n_stays,)`` which block was where.
    stay_begin, stay_end
        ``(n_stays,)`` the first and the last event of all the block's tracks there.
    """

    begin: I64
    end: I64
    stay: I64
    block: I64
    sm: I64
    stay_begin: I64
    stay_end: I64

    @property
    def active(self) -> Bool:
        """``(n_tracks,)``: which tracks have an event that is read."""
        return self.end >= 0

    def span(self) -> tuple[int, int]:
        """The first event and the last of all; zeros where there is none."""
        return (int(self.begin.min()), int(self.end.max())) if self.active.any() else (0, 0)


def find_presence(source: Source) -> Presence:
    """Read the times of all first and last events; nothing is paired for that."""
    tracks = source.tracks
    extents = source.track_extents()
    every = np.arange(len(tracks), dtype=np.int32)
    begin, end = source.clock.begin_end_ns(every, np.zeros_like(extents), np.maximum(extents, 0))
    active = extents >= 0
    begin[~active], end[~active] = NEVER, -1

    recorded = (tracks.n_events > 0) & (tracks.flags & TrackFlag.BROKEN == 0)
    place = tracks.block << 32 | tracks.sm
    rows = np.flatnonzero(active & recorded)
    stays = distinct(place[rows])
    of = np.searchsorted(stays, place[rows])
    first, last = np.full(len(stays), NEVER), np.full(len(stays), -1)
    np.minimum.at(first, of, begin[rows])
    np.maximum.at(last, of, end[rows])
    stay = np.full(len(tracks), -1)
    if len(stays):
        at = np.minimum(np.searchsorted(stays, place), len(stays) - 1)
        stay = np.where(recorded & (stays[at] == place), at, -1)
    return Presence(begin, end, stay, stays >> 32, stays & 0xFFFFFFFF, first, last)
