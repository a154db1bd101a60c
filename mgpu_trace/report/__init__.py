"""One launch, or two to compare, as one page that can be sent: ``mgpu-trace report``.

    markup        HTML that is safe whatever is in it
    plots         figures as data for Plotly; texts made harmless
    tables        answers as tables
    facts         what the launch was
    findings      what was found, with its explanation
    durations     the plot of the regions' durations
    page          the frame: policy, style, scripts
    compose       which sections there are

The page needs no network, and the same launch always gives the same bytes.
"""

from __future__ import annotations

from mgpu_trace.report.compose import report_page, write_report

__all__ = ["report_page", "write_report"]
