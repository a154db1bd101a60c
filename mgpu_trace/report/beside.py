"""What ran beside what: the overlap of regions, how long roles worked and waited, and the longest bubbles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from mgpu_trace.analyse.activity import Activity, activity_of
from mgpu_trace.analyse.bubbles import bubbles_of
from mgpu_trace.analyse.overlap import overlap_of
from mgpu_trace.analyse.table import Table
from mgpu_trace.analyse.tracktimes import track_times_of
from mgpu_trace.analyse.units import TimeUnit
from mgpu_trace.report.facts import Reported
from mgpu_trace.report.markup import Markup, tag
from mgpu_trace.report.page import Section
from mgpu_trace.report.plots import Figure, duration, labels, rounded, said
from mgpu_trace.report.tables import table

# Beyond so many slices this part is left out: it keeps all of them in memory.
MAX_SLICES: Final = 20_000_000
MAX_REGIONS: Final = 16
_BUBBLES: Final = 10
_CELL_PX: Final = 28
# Up to so many regions there is room for a number in each cell.
_WRITTEN: Final = 10
# Characters of a name under the pointer: each stands in the page as often as there are regions.
_NAME: Final = 40
_SHARES: Final = ("busy_share", "waiting_share", "idle_share")


def beside(source: Reported, n_slices: int, unit: TimeUnit, roles: Mapping[int, str] | None) -> Section:
    """The section; one pass over the launch."""
    if not n_slices:
        parts: list[Markup | Figure] = [tag("p", "There are no slices.")]
    elif n_slices > MAX_SLICES:
        parts = [tag("p", f"Left out: {n_slices:,} slices are too many. A part can be asked for (--select).")]
    else:
        parts = _parts(activity_of(source), unit, roles)
    return Section("overlap", "What ran beside what", parts)


def _parts(activity: Activity, unit: TimeUnit, roles: Mapping[int, str] | None) -> list[Markup | Figure]:
    pairs = overlap_of(activity, by="region", on="block", top=MAX_REGIONS, unit=unit, roles=roles)
    times = track_times_of(activity, per="role", unit=unit, roles=roles)
    gaps = bubbles_of(activity, on="block", n=_BUBBLES, unit=unit, roles=roles)
    waiting = ", ".join(activity.waiting) or "none"
    parts: list[Markup | Figure] = [
        table(times, f"What each role did while its blocks ran; waiting regions: {waiting}.", bars=_SHARES)
    ]
    if len(pairs):
        order = np.argsort(-np.asarray(pairs[f"overlap_{unit.suffix}"]), kind="stable")
        as_table = table(pairs.take(order), "The same as a table, the longest overlap first.")
        parts += [matrix_figure(pairs), tag("details", tag("summary", "The matrix as a table"), as_table)]
    return [*parts, *_bubbles(gaps, unit)]


def _bubbles(gaps: Table, unit: TimeUnit) -> list[Markup]:
    n = gaps.facts["n_bubbles"]
    if not n:
        return [tag("p", "There is no bubble: some track of each block was busy all the time.")]
    lost = duration(gaps.facts[f"bubbles_{unit.suffix}"], unit.suffix)
    of = duration(gaps.facts[f"places_{unit.suffix}"], unit.suffix)
    caption = (
        f"Bubbles, in which no track of a block was busy: {n:,}, in all {lost} of the blocks' {of}. "
        f"The longest {len(gaps)}."
    )
    return [table(gaps, caption)]


def matrix_figure(pairs: Table) -> Figure:
    """Region by region: the share of the row's time in which the column ran in another track of the block."""
    a, b = ([str(name) for name in pairs[column]] for column in ("a", "b"))
    n_columns = pairs.facts["n_b"]  # not by their names: two ids can have the same one
    names, others = a[::n_columns], b[:n_columns]
    n = len(names)
    share = np.asarray(pairs["share"], np.float64).reshape(n, n_columns)
    data: dict[str, Any] = {
        "type": "heatmap",
        "z": [rounded(row, 4) for row in share],
        "zmin": 0,
        "zmax": max(1.0, float(np.nanmax(share))),
        "colorscale": [[0, "theme:low"], [0.5, "theme:mid"], [1, "theme:high"]],
        "colorbar": {"tickformat": ".0%", "thickness": 12, "outlinewidth": 0},
        "xgap": 1,
        "ygap": 1,
        "customdata": [[[said(name, _NAME), said(other, _NAME)] for other in others] for name in names],
        "hovertemplate": (
            "%{customdata[1]} ran in another track of the block<br>"
            "for %{z:.1%} of the time of %{customdata[0]}<extra></extra>"
        ),
    }
    if n <= _WRITTEN:
        data["texttemplate"] = "%{z:.0%}"
    left_out = pairs.facts["n_left_out"]
    more = f" The {n} regions with most time; {left_out} more are left out." if left_out else ""
    caption = (
        "How much of the time of the region at the left the region below ran in another track of the same "
        f"block.{more}"
    )
    layout = {
        "height": 190 + _CELL_PX * n,
        "xaxis": {**labels(others), "tickangle": -40, "automargin": True, "showgrid": False},
        "yaxis": {**labels(names), "autorange": "reversed", "automargin": True, "showgrid": False},
    }
    return Figure("overlap", "Overlap of regions", caption, [data], layout)
