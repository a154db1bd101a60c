"""Which SM worked when, and which was late: a picture of the launch by SM and time, and its balance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from mgpu_trace.analyse.balance import STRAGGLER, balance_table
from mgpu_trace.analyse.raster import Cells
from mgpu_trace.analyse.table import Table
from mgpu_trace.analyse.units import TimeUnit
from mgpu_trace.analyse.weigh import weigh
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.report.facts import Reported
from mgpu_trace.report.markup import Markup, tag
from mgpu_trace.report.page import Section
from mgpu_trace.report.plots import Figure, duration, on_axis, rounded, time_axis
from mgpu_trace.report.tables import listed, table

# Cells of the picture: as many rows as the largest parts have SMs; more than a screen shows in width.
N_ROWS, N_COLUMNS = 160, 320
MAX_SMS: Final = 200
_LISTED: Final = 20


def balanced(source: Reported, unit: TimeUnit) -> Section:
    """The section; one pass over the launch."""
    found = weigh(source, N_ROWS, N_COLUMNS)
    answer = balance_table(found, STRAGGLER, unit)
    return Section("balance", "Which SM worked when", _parts(answer, found.cells, unit))


def _parts(answer: Table, cells: Cells, unit: TimeUnit) -> list[Markup | Figure]:
    if not len(answer):
        return [tag("p", "There are no slices.")]
    parts: list[Markup | Figure] = [tag("p", _in_short(answer.facts, unit.suffix))]
    parts += [
        activity_figure(cells, unit),
        balance_figure(answer, unit.suffix),
        table(answer, "SM by SM.", bars=("busy_share",)),
    ]
    late = answer.facts["stragglers"]
    if late:
        n, shown = answer.facts["n_stragglers"], late[:_LISTED]
        said = f"Stragglers, which stay longer than {STRAGGLER:g} times the median block: {n:,}."
        parts.append(listed(shown, list(shown[0]), f"{said} The longest {len(shown)}.", "stragglers"))
    return parts


def _in_short(facts: Mapping[str, Any], suffix: str) -> str:
    skew, tail = (duration(facts[f"{what}_{suffix}"], suffix) for what in ("skew", "tail"))
    known = "" if facts["skew_is_known"] is not False else ", which is no more than how well SMs are placed"
    blocks, sms = counted(facts["n_blocks"], "block"), counted(facts["n_sms"], "SM")
    sentences = [
        f"{blocks} on {sms}, at most {facts['resident']} at once on one: {facts['waves']:.3g} waves.",
        f"The last SM began {skew} after the first{known}; the first one ended {tail} before the launch did.",
    ]
    if facts["tail_share"] is not None:
        sentences.append(
            f"Of the SMs' time {facts['idle_share']:.1%} is without a block; "
            f"{facts['tail_share']:.1%} is after an SM's last one."
        )
    unsure = (
        (facts["n_blocks_silent"], "without a slice"),
        (facts["n_blocks_cut"], "that lost events and may have been there for longer"),
    )
    sentences += [f"There are {n:,} blocks {what}." for n, what in unsure if n]
    return " ".join(sentences)


def activity_figure(cells: Cells, unit: TimeUnit) -> Figure:
    """How many tracks of each SM were in regions when, as a heat map."""
    ids = zip(cells.first_sm.tolist(), cells.last_sm.tolist(), strict=True)
    names = [f"SM {first}" if first == last else f"SM {first} to {last}" for first, last in ids]
    active = cells.active
    data = {
        "type": "heatmap",
        "x": on_axis(unit.of(cells.edge_cyc), unit.suffix),
        "y": names,
        "z": [rounded(row, 3) for row in active],
        "zmin": 0,
        "zmax": max(1.0, float(active.max(initial=0.0))),
        "colorscale": [[0, "theme:low"], [0.5, "theme:mid"], [1, "theme:high"]],
        "colorbar": {"title": {"text": "tracks", "side": "right"}, "thickness": 12, "outlinewidth": 0},
        "hovertemplate": "%{y}, %{x}: %{z:.3~g} tracks in regions<extra></extra>",
    }
    several = "" if (cells.n_sms == 1).all() else " A row is several SMs, and the mean of them."
    caption = f"Tracks that were in a region, by SM and time since the launch's first event.{several}"
    layout = {
        "height": 190 + min(max(5 * len(names), 160), 560),
        "xaxis": time_axis(unit.suffix, "time", showgrid=False),
        "yaxis": {"type": "category", "autorange": "reversed", "automargin": True, "showgrid": False},
    }
    return Figure("activity", "Activity by SM and time", caption, [data], layout)


def balance_figure(answer: Table, suffix: str) -> Figure:
    """What each SM's time was: with a block, without one, and after its last."""
    shown = answer.take(np.arange(min(len(answer), MAX_SMS)))
    busy, idle, tail = (
        np.asarray(shown[f"{name}_{suffix}"], np.float64) for name in ("busy", "idle", "tail")
    )
    names = [f"SM {sm}" for sm in np.asarray(shown["sm"]).tolist()]
    parts = (
        ("with a block", busy, "accent"),
        ("without a block", idle - tail, "idle"),
        ("after its last block", tail, "worse"),
    )
    data = [
        {
            "type": "bar",
            "name": name,
            "x": names,
            "y": on_axis(values, suffix),
            "marker": {"color": f"theme:{colour}"},
            "customdata": [duration(value, suffix) for value in values.tolist()],
            "hovertemplate": f"%{{x}}: %{{customdata}} {name}<extra></extra>",
        }
        for name, values, colour in parts
    ]
    more = "" if len(shown) == len(answer) else f" The first {len(shown)} of {len(answer)} SMs."
    layout = {
        "height": 340,
        "barmode": "stack",
        "bargap": 0.15,
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "xaxis": {"type": "category", "automargin": True},
        "yaxis": time_axis(suffix, "time", fixedrange=True),
    }
    caption = f"Each SM's part of the launch.{more}"
    return Figure("balance", "Balance of the SMs", caption, data, layout)
