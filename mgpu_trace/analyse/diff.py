"""Did a change help, and by how much is that noise: two sides of launches, region by region.

Changes are relative, new by old. Their intervals come from what differs between units of one side
(:mod:`~mgpu_trace.analyse.bootstrap`): launches, where there are several; else the blocks of the one
launch. Blocks of the same index of equal grids do the same work, and are resampled together. What
differs between launches (their clocks, what else ran) cannot be seen in one launch a side; it is then
not in the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mgpu_trace.analyse.bootstrap import Draws
from mgpu_trace.analyse.diff_changes import compare
from mgpu_trace.analyse.diff_samples import Level, Sample, level_of, sample
from mgpu_trace.analyse.diff_sides import match, side_of
from mgpu_trace.analyse.diff_table import table_of
from mgpu_trace.analyse.source import Source
from mgpu_trace.analyse.table import Table
from mgpu_trace.analyse.units import Asked, TimeUnit, time_unit
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.diagnostics.clip import clipped

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2000
SEED: Final = 0
_NAMES_SAID: Final = 3
_MANY_REGIONS: Final = 500
_LEAST_RESAMPLES: Final = 100


def diff(
    old: Source | Sequence[Source],
    new: Source | Sequence[Source],
    *,
    unit: Asked = "auto",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Table:
    """Compare launches: by region the change of mean, median and total, and what of it may be noise.

    Parameters
    ----------
    old, new
        A Timeline or a Launch, or several of one kernel. Each is read once, in order.
    unit
        ``"ns"``, ``"cyc"``, or ``"auto"``: nanoseconds where the rates are known.
    confidence
        What each interval covers with, between 0 and 1.
    resamples, seed
        How many resamples are drawn, and from what; the same seed gives the same answer. With more than
        500 regions there are as many times fewer, but 100.

    Returns
    -------
    Table
        The launch, its tracks, and the regions, the largest growth first. See docs/analysis.md for the
        columns; :func:`~mgpu_trace.analyse.diff_findings.findings` says what to heed.

    Raises
    ------
    MgpuTraceError
        MGT650 where some launches have a rate and others none, MGT640 for nanoseconds without any,
        MGT651 where the sides share no region.
    """
    if not 0 < confidence < 1 or resamples < 1:
        raise ValueError("confidence must lie between 0 and 1, and resamples be positive")
    sides = [_launches(old), _launches(new)]
    samples, units = _samples(sides, unit)
    _refuse_strangers(samples)
    regions = match(*samples)
    was, now = (
        side_of(side, regions, [u.per_cyc for u in of]) for side, of in zip(samples, units, strict=True)
    )
    first, second = samples[0][0], samples[1][0]
    draws = Draws(
        n_old=len(was.is_present),
        n_new=len(now.is_present),
        is_paired=first.level != "launch" and first.shape == second.shape,
        n=_affordable(resamples, len(regions) - 1),  # the first is the tracks
        seed=seed,
    )
    return table_of(compare(was, now, draws, confidence), regions, units[0][0].suffix)


def _affordable(resamples: int, n_regions: int) -> int:
    """Fewer resamples where there are so many regions that most can only be garbage."""
    if n_regions <= _MANY_REGIONS:
        return resamples
    return min(resamples, max(_LEAST_RESAMPLES, resamples * _MANY_REGIONS // n_regions))


def _launches(side: Source | Sequence[Source]) -> Sequence[Source]:
    return side if isinstance(side, Sequence) else [side]


def _samples(
    sides: Sequence[Sequence[Source]], asked: Asked
) -> tuple[list[list[Sample]], list[list[TimeUnit]]]:
    """Read the launches, one after the other, and say in what unit; a launch is not kept."""
    if not all(len(side) for side in sides):
        raise ValueError("each side needs a launch")
    level: Level = "launch"
    if all(len(side) == 1 for side in sides):
        sides = [list(side) for side in sides]  # looked at twice
        level = level_of(sides[0][0], sides[1][0])
    samples: list[list[Sample]] = [[], []]
    units: list[list[TimeUnit]] = [[], []]
    seen: dict[bool, str] = {}
    for side, found, of in zip(sides, samples, units, strict=True):
        for source in side:
            if asked != "cyc":
                _refuse_mixture(source, seen)
            of.append(time_unit(source.clock, asked))
            found.append(sample(source, level))
    return samples, units


def _refuse_mixture(source: Source, seen: dict[bool, str]) -> None:
    """MGT650: cycles are no nanoseconds. ``seen`` has a launch with a rate, and one without."""
    seen.setdefault(
        source.clock.rate_mhz is not None, getattr(source, "source", None) or "a launch in memory"
    )
    if len(seen) > 1:
        message = f"the SM clock's rate is known for {clipped(seen[True])} and not for {clipped(seen[False])}"
        hint = "compare cycles (--unit cyc), or give --sm-clock-mhz"
        raise MgpuTraceError(Diagnostic(catalogue.UNITS_DIFFER, message, hint=hint))


def _refuse_strangers(samples: Sequence[Sequence[Sample]]) -> None:
    """MGT651: nothing is on both sides."""
    names = [{name for s in side for name in s.regions} for side in samples]
    if names[0] & names[1]:
        return
    for which, side in zip(("old", "new"), names, strict=True):
        if not side:
            message, hint = f"there are no slices on the {which} side", "mgpu-trace validate says why"
            raise MgpuTraceError(Diagnostic(catalogue.NO_COMMON_REGION, message, hint=hint))
    has = [", ".join(map(clipped, sorted(side)[:_NAMES_SAID])) for side in names]
    message = f"no region is on both sides: old has {has[0]}, new {has[1]}"
    hint = "give both the same --names if only those differ"
    raise MgpuTraceError(Diagnostic(catalogue.NO_COMMON_REGION, message, hint=hint))
