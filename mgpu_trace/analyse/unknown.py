"""Times of which nothing is known because events were lost (docs/analysis.md, "Lost events")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace.analyse.activity import Activity
from mgpu_trace.model import I64, TrackFlag

_TAIL_LOST: Final = TrackFlag.OVERFULL | TrackFlag.TRUNCATED
_UNREAD: Final = TrackFlag.BROKEN | TrackFlag.UNREADABLE | TrackFlag.OVERWRITTEN | _TAIL_LOST


@dataclass(frozen=True, slots=True)
class Unknown:
    """What is not known, within the windows of blocks.

    Attributes
    ----------
    before_cyc, after_cyc
        ``(n_tracks,)`` from the begin of a track's block to its first region, and from its last region to the
        end of the block, where the track's events of that time may be lost; else 0.
    unread
        ``(n_unread,)`` tracks that should have events of which none became a slice, in blocks that have some.
    blocks
        Rows of :attr:`Activity.blocks` with such a track, ascending: all of their time is unknown.
    """

    before_cyc: I64
    after_cyc: I64
    unread: I64
    blocks: I64

    @classmethod
    def of(cls, activity: Activity) -> Unknown:
        """What the flags of the tracks say."""
        tracks, blocks = activity.source.tracks, activity.blocks
        flags, active = tracks.flags, activity.is_active
        # An exactly full track may be a prefix, unless it is said that the kernel checked no bounds.
        ends_early = _TAIL_LOST | (0 if activity.source.spec.bounds_checked is False else TrackFlag.FULL)
        place = np.maximum(blocks.of_track, 0)
        before, after = np.zeros(len(tracks), np.int64), np.zeros(len(tracks), np.int64)
        begins_late = np.flatnonzero(active & (flags & TrackFlag.OVERWRITTEN != 0))
        before[begins_late] = activity.begin_cyc[begins_late] - blocks.begin_cyc[place[begins_late]]
        early = np.flatnonzero(active & (flags & ends_early != 0))
        after[early] = blocks.end_cyc[place[early]] - activity.end_cyc[early]
        unread = np.flatnonzero(~active & (flags & _UNREAD != 0))
        unread = unread[np.isin(tracks.block[unread], blocks.block)]
        return cls(before, after, unread, np.flatnonzero(np.isin(blocks.block, tracks.block[unread])))
