"""Who was where and when, for the balance of a launch: one pass, whose memory is by tracks and cells.

A block *stays* on its SM from the first enter to the last exit of its tracks; an SM is *busy* while a block
stays there. That needs no more than two times of each track. What the tracks did meanwhile, in regions or
not, is the *activity*, which is added up as the runs go by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace.analyse.places import Places
from mgpu_trace.analyse.raster import Cells, Raster, in_regions
from mgpu_trace.analyse.source import Extents, Source, origin_cyc
from mgpu_trace.analyse.stays import PerSm, per_sm
from mgpu_trace.analyse.sums import exact_sums
from mgpu_trace.model import I64, Bool, TrackFlag, distinct

N_ROWS, N_COLUMNS = 64, 100
# Events of these tracks are missing, so that they began earlier or ended later than can be seen.
_CUT: Final = (
    TrackFlag.OVERFULL | TrackFlag.OVERWRITTEN | TrackFlag.BROKEN | TrackFlag.TRUNCATED | TrackFlag.UNREADABLE
)


@dataclass(frozen=True, slots=True)
class Weighed:
    """What one pass over a launch leaves behind; times in cycles since the launch's first event.

    Attributes
    ----------
    source
        The launch.
    stays
        The blocks where they were, and from when to when.
    sms
        What follows for each SM.
    active_cyc
        ``(n_sms,)`` time in (selected) regions, summed over the tracks of each SM.
    cells
        The same by time as well.
    n_blocks_cut, n_blocks_silent
        Kept blocks that lost events, and those without any slice.
    """

    source: Source
    stays: Places
    sms: PerSm
    active_cyc: I64
    cells: Cells
    n_blocks_cut: int
    n_blocks_silent: int


def activity_cells(source: Source, *, n_rows: int = N_ROWS, n_columns: int = N_COLUMNS) -> Cells:
    """How many tracks were in regions, by SM and time, in at most so many rows and columns."""
    return weigh(source, n_rows, n_columns).cells


def weigh(source: Source, n_rows: int = N_ROWS, n_columns: int = N_COLUMNS) -> Weighed:
    """Read all runs of a launch once; memory by tracks and cells, not by slices."""
    tracks, kept, origin = source.tracks, source.kept_tracks, origin_cyc(source)
    extents, sm = Extents(len(tracks)), tracks.sm.astype(np.int64)
    shows = kept & tracks.has_events
    zero = int(origin[shows].min()) if shows.any() else 0
    raster = Raster(sm, shows, zero, n_rows, n_columns)
    of_track = np.zeros(len(tracks), np.int64)
    for run, keep in source.whole_runs():
        if len(run):
            extents.add(run)
            track, begin, end = in_regions(run, keep)
            raster.add(track, origin[track] + begin, origin[track] + end)
            first, last = int(run.track[0]), int(run.track[-1])
            of_track[first : last + 1] += exact_sums(track - first, end - begin, last - first + 1)
    active = extents.is_active & kept
    stays = Places.of("block", tracks, active, origin + extents.begin_cyc, origin + extents.end_cyc)
    sms = per_sm(stays)
    place = np.searchsorted(sms.sm, sm[active])
    return Weighed(
        source,
        stays,
        sms,
        active_cyc=exact_sums(place, of_track[active], len(sms)),
        cells=raster.cells(*sms.span()),
        n_blocks_cut=_n_blocks(source, kept & (tracks.flags & _CUT != 0)),
        n_blocks_silent=_n_blocks(source, kept) - len(distinct(stays.block)),
    )


def _n_blocks(source: Source, which: Bool) -> int:
    """How many blocks have such a track."""
    return len(distinct(source.tracks.block[which]))
