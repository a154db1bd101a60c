"""The durations of each region as one row of a plot, binned: a picture of any number of slices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from mgpu_trace.analyse.stats import Gathered
from mgpu_trace.analyse.units import TimeUnit
from mgpu_trace.model import F64, I64
from mgpu_trace.report.plots import Figure, duration, labels, log_time_axis, on_axis, said

MAX_REGIONS: Final = 24
MAX_BINS: Final = 64
_MARKED: Final = (50, 99)
_HEIGHT: Final = 0.88  # of the space between two rows
_ROW_PX: Final = 44
# A duration of 0 cycles has no place on a logarithmic axis: it is shown where half a cycle is.
_NOTHING_CYC: Final = 0.5


def log_edges(least: int, largest: int, n_slices: int) -> I64:
    """``(n_bins + 1,)`` edges in whole cycles, each bin as much longer than the one before.

    A bin holds ``from <= duration < to``. As many as Rice's rule says, and at most :data:`MAX_BINS`.
    """
    n = min(MAX_BINS, math.ceil(2 * n_slices ** (1 / 3)), largest - least + 1)
    grown = np.rint(np.geomspace(max(least, 1), largest + 1, n + 1)).astype(np.int64)
    grown[0] = least
    return np.unique(grown)


def binned(cyc: I64, n: I64) -> tuple[I64, I64]:
    """Edges, and the slices in each bin, of one region's lengths."""
    edges = log_edges(int(cyc[0]), int(cyc[-1]), int(n.sum()))
    found = np.zeros(len(edges) - 1, np.int64)
    np.add.at(found, np.searchsorted(edges, cyc, side="right") - 1, n)
    return edges, found


def durations_figure(gathered: Gathered, order: Sequence[int], unit: TimeUnit) -> Figure:
    """The regions of ``order`` (rows of ``gathered``), the first at the top."""
    rows = list(order)[:MAX_REGIONS]
    names = [str(name) for name in gathered.groups.columns(gathered.codes[rows])["region"]]
    ranks = [at[rows] for at in gathered.counts.percentiles(len(gathered.codes), *_MARKED)]
    ridges = [
        _ridge(name, len(rows) - 1 - i, *binned(*gathered.counts.of_group(row)), unit)
        for i, (row, name) in enumerate(zip(rows, names, strict=True))
    ]
    marks = [_marks(p, at, names, unit) for p, at in zip(_MARKED, ranks, strict=True)]
    shown = (
        "" if len(rows) == len(order) else f" The {len(rows)} regions with most self time of {len(order)}."
    )
    caption = (
        "One row for each region, by duration on a logarithmic axis. The height is how many slices there are "
        f"at that duration, against the region's own peak; the marks are p50 and p99.{shown}"
    )
    layout = {
        "height": 110 + _ROW_PX * len(rows),
        "hovermode": "closest",
        "showlegend": False,
        "xaxis": log_time_axis(unit.suffix, "duration"),
        "yaxis": {**labels(names[::-1]), "automargin": True, "range": [-0.2, len(rows)], "fixedrange": True},
    }
    return Figure("durations", "Durations by region", caption, [*ridges, *marks], layout)


def _ridge(name: str, base: int, edges: I64, n: I64, unit: TimeUnit) -> dict[str, Any]:
    place: F64 = np.maximum(edges.astype(np.float64), _NOTHING_CYC)
    density = n / np.diff(np.log(place))
    top = base + _HEIGHT * density / density.max()
    # Each bin is a step: up at its first edge, down at its last; then back along the base.
    x = on_axis(unit.of(np.repeat(place, 2)), unit.suffix)
    y = [base, *np.repeat(np.round(top, 4), 2).tolist(), base]
    times = [duration(float(value), unit.suffix) for value in unit.of(edges).tolist()]
    total = int(n.sum())
    told = [
        f"{times[i]} to {times[i + 1]}: {count} of {total} slices ({100 * count / total:.3g}%)"
        for i, count in enumerate(n.tolist())
    ]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "fill": "toself",
        "line": {"color": "theme:accent", "width": 1},
        "fillcolor": "theme:fill",
        "hoveron": "points",
        "customdata": [told[0], *np.repeat(np.array(told, object), 2).tolist(), told[-1]],
        # Not in the template itself, where %{...} would be read.
        "meta": [said(name)],
        "hovertemplate": "%{meta[0]}<br>%{customdata}<extra></extra>",
    }


def _marks(per_cent: int, at: F64, names: Sequence[str], unit: TimeUnit) -> dict[str, Any]:
    times = unit.of(at)
    said_times = [duration(float(value), unit.suffix) for value in times.tolist()]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": on_axis(np.maximum(times, unit.of(_NOTHING_CYC)), unit.suffix),
        "y": [len(names) - 1 - i + 0.1 for i in range(len(names))],
        "marker": {
            "symbol": "line-ns-open" if per_cent == 99 else "diamond",
            "size": 9,
            "color": "theme:ink",
        },
        "customdata": [f"{said(name)}: {time}" for name, time in zip(names, said_times, strict=True)],
        "hovertemplate": f"p{per_cent} of %{{customdata}}<extra></extra>",
    }
