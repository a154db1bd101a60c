"""Files to one timeline, and what is said about it."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.options import Told, count
from mgpu_trace_cli.report import say

if TYPE_CHECKING:
    from mgpu_trace.merge.host import Mapping
    from mgpu_trace.merge.parts import Part
    from mgpu_trace.merge.plan import Plan
    from mgpu_trace.merge.scan import Entry

_UNITS: Final = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def _size(text: str) -> int:
    match = re.fullmatch(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([a-zA-Z]*)\s*", text)
    if match is None or match[2].lower() not in _UNITS:
        raise ValueError
    found = int(float(match[1]) * _UNITS[match[2].lower()])
    if found < 1:
        raise ValueError
    return found


def _order(text: str) -> tuple[str, str]:
    signal, colon, wait = text.partition(":")
    if not (colon and signal and wait):
        raise ValueError
    return signal, wait


def _select(text: str) -> tuple[str, Callable[[Entry], bool]]:
    key, equals, value = text.partition("=")
    if not equals or key not in _WHAT:
        raise ValueError
    if key == "kernel":
        return key, lambda entry: fnmatch.fnmatchcase(entry.kernel, value)
    ranges = [_range(part) for part in value.split(",")]
    return key, lambda entry: any(first <= _WHAT[key](entry) <= last for first, last in ranges)


def _range(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    return count(first, 0), count(last, 0) if dash else count(first, 0)


_WHAT: Final[dict[str, Callable[[Any], Any]]] = {
    "launch": lambda entry: -1 if entry.spec.launch is None else entry.spec.launch,
    "device": lambda entry: entry.device.device_id,
    "process": lambda entry: entry.device.process,
    "kernel": lambda entry: entry.kernel,
}

SIZE: Final = Told("SIZE", "a size, such as 100MB or 2GiB", _size)
ORDER: Final = Told("A:B", "two regions, the signal and the wait, such as send:recv_wait", _order)
SELECT: Final = Told(
    "KEY=VALUE", "launch=0-9, kernel=gemm*, device=0,1 or process=0 (the same key again adds to it)", _select
)


def merge_all(
    files: Sequence[str],
    output: str,
    options: SpecOptions,
    select: Sequence[tuple[str, Callable[[Entry], bool]]],
    align: str | None,
    host_trace: str | None,
    order: tuple[str, str] | None,
    max_bytes: int | None,
    dry_run: bool,
    jobs: int | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Merge the files; the exit status."""
    from mgpu_trace.batch import usable_cores
    from mgpu_trace.export.output import format_of
    from mgpu_trace.merge.host import on_host_trace, read_host_trace
    from mgpu_trace.merge.parts import describe, parts_of
    from mgpu_trace.merge.plan import plan
    from mgpu_trace.merge.regions import aligned, ordered
    from mgpu_trace.merge.scan import scan
    from mgpu_trace.merge.write import write_part
    from mgpu_trace_cli.render import steps

    is_json = format_of(output) == "json"  # refused before an hour of reading
    if host_trace is not None and not (is_json and max_bytes is None):
        raise click.UsageError("--host-trace makes one trace in JSON: -o NAME.json.gz, without --max-size")
    host = None if host_trace is None else read_host_trace(host_trace)
    n_jobs = jobs or usable_cores()
    with steps("reading", len(files)) as done:
        scanned = scan(files, options, jobs=n_jobs, on_done=done)
    entries = [entry for entry in scanned.entries if _is_selected(entry, select)]
    if not entries:
        raise ExceptionGroup("no launch", [MgpuTraceError(d) for d in (*scanned.errors, *_nothing(scanned))])
    run = plan(entries)
    if align is not None:
        run, _ = aligned(run, align, options, jobs=n_jobs)
    elif len(run.devices) > 1:
        run = run.moved([0] * len(run.devices), [_unaligned(run)], {})
    if order is not None:
        run = ordered(run, *order, options, jobs=n_jobs)
    mappings: list[Mapping] = []
    if host is not None:
        run, mappings = on_host_trace(run, host)
    parts = parts_of(run, output, max_bytes)
    if not quiet and not as_json:
        for line in (*_placed_lines(run, mappings), *describe(parts)):
            click.echo(line, err=True)
    more: list[Diagnostic] = []
    for part in [] if dry_run else parts:
        with steps("writing", len(part.launches)) as done:
            more += write_part(run, part, options, done, host)
    report = Report.of((*scanned.errors, *run.found, *more))
    if as_json:
        click.echo(json.dumps(json_of(run, parts, report)))
    say(report, quiet)
    return int(report.has_errors)


