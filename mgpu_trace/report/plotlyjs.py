"""Plotly's script, which the package ``plotly`` carries."""

from __future__ import annotations

from mgpu_trace.extras import needs


def plotly_script() -> str:
    """The whole script with its licences.

    Raises
    ------
    MgpuTraceError
        MGT631 where the package is not installed.
    """
    script = needs("plotly.offline", "analysis", "a report with plots").get_plotlyjs()
    assert isinstance(script, str)
    return script
