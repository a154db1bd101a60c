"""Where the time goes: the statistics of the regions, and how their durations are distributed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mgpu_trace.analyse.stats import Gathered, gather, table_of
from mgpu_trace.analyse.table import Table
from mgpu_trace.analyse.units import TimeUnit
from mgpu_trace.report.durations import durations_figure
from mgpu_trace.report.facts import Reported
from mgpu_trace.report.markup import Markup, tag
from mgpu_trace.report.page import Section
from mgpu_trace.report.plots import Figure, duration
from mgpu_trace.report.tables import table

_COLUMNS: Final = (
    "region", "self_share", "share", "count", "self", "total", "mean", "p50", "p90", "p99", "min", "max",
    "cv", "prologue_mean", "steady_mean", "epilogue_mean", "probe", "n_unclosed",
)  # fmt: skip
_BARS: Final = ("self_share", "share")
_ROUNDED: Final = (
    "There were too many different durations to keep: percentiles are right to one part in 2048."
)


def spent(source: Reported, unit: TimeUnit, roles: Mapping[int, str] | None) -> tuple[Table, Section]:
    """The statistics by region, and the section about them; a pass over the launch, another for roles."""
    gathered = gather(source, by=("region",))
    stats = table_of(gathered, unit)
    parts = _parts(gathered, stats, unit)
    if roles and len(stats):
        by_role = table_of(gather(source, by=("role",), roles=roles), unit)
        parts.append(table(by_role, "The same by role.", ("role", *_COLUMNS[1:]), key="roles", bars=_BARS))
    return stats, Section("time", "Where the time goes", parts)


def _parts(gathered: Gathered, stats: Table, unit: TimeUnit) -> list[Markup | Figure]:
    if not len(stats):
        return [tag("p", "There are no slices.")]
    n_tracks = stats.facts["n_tracks"]
    whole = duration(stats.facts[f"tracks_{unit.suffix}"], unit.suffix)
    of = f"{n_tracks} tracks" if n_tracks != 1 else "the one track"
    caption = f"Regions, the largest self time first. Shares are of the time of {of}: {whole}."
    parts: list[Markup | Figure] = [table(stats, caption, _COLUMNS, bars=_BARS)]
    if stats.facts["is_rounded"]:
        parts.append(tag("p", _ROUNDED, class_="muted"))
    return [*parts, durations_figure(gathered, gathered.by_self_time.tolist(), unit)]
