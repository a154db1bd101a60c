"""Statistics of slices: where the time of a launch goes.

All of them are exact: counted in whole cycles over all slices, and turned into nanoseconds in the
last step. Self times, occurrences and phases are those in the whole launch, also where only a part of
it is selected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.analyse.durations import Counts, Durations, Settled
from mgpu_trace.analyse.groups import FIRST, LAST, PHASES, STEADY, Groups, phases
from mgpu_trace.analyse.selftime import self_cyc
from mgpu_trace.analyse.source import Extents, Source, is_one_axis, origin_cyc, smallest_gap_cyc, whole_parts
from mgpu_trace.analyse.sums import Sums, added
from mgpu_trace.analyse.table import Table, Values
from mgpu_trace.analyse.units import Asked, TimeUnit, time_unit
from mgpu_trace.model import F64, I64, distinct, occurrence

PERCENTILES: Final = (50, 90, 99)
# The columns after the keys; times have their unit at the end of their names.
COLUMNS: Final = (
    *("count", "total", "self", "mean", "p50", "p90", "p99", "min", "max", "share", "self_share", "cv"),
    *("prologue_mean", "steady_mean", "epilogue_mean", "probe", "n_unclosed"),
)
# What is added up of each group and phase.
_COUNT, _TOTAL, _SELF, _UNCLOSED = range(4)
_SPLIT: Final = {PHASES[phase]: phase for phase in (FIRST, STEADY, LAST)}


@dataclass(frozen=True, slots=True)
class Gathered:
    """What one pass over a launch leaves behind.

    Attributes
    ----------
    groups
        The keys.
    codes
        ``(n_groups,)``, ascending.
    by_phase
        ``(4, n_groups, 4)``: count, cycles, self cycles and unclosed slices of each group and phase.
    counts
        How often each length occurs in each group, by its row in ``codes``.
    settled
        Groups that ``counts`` lacks, because they were over before the launch was; by row too.
    facts
        JSON-ready facts about the whole, in cycles.
    """

    groups: Groups
    codes: I64
    by_phase: I64
    counts: Counts
    settled: Settled
    facts: dict[str, Any]

    def described(self) -> F64:
        """``(6, n_groups)``: deviation, least, largest, and the percentiles of all lengths."""
        found = self.counts.described(len(self.codes), PERCENTILES)
        found[:, self.settled.group] = self.settled.described
        return found

    @property
    def by_self_time(self) -> I64:
        """The rows, the largest self time first."""
        return np.argsort(-self.by_phase[_SELF].sum(axis=1), kind="stable")


def stats(
    source: Source,
    *,
    by: Sequence[str] = ("region",),
    steady: bool = False,
    unit: Asked = "auto",
    roles: Mapping[int, str] | None = None,
) -> Table:
    """Statistics of the selected slices, one row for each group, the largest self time first.

    Parameters
    ----------
    source
        A Timeline or a Launch.
    by
        Keys of :data:`~mgpu_trace.analyse.groups.KEYS`.
    steady
        Whether to leave out the first and the last occurrence of each name in each track.
    unit
        ``"ns"``, ``"cyc"``, or ``"auto"``: nanoseconds where a rate is known.
    roles
        Names for units, such as ``{0: "tma"}``.

    Returns
    -------
    Table
        See docs/analysis.md for the columns.

    Raises
    ------
    ValueError
        For an unknown key.
    MgpuTraceError
        MGT640 for nanoseconds without a rate.
    """
    in_unit = time_unit(source.clock, unit)
    return table_of(gather(source, by=by, steady=steady, roles=roles), in_unit)


def gather(
    source: Source, *, by: Sequence[str], steady: bool = False, roles: Mapping[int, str] | None = None
) -> Gathered:
    """Read all runs of a launch once, and keep what the statistics need: memory by groups, not slices."""
    groups = Groups.of(by, source.spec, source.tracks, roles)
    sums, durations = Sums(_UNCLOSED), Durations(PERCENTILES)
    extents = Extents(len(source.tracks))
    in_regions = n_left_out = 0
    kept = source.kept_tracks
    watch = getattr(source, "watch_gap", None)
    if watch is not None:
        watch()
    for run, keep in whole_parts(source):
        extents.add(run)
        last = run.track[-1:]
        if groups.needs_index and run.index is None:
            run = with_index(run)
        own, phase = self_cyc(run), phases(run)
        code = groups.codes(run, phase)
        in_regions += int(own[kept[run.track]].sum()) if keep is not None else int(own.sum())
        if steady:
            is_steady = phase == STEADY
            n_left_out += int(np.count_nonzero(~is_steady if keep is None else keep & ~is_steady))
            keep = is_steady if keep is None else keep & is_steady
        dur, closed = run.dur_cyc, run.closed
        if keep is not None:
            code, own, phase, dur, closed = code[keep], own[keep], phase[keep], dur[keep], closed[keep]
        sums.add(_with_phase(code, phase), [dur, own, ~closed])
        # A block's groups are over with its last track; those of other keys mostly not before the launch is.
        is_over = partial(groups.is_over, track=int(last[-1])) if "block" in by and len(last) else None
        durations.add(code, dur, is_over)
    codes, by_phase = _split_phases(*sums.result())
    facts = _facts(source, extents, in_regions) | {"by": list(groups.keys), "steady": steady}
    facts |= {"n_slices": int(by_phase[_COUNT].sum()), "is_rounded": durations.is_rounded}
    if steady:
        facts["n_left_out"] = n_left_out
    counts, settled = durations.counts(), durations.settled()
    counts = Counts(np.searchsorted(codes, counts.group), counts.cyc, counts.n)
    settled = Settled(np.searchsorted(codes, settled.group), settled.described)
    return Gathered(groups, codes, by_phase, counts, settled, facts)


def with_index(run: Any) -> Any:
    """The same slices with the occurrence of each name in its track."""
    from dataclasses import replace

    return replace(run, index=occurrence(run.track, run.name))


def _with_phase(code: NDArray[Any], phase: NDArray[np.int8]) -> I64:
    found = code.astype(np.int64)
    found *= len(PHASES)
    found += phase
    return found


def _split_phases(codes: I64, sums: I64) -> tuple[I64, I64]:
    """Codes without the phase in them, and the sums with an axis for it."""
    code, phase = np.divmod(codes, len(PHASES))
    found = distinct(code)
    by_phase = np.zeros((len(sums), len(found), len(PHASES)), np.int64)
    by_phase[:, np.searchsorted(found, code), phase] = sums
    return found, by_phase


def _facts(source: Source, extents: Extents, in_regions_cyc: int) -> dict[str, Any]:
    """The times that shares are of, and the smallest gap, in cycles."""
    kept = extents.is_active & source.kept_tracks
    begin = origin_cyc(source)[kept] + extents.begin_cyc[kept]
    end = begin + extents.dur_cyc[kept]
    return {
        "n_tracks": int(np.count_nonzero(kept)),
        "launch_cyc": (int(end.max() - begin.min()) if len(end) else 0) if is_one_axis(source) else None,
        "tracks_cyc": int(extents.dur_cyc[kept].sum()),
        "in_regions_cyc": in_regions_cyc,
        "smallest_gap_cyc": smallest_gap_cyc(source),
    }


def table_of(gathered: Gathered, unit: TimeUnit) -> Table:
    """The statistics as a table in that unit."""
    by_phase, facts = gathered.by_phase, gathered.facts
    sums = added(by_phase, axis=2)
    n = len(gathered.codes)
    deviation, least, largest, *ranks = gathered.described()
    mean = _divided(sums[_TOTAL], sums[_COUNT])  # exact also where lengths had to be rounded
    columns: dict[str, Values] = {**gathered.groups.columns(gathered.codes), "count": sums[_COUNT]}
    columns |= unit.named(total=sums[_TOTAL], self=sums[_SELF], mean=mean)
    columns |= unit.named(**{f"p{p}": values for p, values in zip(PERCENTILES, ranks, strict=True)})
    columns |= unit.named(min=_whole(least), max=_whole(largest))
    tracks_cyc = np.full(n, facts["tracks_cyc"])
    columns["share"] = _divided(sums[_TOTAL], tracks_cyc)
    columns["self_share"] = _divided(sums[_SELF], tracks_cyc)
    columns["cv"] = np.divide(deviation, mean, out=np.full(n, np.nan), where=mean > 0)
    for name, phase in _SPLIT.items():
        part = _divided(by_phase[_TOTAL, :, phase], by_phase[_COUNT, :, phase])
        columns |= unit.named(**{f"{name}_mean": part})
    gap = facts["smallest_gap_cyc"]
    columns |= unit.named(probe=sums[_COUNT] * gap if gap is not None else np.full(n, np.nan))
    columns["n_unclosed"] = sums[_UNCLOSED]
    shown = {key: value for key, value in facts.items() if not key.endswith("_cyc")}
    times = {key[:-4]: value for key, value in facts.items() if key.endswith("_cyc")}
    gap_fact = {"smallest_gap_cyc": times.pop("smallest_gap")}
    known = {name: value for name, value in times.items() if value is not None}
    shown |= {f"{name}_{unit.suffix}": None for name in times}
    shown |= {name: value.item() for name, value in unit.named(**known).items()} | gap_fact
    found = Table("stats", columns, {"unit": unit.suffix, **shown})
    return found.take(_order(gathered, sums[_SELF]))


def _order(gathered: Gathered, own: I64) -> I64:
    """By self time; occurrences and phases of what is else the same stay together, in their order."""
    keys = gathered.groups.keys
    if not {"index", "phase"} & {*keys}:
        return np.argsort(-own, kind="stable")
    rest = [key for key in keys if key not in ("index", "phase")]
    columns = gathered.groups.columns(gathered.codes)
    whole: dict[tuple[Any, ...], int] = {}
    of = list(zip(*(columns[key] for key in rest), strict=True)) if rest else [()] * len(own)
    for place, cyc in zip(of, own.tolist(), strict=True):
        whole[place] = whole.get(place, 0) + cyc
    rank = {place: i for i, place in enumerate(sorted(whole, key=lambda place: -whole[place]))}
    # Within one place the codes are in the order of occurrence, then phase.
    return np.argsort(np.array([rank[place] for place in of], np.int64), kind="stable")


def _divided(a: I64, b: I64) -> F64:
    """``a / b``, NaN where there is nothing to divide by."""
    found: F64 = np.divide(a, b, out=np.full(len(a), np.nan), where=b > 0)
    return found


def _whole(values: F64) -> Any:
    """As integers, where there is no group without a value."""
    return values.astype(np.int64) if np.isfinite(values).all() else values
