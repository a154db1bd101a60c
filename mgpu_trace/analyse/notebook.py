"""What a notebook shows of a launch below its facts: where the time goes, in a few rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from mgpu_trace.analyse.stats import stats
from mgpu_trace.analyse.table import Table

if TYPE_CHECKING:
    from mgpu_trace.model import Timeline

_REGIONS: Final = 8
_COLUMNS: Final = ("count", "total", "self", "mean", "p50", "p99", "self_share")


def regions_html(timeline: Timeline) -> str:
    """The regions with the largest self time as an HTML table; empty where there is no slice."""
    found = stats(timeline)
    if not len(found):
        return ""
    shown = found.take(np.arange(min(len(found), _REGIONS)))
    unit = found.facts["unit"]
    names = ["region", *(name if name in shown.columns else f"{name}_{unit}" for name in _COLUMNS)]
    rest = len(found) - len(shown)
    more = f"<p>and {rest} more: mgpu_trace.stats</p>" if rest else ""
    return Table(found.title, {name: shown[name] for name in names})._repr_html_() + more
