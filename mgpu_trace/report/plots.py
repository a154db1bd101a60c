"""Figures as data: what Plotly draws, with every text of a file made harmless.

Plotly reads labels as its own little HTML (``<b>``, ``<a href>``, ``&lt;``), guesses from strings
whether they are dates or numbers, and merges equal categories. So texts are escaped for it, and axes of
names are numbers with the names as labels. Colours are names of the page's theme (``theme:accent``),
which the page's script looks up, in light and in dark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.diagnostics.clip import MAX_SAID
from mgpu_trace.report.markup import name_said

# Characters of a name on an axis; under the pointer it is MAX_SAID of diagnostics.clip.
LABEL: Final = 22
_UPRIGHT: Final = {"tickangle": 0, "automargin": True}


@dataclass(frozen=True, slots=True)
class Figure:
    """One plot.

    Attributes
    ----------
    key
        Its id in the page.
    title
        What it shows: the name that a screen reader says.
    caption
        How to read it, in a sentence or two.
    data, layout
        As Plotly takes them.
    """

    key: str
    title: str
    caption: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]


def said(text: str, most: int = MAX_SAID) -> str:
    """A text of a file as Plotly shows it letter by letter, cut to ``most`` characters."""
    return name_said(text, most).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def labels(names: Sequence[str]) -> dict[str, Any]:
    """The part of an axis that shows names at 0, 1, 2, ..."""
    return {
        "type": "linear",
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": [said(name, LABEL) for name in names],
    }


def time_axis(suffix: str, title: str, **more: Any) -> dict[str, Any]:
    """An axis of times: seconds with the prefix that fits (``1.2µs``), or cycles."""
    unit = "s" if suffix == "ns" else " cyc"
    return {"title": {"text": title}, "tickformat": "~s", "ticksuffix": unit, **_UPRIGHT, **more}


def log_time_axis(suffix: str, title: str) -> dict[str, Any]:
    """The same, logarithmic. Plotly leaves the suffix away there, so the title says the unit."""
    unit = "seconds" if suffix == "ns" else "cycles"
    return {"type": "log", "title": {"text": f"{title} in {unit}"}, "tickformat": "~s", **_UPRIGHT}


def on_axis(values: NDArray[Any], suffix: str) -> list[float]:
    """Times of an answer as :func:`time_axis` takes them."""
    scale = 1e-9 if suffix == "ns" else 1.0
    return rounded(np.asarray(values, np.float64) * scale)


def rounded(values: NDArray[Any], digits: int = 6) -> list[Any]:
    """Numbers to so many digits: what no screen can show is not written. NaN becomes None."""
    return [
        None if not np.isfinite(value) else float(f"{value:.{digits}g}")
        for value in np.asarray(values, np.float64).tolist()
    ]


def duration(value: float | None, suffix: str) -> str:
    """A time for a person: ``1.25 µs`` or ``1250 cyc``."""
    if value is None:
        return "not known"
    if suffix == "cyc":
        return f"{value:,.10g} cyc"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value:.4g} ns"


def as_json(figures: Sequence[Figure]) -> str:
    """The figures as the page's script reads them; no letter in it can end a script element."""
    found = {figure.key: {"data": figure.data, "layout": figure.layout} for figure in figures}
    raw = json.dumps(found, separators=(",", ":"), allow_nan=False)
    return raw.replace("<", "\\u003c").replace(">", "\\u003e")
