"""The findings of a launch, each with its explanation."""

from __future__ import annotations

from collections.abc import Iterable

from mgpu_trace.diagnostics import Code, Diagnostic
from mgpu_trace.diagnostics.explain import explanation_of
from mgpu_trace.report.markup import Markup, Part, joined, lines, prose, rows_of, tag


def findings_list(findings: Iterable[Diagnostic]) -> Markup:
    """All of them, worst first, as they come."""
    found = [_item(finding) for finding in findings]
    if not found:
        return tag("p", "Nothing was found wrong with the recording.", class_="clean")
    return tag("ul", *found, class_="findings")


def _item(finding: Diagnostic) -> Markup:
    label = finding.severity.label
    code = tag("span", f"{label} {finding.code.id}", class_=f"badge {label}")
    parts: list[Part] = [tag("h3", code, " ", finding.code.summary), tag("p", finding.message)]
    if finding.hint:
        parts.append(tag("p", tag("strong", "Way out: "), finding.hint))
    where = _where(finding)
    if where:
        parts.append(tag("p", where, class_="muted"))
    return tag("li", *parts, _explained(finding.code), class_=label)


def _where(finding: Diagnostic) -> str:
    said = [] if finding.file is None else [finding.file]
    if finding.block is not None:
        place = "block ({},{},{})".format(*finding.block)
        said.append(f"first in {place}" + ("" if finding.unit is None else f", unit {finding.unit}"))
    if finding.count != 1:
        said.append(f"{finding.count} times")
    return "; ".join(said)


def _explained(code: Code) -> Markup:
    told = explanation_of(code)
    situations = tag("ul", *(tag("li", prose(said)) for said in told.situations))
    parts: list[tuple[str, Part]] = [
        ("What it means", prose(told.means)),
        ("Why it matters", prose(told.matters)),
        ("When it happens", joined([prose(told.when), situations])),
        ("What to do", prose(told.todo)),
        ("Before", tag("pre", lines(told.before))),
        ("After", tag("pre", lines(told.after))),
    ]
    if told.related:
        parts.append(("Related", ", ".join(told.related)))
    return tag("details", tag("summary", f"What {code.id} means, and what to do"), rows_of(parts))
