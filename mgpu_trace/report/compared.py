"""What changed since another launch, and what of it is noise: the first thing on a page about two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mgpu_trace.analyse.diff import diff
from mgpu_trace.analyse.diff_findings import findings
from mgpu_trace.analyse.table import Table
from mgpu_trace.analyse.units import Asked
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError
from mgpu_trace.report.facts import Reported
from mgpu_trace.report.markup import Markup, tag
from mgpu_trace.report.page import Section
from mgpu_trace.report.plots import Figure, duration, labels, said
from mgpu_trace.report.tables import table

MAX_REGIONS: Final = 24
_ROW_PX: Final = 30
_COLUMNS: Final = (
    "region", "verdict", "mean_change", "mean_low", "mean_high", "effect", "mean_old", "mean_new",
    "p50_old", "p50_new", "p50_change", "total_old", "total_new", "total_change", "total_verdict",
    "count_old", "count_new", "status",
)  # fmt: skip
# Of a change, by its verdict: colour, and what a person calls it.
_KINDS: Final = {
    "slower": ("worse", "slower, beyond the noise"),
    "faster": ("better", "faster, beyond the noise"),
    None: ("quiet", "noise, or not known to be more"),
}


def compared(source: Reported, before: Reported, unit: Asked) -> tuple[Section, list[Diagnostic]]:
    """The section, and what is to be heeded; where the two cannot be compared, why."""
    try:
        answer = diff(before, source, unit=unit)
    except MgpuTraceError as error:
        sentence = tag("p", f"The two cannot be compared: {error.diagnostic.message}.", class_="worse")
        return Section("diff", "What changed", [sentence]), [error.diagnostic]
    parts = [tag("p", _in_short(answer)), *_answer(answer)]
    return Section("diff", "What changed", parts), findings(answer)


def _in_short(answer: Table) -> str:
    launch, track, *regions = answer.rows()
    suffix = answer.facts["unit"]
    old, new = (duration(launch[f"mean_{side}_{suffix}"], suffix) for side in ("old", "new"))
    change = "" if launch["mean_change"] is None else f" ({launch['mean_change']:+.1%})"
    slower, faster = (sum(row["verdict"] == verdict for row in regions) for verdict in ("slower", "faster"))
    tracks = f"tracks are {track['verdict']}; " if track["verdict"] in ("slower", "faster") else ""
    return (
        f"The launch took {old} and now takes {new}{change}. Beyond the noise: {tracks}of {len(regions)} "
        f"regions {slower} are slower and {faster} faster."
    )


def _answer(answer: Table) -> list[Markup | Figure]:
    facts = answer.facts
    noise = (
        f"{100 * facts['confidence']:g}% intervals from {facts['n_units_old']} and {facts['n_units_new']} "
        f"{facts['resampled']}{', the same ones compared' if facts['is_paired'] else ''}"
    )
    if facts["resampled"] != "launches":
        noise += "; noise from launch to launch is not in them, with one launch a side"
    figure = changes_figure(answer.rows(), facts["unit"], noise)
    caption = f"Changes of the mean, new by old; {noise}. Regions by their effect on the launch."
    shown = table(answer, caption, _COLUMNS)
    return [shown] if figure is None else [figure, shown]


def changes_figure(rows: Sequence[Mapping[str, Any]], suffix: str, noise: str) -> Figure | None:
    """The change of each row's mean with its interval; None where nothing is on both sides."""
    known = [row for row in rows if row["mean_change"] is not None]
    shown, n = known[:MAX_REGIONS], min(len(known), MAX_REGIONS)
    if not shown:
        return None
    data = []
    for verdict, (colour, name) in _KINDS.items():
        at = [
            i
            for i, row in enumerate(shown)
            if (row["verdict"] if row["verdict"] in _KINDS else None) == verdict
        ]
        if at:
            data.append(_points([shown[i] for i in at], [n - 1 - i for i in at], colour, name, suffix))
    more = "" if n == len(known) else f" The first {n} of {len(known)} rows."
    caption = f"How much longer the mean is than before, with its interval: {noise}.{more}"
    layout = {
        "height": 130 + _ROW_PX * n,
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "xaxis": {
            "title": {"text": "change of the mean"}, "tickformat": "+.3~%", "tickangle": 0,
            "zeroline": True, "zerolinewidth": 2, "automargin": True,
        },
        "yaxis": {
            **labels([row["region"] for row in shown][::-1]), "automargin": True, "fixedrange": True,
            "range": [-0.7, n - 0.3], "zeroline": False,
        },
    }  # fmt: skip
    return Figure("changes", "Change of each region", caption, data, layout)


def _points(
    rows: Sequence[Mapping[str, Any]], y: Sequence[int], colour: str, name: str, suffix: str
) -> dict[str, Any]:
    ends = [(row["mean_low"], row["mean_change"], row["mean_high"]) for row in rows]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [float(f"{row['mean_change']:.6g}") for row in rows],
        "y": y,
        "marker": {"size": 9, "color": f"theme:{colour}"},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [0 if high is None else float(f"{high - at:.6g}") for _, at, high in ends],
            "arrayminus": [0 if low is None else float(f"{at - low:.6g}") for low, at, _ in ends],
            "color": f"theme:{colour}",
            "thickness": 2,
            "width": 4,
        },
        "customdata": [_told(row, suffix) for row in rows],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _told(row: Mapping[str, Any], suffix: str) -> str:
    old, new = (duration(row[f"mean_{side}_{suffix}"], suffix) for side in ("old", "new"))
    interval = (
        "no interval" if row["mean_low"] is None else f"{row['mean_low']:+.1%} to {row['mean_high']:+.1%}"
    )
    change = f"{row['mean_change']:+.1%} ({interval}), {row['verdict'] or 'not judged'}"
    return f"{said(row['region'])}: {old} → {new}<br>{change}"
