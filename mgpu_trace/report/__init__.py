"""One launch, or two to compare, as one page that can be sent: ``mgpu-trace report``.

    markup        HTML that is safe whatever is in it
    plots         figures as data for Plotly; texts made harmless
    tables        answers as tables, columns what their columns mean
    page          the frame: policy, style, scripts
    facts         what the launch was
    findings      what was found, with its explanation
    compared      what changed since another launch
    spent         where the time goes, durations as a plot
    balanced      which SM worked when
    beside        what ran beside what
    compose       which parts there are

The page needs no network, and the same launch always gives the same bytes.
"""

from __future__ import annotations

from mgpu_trace.report.compose import report_page, write_report

__all__ = ["report_page", "write_report"]
