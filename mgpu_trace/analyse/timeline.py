"""Some tracks of a launch, moment by moment: which region each was in, as rows or as the cells of a picture.

A moment of a track belongs to the region that was entered last of those open, as its self time does. A
*segment* is a longest stretch of such moments of one slice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mgpu_trace.analyse.groups import role_of
from mgpu_trace.analyse.places import Places
from mgpu_trace.analyse.selftime import innermost
from mgpu_trace.analyse.source import Extents, Source, origin_cyc
from mgpu_trace.analyse.table import Table, Values
from mgpu_trace.analyse.units import Asked, TimeUnit, time_unit
from mgpu_trace.model import I32, I64, Bool, Slices, TrackFlag, distinct

N_TRACKS: Final = 24
_LOST_START: Final = TrackFlag.OVERWRITTEN
_LOST_END: Final = TrackFlag.OVERFULL | TrackFlag.TRUNCATED


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments of some tracks, by row and time; times in cycles since the launch's first event.

    Attributes
    ----------
    source
        The launch.
    tracks
        ``(n_rows,)`` the tracks, in the order in which they are shown.
    track_begin_cyc, track_end_cyc
        ``(n_rows,)`` their first enter and last exit.
    n_more
        Tracks with selected slices that are not among them.
    row, name, begin_cyc, end_cyc, kept
        ``(n_segments,)`` the row in ``tracks``, the region's name id, from and to, and whether the slice
        is selected.
    window_cyc
        What is looked at: the selected window of time, or from the first enter to the last exit.
    """

    source: Source
    tracks: I64
    track_begin_cyc: I64
    track_end_cyc: I64
    n_more: int
    row: I64
    name: I32
    begin_cyc: I64
    end_cyc: I64
    kept: Bool
    window_cyc: tuple[int, int]

    @property
    def lost_start(self) -> Bool:
        """``(n_rows,)``: whose first events are lost."""
        lost: Bool = self.source.tracks.flags[self.tracks] & _LOST_START != 0
        return lost

    @property
    def lost_end(self) -> Bool:
        """``(n_rows,)``: whose last events are lost."""
        lost: Bool = self.source.tracks.flags[self.tracks] & _LOST_END != 0
        return lost

    def names_in_window(self) -> I32:
        """Name ids of the selected segments of which a part is in the window."""
        begin, end = self.window_cyc
        names: I32 = distinct(self.name[self.kept & (self.begin_cyc < end) & (self.end_cyc > begin)])
        return names


def segments(
    source: Source,
    *,
    n_tracks: int = N_TRACKS,
    longest: bool = False,
    unit: Asked = "auto",
    roles: Mapping[int, str] | None = None,
) -> Table:
    """Which region some tracks were in, moment by moment: one row for each segment.

    Parameters
    ----------
    source
        A Timeline or a Launch.
    n_tracks
        At most so many tracks: the first ones that have selected slices.
    longest
        Whether to take those of the blocks that took longest instead, the longest first.
    unit
        ``"ns"``, ``"cyc"``, or ``"auto"``: nanoseconds where a rate is known.
    roles
        Names for units, such as ``{0: "tma"}``.

    Returns
    -------
    Table
        See docs/analysis.md for the columns and the facts.

    Raises
    ------
    MgpuTraceError
        MGT640 for nanoseconds without a rate.
    """
    in_unit = time_unit(source.clock, unit)
    return segments_table(find_segments(source, n_tracks, longest), in_unit, roles)


def find_segments(source: Source, n_tracks: int = N_TRACKS, longest: bool = False) -> Segments:
    """Read the runs of a launch, twice where the longest blocks are asked for; memory by the tracks shown."""
    ranked = _longest(source)[:n_tracks] if longest else None
    found = _Pass(source, n_tracks, ranked)
    for run, keep in source.whole_runs():
        if len(run):
            found.add(run, keep)
    return found.result()


def _longest(source: Source) -> I64:
    """Tracks with selected slices, those of the longest blocks first."""
    extents, has = Extents(len(source.tracks)), np.zeros(len(source.tracks), np.bool_)
    for run, keep in source.whole_runs():
        extents.add(run)
        has[run.track if keep is None else run.track[keep]] = True
    origin, active = origin_cyc(source), extents.is_active & source.kept_tracks
    begin, end = origin + extents.begin_cyc, origin + extents.end_cyc
    blocks = Places.of("block", source.tracks, active, begin, end)
    tracks = np.flatnonzero(has)
    order = np.lexsort((tracks, blocks.of_track[tracks], -blocks.dur_cyc[blocks.of_track[tracks]]))
    return tracks[order]