def _is_selected(entry: Entry, select: Sequence[tuple[str, Callable[[Entry], bool]]]) -> bool:
    """Different keys must all match; the same key again adds to what it matches."""
    keys = {key for key, _ in select}
    return all(any(matches(entry) for key, matches in select if key == wanted) for wanted in keys)


def _nothing(scanned: Any) -> list[Diagnostic]:
    from mgpu_trace.diagnostics import catalogue

    if not scanned.entries:
        return []
    hint = f"there are {len(scanned.entries)} launches without --select"
    return [Diagnostic(catalogue.NO_LAUNCH, "no launch matches the selection", hint=hint)]


def _unaligned(run: Plan) -> Diagnostic:
    from mgpu_trace.diagnostics import catalogue

    worst = max(launch.uncertainty_ns for launch in run.launches)
    message = f"{len(run.devices)} devices are placed by the host's times only, to {worst / 1e6:.3f} ms"
    if not run.is_on_host:
        message = f"{len(run.devices)} devices have no host times: each begins at 0 by itself"
    hint = "--align REGION, a region that ends on all of them at once"
    return Diagnostic(catalogue.DEVICES_UNALIGNED, message, len(run.devices), hint=hint)


def _placed_lines(run: Plan, mappings: Sequence[Mapping]) -> list[str]:
    """One line for each device: how many launches, from when to when, and how sure."""
    of_host = {mapping.device: mapping for mapping in mappings}
    lines = []
    for number, device in enumerate(run.devices):
        mine = [launch for launch in run.launches if launch.device == number]
        first, last = min(p.begin_ns for p in mine), max(p.end_ns for p in mine)
        sure = max(p.uncertainty_ns for p in mine)
        line = f"{device}: {counted(len(mine), 'launch')}, {(last - first) / 1e6:.3f} ms"
        if number in of_host:
            mapping = of_host[number]
            line += f", {mapping.n_matched} in their slices of the host trace, to {mapping.uncertainty_ns} ns"
        elif run.is_on_host:
            line += f", begins {(first - run.zero_ns) / 1e6:.3f} ms into the run, to {sure / 1e6:.3f} ms"
        facts = run.notes["devices"][number]
        if "shift_ns" in facts:
            left = facts["uncertainty_ns"]
            line += f"; moved by {facts['shift_ns']} ns to align {facts['n_instants']} instants"
            line += "" if left is None else f", to {left} ns"
        lines.append(line)
    return lines


def json_of(run: Plan, parts: Sequence[Part], report: Report) -> dict[str, Any]:
    """The plan, for programs."""
    return {
        "schema": "mgpu-trace/merge",
        "version": 1,
        "is_on_host": run.is_on_host,
        "zero_ns": run.zero_ns,
        **run.notes,
        "parts": [
            {"file": p.path, "n_launches": len(p.launches), "predicted_bytes": p.predicted_bytes}
            for p in parts
        ],
        "launches": [
            {
                "file": p.entry.file,
                "kernel": p.entry.kernel,
                "launch": p.entry.spec.launch,
                "device": p.device,
                "begin_ns": p.begin_ns,
                "dur_ns": p.entry.dur_ns,
                "uncertainty_ns": p.uncertainty_ns,
                "n_turns_that_fit": p.n_fits,
                "stretch": p.stretch,
            }
            for p in run.launches
        ],
        "diagnostics": [d.to_dict() for d in report],
    }
