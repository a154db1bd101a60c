"""``mgpu-trace stats`` of many launches: a row for each launch, or for each launch and key."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace_cli.asking import VERSION, Question, print_csv, print_rows
from mgpu_trace_cli.report import accepted, say

if TYPE_CHECKING:
    from mgpu_trace.analyse.table import Table

LAUNCH: Final = "launch"
_WHO: Final = ("kernel", "process", "device", "launch", "file")
# How probable a drift is by chance at most, to be called one.
_SURE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Summary:
    """One launch: who it was, its statistics, and what was found."""

    who: dict[str, Any]
    order: tuple[int, int]
    unit: str
    launch_cyc: int
    per_cyc: float
    facts: dict[str, Any]
    table: Table
    report: Report


def show_launches(
    files: Sequence[str], question: Question, by: Sequence[str], steady: bool, jobs: int
) -> int:
    """Ask for the statistics of each file and print them launch by launch; the exit status."""
    from mgpu_trace.batch import each
    from mgpu_trace_cli.render import steps

    keys = tuple(key for key in by if key != LAUNCH)
    summaries: list[Summary] = []
    errors: list[Diagnostic] = []
    ask: Callable[[str], Summary] = partial(summarise, question=question, keys=keys, steady=steady)
    with steps("reading", len(files)) as done:
        for one in each(ask, files, jobs=jobs, on_done=done):
            if one.error is not None:
                errors.append(one.error.in_file(files[one.index]))
            elif one.result is not None:
                summaries.append(one.result)
    if not summaries:
        raise ExceptionGroup("no launch", [MgpuTraceError(error) for error in errors])
    summaries.sort(key=lambda s: (s.who["kernel"], s.who["process"], s.who["device"], s.order, s.who["file"]))
    table = table_of(summaries, with_rows=bool(keys))
    report = Report.of((*errors, *(finding for summary in summaries for finding in summary.report)))
    if question.as_json:
        whole = {"schema": "mgpu-trace/launches", "version": VERSION, **table.facts}
        findings = [finding.to_dict() for finding in report]
        click.echo(json.dumps({**whole, "rows": table.rows(), "diagnostics": findings}))
    elif question.as_csv:
        print_csv(table)
    else:
        _show(table)
    say(report)
    return int(report.has_errors)


def summarise(file: str, *, question: Question, keys: tuple[str, ...], steady: bool) -> Summary:
    """The statistics of one file; with no keys those of all its regions together."""
    from mgpu_trace.analyse.stats import stats
    from mgpu_trace.analyse.units import time_unit

    launch = question.open(file)
    unit = time_unit(launch.clock, question.unit)
    table = stats(launch, by=keys, steady=steady, unit=question.unit, roles=question.roles)
    spec = launch.spec
    number = -1 if spec.launch is None else spec.launch
    who = {
        "kernel": spec.kernel or "kernel",
        "process": spec.process or 0,
        "device": spec.device_id or 0,
        "launch": spec.launch,
        "file": file,
    }
    facts = {**table.facts, "n_lost_events": launch.n_lost_events}
    # Without a rate the duration of a launch on several SMs is not known: no launch is far from the others.
    launch_cyc = round((facts[f"launch_{unit.suffix}"] or 0) / unit.per_cyc)
    order = (number, spec.host_time_before_ns or spec.host_time_ns or 0)
    report = accepted(launch.report, question.allow_empty)
    return Summary(who, order, unit.suffix, launch_cyc, unit.per_cyc, facts, table, report)


def table_of(summaries: Sequence[Summary], with_rows: bool) -> Table:
    """All launches in one table, in cycles where one of them has no rate."""
    from mgpu_trace.analyse.launches import course_of
    from mgpu_trace.analyse.table import Table

    units = {summary.unit for summary in summaries}
    if len(units) > 1:
        raise click.UsageError("some of the launches have an SM clock rate and some have none: --unit cyc")
    unit = units.pop()
    states: list[str] = []
    courses = []
    for group in _groups(summaries):
        course = course_of(np.array([summary.launch_cyc for summary in group], np.int64))
        states += course.state
        courses.append(
            {
                "kernel": group[0].who["kernel"],
                "process": group[0].who["process"],
                "device": group[0].who["device"],
                "n_launches": len(group),
                f"median_{unit}": _finite(course.median_cyc * group[0].per_cyc) or None,
                "n_warm_up": course.state.count("warm-up"),
                "n_outliers": course.state.count("outlier"),
                "drift": _finite(course.drift),
                "drift_p": _finite(course.drift_p),
            }
        )
    rows = _rows(summaries, states, unit) if with_rows else _lines(summaries, states, unit)
    names = list(rows[0]) if rows else [*_WHO, "state"]
    columns = {name: _column([row[name] for row in rows]) for name in names}
    return Table("launches", columns, {"unit": unit, "n_launches": len(summaries), "courses": courses})


def _groups(summaries: Sequence[Summary]) -> list[list[Summary]]:
    """Launches of one kernel on one device; they are sorted so."""
    groups: dict[tuple[Any, ...], list[Summary]] = {}
    for summary in summaries:
        key = tuple(summary.who[name] for name in ("kernel", "process", "device"))
        groups.setdefault(key, []).append(summary)
    return list(groups.values())


def _lines(summaries: Sequence[Summary], states: Sequence[str], unit: str) -> list[dict[str, Any]]:
    """One row for each launch."""
    found = []
    for summary, state in zip(summaries, states, strict=True):
        facts = summary.facts
        whole = facts[f"tracks_{unit}"]
        found.append(
            {
                **summary.who,
                "state": state,
                f"dur_{unit}": facts[f"launch_{unit}"],
                "n_tracks": facts["n_tracks"],
                "n_slices": facts["n_slices"],
                "in_regions_share": facts[f"in_regions_{unit}"] / whole if whole else None,
                "n_lost_events": facts["n_lost_events"],
            }
        )
    return found


def _rows(summaries: Sequence[Summary], states: Sequence[str], unit: str) -> list[dict[str, Any]]:
    """The statistics of each launch under its name."""
    return [
        {**summary.who, "state": state, **row}
        for summary, state in zip(summaries, states, strict=True)
        for row in summary.table.rows()
    ]


def _column(values: list[Any]) -> Any:
    if any(isinstance(value, str) for value in values):
        return values
    if any(value is None for value in values) and not any(isinstance(value, float) for value in values):
        return values  # numbers of launches, where some are not known
    if all(isinstance(value, int) for value in values):
        return np.array(values, np.int64)
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _show(table: Table) -> None:
    """What there is to say of each kernel on each device, and the rows."""
    facts = table.facts
    for course in facts["courses"]:
        said = f"{course['kernel']} on device {course['device']}: {counted(course['n_launches'], 'launch')}"
        median = course[f"median_{facts['unit']}"]
        said += "" if median is None else f", {median:.1f} {facts['unit']} in the median"
        parts = [(course["n_warm_up"], "in warm-up"), (course["n_outliers"], "far from it")]
        said += "".join(f", {n} {what}" for n, what in parts if n)
        if course["drift"] is not None:
            sure = course["drift_p"] is not None and course["drift_p"] < _SURE
            said += f", drift {100 * course['drift']:+.2f}%" if sure else ", no drift"
        click.echo(said)
    print_rows(table, [name for name in table.columns if name != "process" or len({*table["process"]}) > 1])