class _Pass:
    """Collects the segments of tracks as runs go by."""

    def __init__(self, source: Source, n_tracks: int, ranked: I64 | None) -> None:
        self._source, self._n_tracks, self._ranked = source, n_tracks, ranked
        self._is_shown = np.zeros(len(source.tracks), np.bool_)
        if ranked is not None:
            self._is_shown[ranked] = True
        self._extents = Extents(len(source.tracks))
        self._n_shown = self._n_found = 0
        self._parts: list[tuple[I32, I32, I64, I64, Bool]] = []

    def add(self, run: Slices, keep: Bool | None) -> None:
        """Take in a run, and which of its slices are selected."""
        with_slices = distinct(run.track if keep is None else run.track[keep])
        self._n_found += len(with_slices)
        if self._ranked is None:
            self._is_shown[with_slices[: self._n_tracks - self._n_shown]] = True
            self._n_shown += min(len(with_slices), self._n_tracks - self._n_shown)
        rows = self._is_shown[run.track]
        if not rows.any():
            return
        shown = run.where(rows)
        self._extents.add(shown)
        row, begin, end = _joined(*innermost(shown))
        kept = np.ones(len(row), np.bool_) if keep is None else keep[rows][row]
        self._parts.append((shown.track[row], shown.name[row], begin, end, kept))

    def result(self) -> Segments:
        """All of them."""
        source, extents = self._source, self._extents
        tracks = np.flatnonzero(self._is_shown) if self._ranked is None else self._ranked
        origin = origin_cyc(source)
        kinds = (np.int32, np.int32, np.int64, np.int64, np.bool_)
        columns: list[Any] = [
            np.concatenate([np.zeros(0, kind), *(part[i] for part in self._parts)])
            for i, kind in enumerate(kinds)
        ]
        track, name, begin, end, kept = columns
        row_of = np.zeros(len(source.tracks), np.int64)
        row_of[tracks] = np.arange(len(tracks))
        order = np.argsort(row_of[track], kind="stable")
        first, last = (origin + extents.begin_cyc)[tracks], (origin + extents.end_cyc)[tracks]
        return Segments(
            source,
            tracks,
            first,
            last,
            self._n_found - len(tracks),
            row_of[track][order],
            name[order],
            (origin[track] + begin)[order],
            (origin[track] + end)[order],
            kept[order],
            _window(source, first, last),
        )


def _joined(row: I64, begin: I64, end: I64) -> tuple[I64, I64, I64]:
    """Stretches of one slice that touch, put together."""
    starts = np.flatnonzero((np.diff(row, prepend=-1) != 0) | (begin != np.roll(end, 1)))
    return row[starts], begin[starts], end[np.append(starts, len(row))[1:] - 1]


def _window(source: Source, begin_cyc: I64, end_cyc: I64) -> tuple[int, int]:
    """The selected time in cycles; where an end of it is left open, that of the tracks."""
    begin, end = int(begin_cyc.min(initial=2**62)), int(end_cyc.max(initial=0))
    begin = min(begin, end)
    selection = getattr(source, "selection", None)
    windows = () if selection is None else selection.time_ns
    if windows:
        per_cyc = source.clock.ns_per_cyc
        first, last = min(first for first, _ in windows), max(last for _, last in windows)
        begin = math.floor(first / per_cyc) if math.isfinite(first) else begin
        end = math.ceil(last / per_cyc) if math.isfinite(last) else end
    return begin, max(begin, end)


def segments_table(found: Segments, unit: TimeUnit, roles: Mapping[int, str] | None = None) -> Table:
    """The segments of selected slices as rows, and the tracks in the facts."""
    source = found.source
    who = _who(found, roles or {})
    keep = found.kept
    row = found.row[keep]
    columns: dict[str, Values] = {
        name: values[row] if isinstance(values, np.ndarray) else [values[i] for i in row.tolist()]
        for name, values in who.items()
    }
    columns["region"] = [source.spec.name_of(i) for i in found.name[keep].tolist()]
    begin, end = found.begin_cyc[keep], found.end_cyc[keep]
    columns |= unit.named(begin=begin, end=end, dur=end - begin)
    window = unit.named(begin=found.window_cyc[0], end=found.window_cyc[1])
    times = unit.named(begin=found.track_begin_cyc, end=found.track_end_cyc)
    lost = {"lost_start": found.lost_start, "lost_end": found.lost_end}
    facts = {
        "unit": unit.suffix,
        "n_tracks": len(found.tracks),
        "n_tracks_more": found.n_more,
        **{name: value.item() for name, value in window.items()},
        "tracks": Table("tracks", {**who, **times, **lost}).rows(),
    }
    return Table("timeline", columns, facts)


def _who(found: Segments, roles: Mapping[int, str]) -> dict[str, Values]:
    """``(n_rows,)`` each: which tracks are shown, and where they ran."""
    source, tracks = found.source, found.tracks
    spec, units = source.spec, source.tracks.unit[tracks]
    blocks = source.tracks.block[tracks].tolist()
    return {
        "track": tracks,
        "sm": source.tracks.sm[tracks].astype(np.int64),
        "block": ["{},{},{}".format(*spec.block_xyz(block)) for block in blocks],
        "unit": units,
        "role": [role_of(spec, roles, unit) for unit in units.tolist()],
    }
