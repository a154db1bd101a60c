"""Files to one timeline, and what is said about it."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.options import Told, count
from mgpu_trace_cli.report import say

if TYPE_CHECKING:
    from mgpu_trace.merge import Merged
    from mgpu_trace.merge.host import Mapping
    from mgpu_trace.merge.plan import Placed, Plan
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
    host_trace: str | None,
    max_bytes: int | None,
    jobs: int | None,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> int:
    """Merge the files as ``how`` says to :func:`~mgpu_trace.merge.merge_files`; the exit status."""
    from mgpu_trace.batch import usable_cores
    from mgpu_trace.merge import merge_files
    from mgpu_trace.merge.parts import describe
    from mgpu_trace_cli.render import steps

    _check_output(output, host_trace, max_bytes)

    def tell(merged: Merged) -> None:
        if not quiet and not as_json:
            for line in (*_placed_lines(merged.plan, merged.mappings), *describe(merged.parts)):
                click.echo(line, err=True)

    merged = merge_files(
        files,
        output,
        host_trace=host_trace,
        max_bytes=max_bytes,
        jobs=jobs or usable_cores(),
        options=options,
        keep=lambda entry: _is_selected(entry, select),
        on_plan=tell,
        progress=steps,
        **how,
    )
    if as_json:
        click.echo(json.dumps(json_of(merged)))
    say(merged.report, quiet)
    return int(merged.report.has_errors)


def _check_output(output: str, host_trace: str | None, max_bytes: int | None) -> None:
    """What no trace can hold is refused before an hour of reading."""
    from mgpu_trace.export.output import format_of
    from mgpu_trace.merge.run import FORMATS

    kind = format_of(output)
    if kind not in FORMATS:
        raise click.UsageError("-o takes a .json or .pftrace file, or .gz of these")
    if host_trace is not None and not (kind == "json" and max_bytes is None):
        raise click.UsageError("--host-trace makes one trace in JSON: -o NAME.json.gz, without --max-size")


def _is_selected(entry: Entry, select: Sequence[tuple[str, Callable[[Entry], bool]]]) -> bool:
    """Different keys must all match; the same key again adds to what it matches."""
    keys = {key for key, _ in select}
    return all(any(matches(entry) for key, matches in select if key == wanted) for wanted in keys)


def _placed_lines(run: Plan, mappings: Sequence[Mapping]) -> list[str]:
    """One line for each device: how many launches, from when to when, and how sure."""
    of_host = {mapping.device: mapping for mapping in mappings}
    lines = []
    of_device: list[list[Placed]] = [[] for _ in run.devices]
    for launch in run.launches:
        of_device[launch.device].append(launch)
    for number, (device, mine) in enumerate(zip(run.devices, of_device, strict=True)):
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


def json_of(merged: Merged) -> dict[str, Any]:
    """The plan, for programs."""
    run = merged.plan
    return {
        "schema": "mgpu-trace/merge",
        "version": 1,
        "is_on_host": run.is_on_host,
        "zero_ns": run.zero_ns,
        **run.notes,
        "parts": [
            {"file": p.path, "n_launches": len(p.launches), "predicted_bytes": p.predicted_bytes}
            for p in merged.parts
        ],
        "launches": [
            {
                "file": p.entry.file,
                "kernel": p.entry.kernel,
                "launch": p.entry.spec.launch,
                "device": p.device,
                "begin_ns": p.begin_ns,
                "dur_ns": p.entry.dur_ns if p.entry.has_rate else None,
                "uncertainty_ns": p.uncertainty_ns if p.n_fits else None,
                "n_turns_that_fit": p.n_fits,
                "stretch": p.stretch,
            }
            for p in run.launches
        ],
        "diagnostics": [d.to_dict() for d in merged.report],
    }
