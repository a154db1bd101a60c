"""Marks where events were lost: slices of no length on the lines of the tracks that lost them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from mgpu_trace.export import Source
from mgpu_trace.export.picture import Picture
from mgpu_trace.model import I64, TrackFlag

LOST: Final = "events lost here"
ALL_LOST: Final = "all events lost"
OVERWRITTEN: Final = "events overwritten before here"
CATEGORY: Final = "loss"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark on the line of ``track``, ``ns`` nanoseconds after the launch's first event."""

    track: int
    ns: int
    name: str
    args: dict[str, int] = field(default_factory=dict)


def marks(source: Source, picture: Picture) -> Iterator[Mark]:
    """The marks of the shown tracks, in what is selected; complete when the runs were read.

    At the last event of those that lost their tail, at the first of those whose first ones were
    overwritten, and where its block begins of those with nothing left.
    """
    tracks, presence, shown = source.tracks, picture.presence, picture.shown
    nothing = ~tracks.has_events | (tracks.flags & TrackFlag.UNREADABLE != 0)
    rows = np.flatnonzero(shown & nothing)
    for track, ns in _in_window(source, rows, presence.stay_begin[presence.stay[rows]]):
        yield Mark(track, ns, ALL_LOST, {"n_events": int(tracks.n_events[track])})
    left = shown & presence.active
    rows = np.flatnonzero(left & (tracks.flags & TrackFlag.OVERWRITTEN != 0))
    for track, ns in _in_window(source, rows, presence.begin[rows]):
        yield Mark(track, ns, OVERWRITTEN, {"n_events": int(tracks.n_skipped[track])})
    rows = np.flatnonzero(left & (tracks.flags & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL) != 0))
    for track, ns in _in_window(source, rows, presence.end[rows]):
        yield Mark(track, ns, LOST)


def _in_window(source: Source, tracks: I64, ns: I64) -> Iterator[tuple[int, int]]:
    keep = source.touches(ns, ns)
    return zip(tracks[keep].tolist(), ns[keep].tolist(), strict=True)
