"""Which parts a page has, in which order."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from mgpu_trace import __version__
from mgpu_trace.analyse.table import Table
from mgpu_trace.analyse.units import Asked, TimeUnit, time_unit
from mgpu_trace.diagnostics import Code, Diagnostic, Report
from mgpu_trace.files import whole_file
from mgpu_trace.report.balanced import balanced
from mgpu_trace.report.beside import beside
from mgpu_trace.report.compared import compared
from mgpu_trace.report.facts import Reported, facts_list, name_of, tiles
from mgpu_trace.report.findings import findings_list
from mgpu_trace.report.markup import Markup, joined, tag
from mgpu_trace.report.page import Section, whole_page
from mgpu_trace.report.plotlyjs import plotly_script
from mgpu_trace.report.spent import spent

_LICENCE: Final = "Plots by Plotly.js (MIT licence); its notices are in this file."


@dataclass(frozen=True, slots=True)
class Composed:
    """A page.

    Attributes
    ----------
    content
        HTML in UTF-8.
    findings
        Everything that it reports, of both launches and of their comparison.
    """

    content: bytes
    findings: Report


def report_page(
    source: Reported,
    *,
    before: Reported | None = None,
    unit: Asked = "auto",
    roles: Mapping[int, str] | None = None,
    plots: bool = True,
) -> bytes:
    """A launch, or two to compare, as one page of HTML in UTF-8.

    Parameters
    ----------
    source
        A Timeline or a Launch; its runs are read once for each answer.
    before
        The launch that it is compared with.
    unit
        ``"ns"``, ``"cyc"``, or ``"auto"``: nanoseconds where a rate is known.
    roles
        Names for units, such as ``{0: "tma"}``.
    plots
        Whether to draw. Plotly's script is 4.8 MB of the page.

    Raises
    ------
    MgpuTraceError
        MGT631 for plots without the package plotly, MGT640 for nanoseconds without a rate.
    """
    return compose(source, before=before, unit=unit, roles=roles, plots=plots).content


def write_report(
    source: Reported,
    path: str | os.PathLike[str],
    *,
    before: Reported | None = None,
    unit: Asked = "auto",
    roles: Mapping[int, str] | None = None,
    plots: bool = True,
) -> None:
    """Write :func:`report_page` to a file, which appears whole or not at all.

    Raises
    ------
    MgpuTraceError
        As :func:`report_page` does; MGT601 and MGT602 where the file cannot be written.
    """
    page = report_page(source, before=before, unit=unit, roles=roles, plots=plots)
    with whole_file(path) as sink:
        sink.write(page)


def compose(
    source: Reported,
    *,
    before: Reported | None = None,
    unit: Asked = "auto",
    roles: Mapping[int, str] | None = None,
    plots: bool = True,
    accepted: Collection[Code] = (),
) -> Composed:
    """The page of :func:`report_page` with its findings, but those of the ``accepted`` codes."""
    script = plotly_script() if plots else None
    in_unit = time_unit(source.clock, unit)
    stats, where = spent(source, in_unit, roles)
    first, found = ([], []) if before is None else _compared(source, before, unit)
    found = [d for d in [*found, *source.report] if d.code not in accepted]
    sections = [
        *first,
        Section("findings", "Findings", [findings_list(Report.of(found))]),
        Section("launch", "The launch", [facts_list(source, stats.facts, in_unit)]),
        where,
        balanced(source, in_unit),
        beside(source, stats.facts["n_slices"], in_unit, roles),
    ]
    if before is not None:
        of_before = [d for d in before.report if d.code not in accepted]
        sections.append(_of_before(before, of_before))
        found = [*found, *of_before]
    head = _head(source, before, stats, in_unit)
    foot = tag("p", f"Made by mgpu-trace {__version__}. {_LICENCE if plots else ''}")
    title = name_of(source) if before is None else f"{name_of(before)} → {name_of(source)}"
    page = whole_page(f"{title} · mgpu-trace", head, sections, foot, script)
    return Composed(page.encode(), Report.of(found))


def _compared(source: Reported, before: Reported, unit: Asked) -> tuple[list[Section], list[Diagnostic]]:
    section, found = compared(source, before, unit)
    return [section], found


def _head(source: Reported, before: Reported | None, stats: Table, unit: TimeUnit) -> Markup:
    parts = [tag("h1", name_of(source)), tag("p", _about_file(source), class_="muted")]
    if before is not None:
        parts.append(tag("p", "compared with ", tag("strong", name_of(before)), f", {_about_file(before)}"))
    return joined([*parts, tiles(source, stats.facts, unit)], "\n")


def _about_file(source: Reported) -> str:
    file = source.more_facts().get("source")
    device = source.spec.device
    said = [PurePath(str(file)).name if file else "a launch in memory", *([device] if device else [])]
    return " on ".join(said)


def _of_before(before: Reported, found: Sequence[Diagnostic]) -> Section:
    """What is to be said about the launch that another one is compared with."""
    facts = facts_list(before, None, time_unit(before.clock))
    return Section("before", "The launch before", [facts, findings_list(Report.of(found))])
