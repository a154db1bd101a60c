"""What a comparison keeps of a launch: counts and cycles of each region in each unit that is resampled.

The time of a whole track, from its first enter to its last exit, is kept as one more region.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from mgpu_trace.analyse.durations import Counts, Durations
from mgpu_trace.analyse.selftime import self_cyc
from mgpu_trace.analyse.source import Extents, Source, is_one_axis, origin_cyc
from mgpu_trace.analyse.sums import Sums
from mgpu_trace.model import F64, I32, I64, Bool

Level = Literal["launch", "block", "track"]

TRACK: Final = "(track)"
LAUNCH: Final = "(launch)"
# Blocks beyond are put together with their neighbours: a resample costs as much as there are units.
MAX_UNITS: Final = 1024
_MIN_BLOCKS: Final = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """One launch: rows of region and unit, by region; ``(n_rows,)`` each.

    Attributes
    ----------
    level
        What a unit is.
    names
        Regions in the order of their first rows; the first is :data:`TRACK`, where there is any track.
    region, unit
        Index into ``names``, and the unit.
    count, total_cyc, self_cyc
        Slices, their cycles, and those without the regions inside them.
    lengths
        How often each length occurs in each row.
    is_active
        ``(n_units,)`` which units have a track with slices.
    launch_cyc
        From the first enter to the last exit; NaN where times of different SMs cannot be compared.
    table
        The table of names, empty where there is none.
    about
        JSON-ready: what launch it is, for the findings and the answer.
    is_rounded
        Whether ``lengths`` are.
    """

    level: Level
    names: tuple[str, ...]
    region: I64
    unit: I64
    count: I64
    total_cyc: I64
    self_cyc: I64
    lengths: Counts
    is_active: Bool
    launch_cyc: float
    table: tuple[str, ...]
    about: dict[str, Any]
    is_rounded: bool

    @property
    def regions(self) -> tuple[str, ...]:
        """The names but for the tracks' own."""
        return self.names[1:]

    @property
    def shape(self) -> tuple[Any, ...]:
        """What launches of equal work have in common."""
        return (tuple(self.about["grid"]), tuple(self.about["block"]), self.about["scope"])

    def p50_cyc(self) -> F64:
        """``(n_rows,)``."""
        return self.lengths.percentiles(len(self.region), 50)[0]


def level_of(old: Source, new: Source) -> Level:
    """What is resampled of two launches: blocks, or tracks where there are not even three blocks."""
    n = [len(np.unique(s.tracks.block[s.tracks.has_events & s.kept_tracks])) for s in (old, new)]
    return "block" if min(n) >= _MIN_BLOCKS else "track"


def units_of(source: Source, level: Level) -> tuple[I64, int]:
    """The unit of each track ``(n_tracks,)``, and how many units there are."""
    if level == "launch":
        return np.zeros(len(source.tracks), np.int64), 1
    unit = source.tracks.block if level == "block" else np.arange(len(source.tracks))
    n = int(unit[-1]) + 1 if len(unit) else 0
    return (unit, n) if n <= MAX_UNITS else (unit * MAX_UNITS // n, MAX_UNITS)


def sample(source: Source, level: Level) -> Sample:
    """Read a launch once; memory by regions and units, and by different lengths up to a bound."""
    unit, n_units = units_of(source, level)
    sums, durations, extents = Sums(2), Durations(), Extents(len(source.tracks))
    first_id = _first_id(source.spec.names or ())
    for run, keep in source.whole_runs():
        extents.add(run)
        own = self_cyc(run)
        # 0 is the track's own; a name's id comes after it.
        code = (first_id(run.name) + 1) * n_units + unit[run.track]
        dur = run.dur_cyc
        if keep is not None:
            code, own, dur = code[keep], own[keep], dur[keep]
        sums.add(code, [dur, own])
        durations.add(code, dur)
    kept = np.flatnonzero(extents.is_active & source.kept_tracks)
    sums.add(unit[kept], [extents.dur_cyc[kept], np.zeros(len(kept), np.int64)])
    durations.add(unit[kept], extents.dur_cyc[kept])
    codes, (count, total, own) = sums.result()
    lengths = durations.counts()
    ids, region = np.unique(codes // n_units if n_units else codes, return_inverse=True)
    active = np.zeros(n_units, np.bool_)
    active[unit[kept]] = True
    return Sample(
        level=level,
        names=tuple(source.spec.name_of(i - 1) if i else TRACK for i in ids.tolist()),
        region=region.reshape(-1).astype(np.int64),
        unit=codes % max(n_units, 1),
        count=count,
        total_cyc=total,
        self_cyc=own,
        lengths=Counts(np.searchsorted(codes, lengths.group), lengths.cyc, lengths.n),
        is_active=active,
        launch_cyc=_launch_cyc(source, extents, kept),
        table=source.spec.names or (),
        about=_about(source, len(kept)),
        is_rounded=durations.is_rounded,
    )


def _first_id(names: tuple[str, ...]) -> Callable[[I32], I64]:
    """What turns a name's id into the first that the table has for it: regions of one name are one."""
    first: dict[str, int] = {}
    table = np.array([first.setdefault(name, i) for i, name in enumerate(names)], np.int64)

    def of(name_id: I32) -> I64:
        found = name_id.astype(np.int64)
        if len(first) < len(table):
            known = found < len(table)
            found[known] = table[found[known]]
        return found

    return of


def _launch_cyc(source: Source, extents: Extents, kept: I64) -> float:
    if not is_one_axis(source):
        return math.nan
    begin = origin_cyc(source)[kept] + extents.begin_cyc[kept]
    return float((begin + extents.dur_cyc[kept]).max() - begin.min()) if len(kept) else 0.0


def _about(source: Source, n_tracks: int) -> dict[str, Any]:
    spec = source.spec
    return {
        "file": getattr(source, "source", None),
        "kernel": spec.kernel,
        "device": spec.device,
        "grid": list(spec.grid),
        "block": list(spec.block),
        "scope": spec.scope.label,
        "n_tracks": n_tracks,
        "clock": source.clock.to_dict(),
    }
