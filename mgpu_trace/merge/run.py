"""The whole way: files -> launches -> a plan -> one trace, or several."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report, catalogue
from mgpu_trace.export.output import format_of
from mgpu_trace.merge.host import HostTrace, Mapping, on_host_trace, read_host_trace
from mgpu_trace.merge.parts import Part, parts_of
from mgpu_trace.merge.plan import Plan, plan
from mgpu_trace.merge.regions import aligned, ordered
from mgpu_trace.merge.scan import Entry, Scanned, scan
from mgpu_trace.merge.write import write_part
from mgpu_trace.spec import SpecOptions

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None] | None]]
"""Shows how far something is: what, and out of how many; gives a function that is told how many are done."""

FORMATS: Final = ("json", "perfetto")


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of a merge.

    Attributes
    ----------
    plan
        Where each launch is, and how sure that is.
    parts
        The files that were written, or would be.
    mappings
        How devices lie in the host trace; empty where there is none.
    report
        Every finding.
    """

    plan: Plan
    parts: tuple[Part, ...]
    mappings: tuple[Mapping, ...]
    report: Report


def merge_files(
    files: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    align: str | None = None,
    order: tuple[str, str] | None = None,
    host_trace: str | os.PathLike[str] | None = None,
    max_bytes: int | None = None,
    jobs: int = 1,
    options: SpecOptions | None = None,
    keep: Callable[[Entry], bool] | None = None,
    dry_run: bool = False,
    on_plan: Callable[[Merged], None] | None = None,
    progress: Progress | None = None,
) -> Merged:
    """Put the launches of many files on one timeline, and write it.

    Parameters
    ----------
    files, output
        Buffers, and the trace: ``.json`` or ``.pftrace``, or ``.gz`` of these.
    align
        A region that ends on all devices at once, which aligns them.
    order
        ``(signal, wait)``: count the waits that end before the signal that they wait for.
    host_trace
        A trace of JAX's profiler to put it all into; the output is then one file of JSON.
    max_bytes
        Write parts, one after the other in time, none predicted to be larger.
    jobs
        Processes that read files; the result is the same.
    options
        What is known about all launches; wins over what the files say.
    keep
        Which launches to merge; all, where it is None.
    dry_run
        Write nothing.
    on_plan
        Called with what is known before anything is written.
    progress
        Shows how far it is.

    Raises
    ------
    MgpuTraceError
        MGT601 to MGT603 (nothing is left half-written), MGT667, MGT670, MGT671.
    ExceptionGroup
        Of MgpuTraceError, where no launch is left to merge.
    ValueError
        For an output that cannot hold what was asked for.
    """
    path = os.fspath(output)
    kind = format_of(path)  # refused before an hour of reading
    if kind not in FORMATS or (host_trace is not None and (kind != "json" or max_bytes is not None)):
        raise ValueError("a merged trace is JSON or .pftrace, and one file of JSON with a host trace")
    show: Progress = progress or (lambda *_: nullcontext())
    host = None if host_trace is None else read_host_trace(os.fspath(host_trace))
    names = [os.fspath(file) for file in files]
    with show("reading", len(names)) as done:
        scanned = scan(names, options, jobs=jobs, on_done=done)
    entries = [entry for entry in scanned.entries if keep is None or keep(entry)]
    if not entries:
        found = (*scanned.errors, *_nothing(scanned))
        raise ExceptionGroup("no launch", [MgpuTraceError(finding) for finding in found])
    run, mappings = _planned(entries, align, order, host, options, jobs)
    parts = tuple(parts_of(run, path, max_bytes))
    merged = Merged(run, parts, tuple(mappings), _report(scanned.errors, run.found))
    if on_plan is not None:
        on_plan(merged)
    more: list[Diagnostic] = []
    for part in () if dry_run else parts:
        with show("writing", len(part.launches)) as done:
            more += write_part(run, part, options, done, host)
    return Merged(run, parts, merged.mappings, _report(merged.report, more))


def _planned(
    entries: Sequence[Entry],
    align: str | None,
    order: tuple[str, str] | None,
    host: HostTrace | None,
    options: SpecOptions | None,
    jobs: int,
) -> tuple[Plan, list[Mapping]]:
    run = plan(entries)
    if align is not None:
        run, _ = aligned(run, align, options, jobs=jobs)
    elif len(run.devices) > 1:
        run = run.moved([0] * len(run.devices), [_unaligned(run)], {})
    if order is not None:
        run = ordered(run, *order, options, jobs=jobs)
    return on_host_trace(run, host) if host is not None else (run, [])


def _report(*found: Sequence[Diagnostic] | Report) -> Report:
    """Each finding once: a file that vanished is missed by everyone who wanted it."""
    return Report.of(dict.fromkeys(finding for some in found for finding in some))


def _nothing(scanned: Scanned) -> list[Diagnostic]:
    if not scanned.entries:
        return []
    hint = f"there are {len(scanned.entries)} launches without --select"
    return [Diagnostic(catalogue.NO_LAUNCH, "no launch matches the selection", hint=hint)]


def _unaligned(run: Plan) -> Diagnostic:
    worst = max(launch.uncertainty_ns for launch in run.launches)
    message = f"{len(run.devices)} devices are placed by the host's times only, to {worst / 1e6:.3f} ms"
    if not run.is_on_host:
        message = f"{len(run.devices)} devices have no host times: each begins at 0 by itself"
    hint = "--align REGION, a region that ends on all of them at once"
    return Diagnostic(catalogue.DEVICES_UNALIGNED, message, len(run.devices), hint=hint)
