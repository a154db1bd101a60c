"""A plan as one trace, or as several of a given size that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import BinaryIO, Final

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.export.chrome import MAX_TIME_NS
from mgpu_trace.export.output import format_of, open_output
from mgpu_trace.merge.chrome import write_json
from mgpu_trace.merge.host import HostTrace
from mgpu_trace.merge.parts import Part
from mgpu_trace.merge.place import MAX_HOST_NS
from mgpu_trace.merge.plan import Placed, Plan
from mgpu_trace.pipeline import Launch, open_launch
from mgpu_trace.spec import SpecOptions

# Files that a finding names.
_SAID: Final = 3


def write_part(
    plan: Plan,
    part: Part,
    options: SpecOptions | None = None,
    on_done: Callable[[int], None] | None = None,
    host: HostTrace | None = None,
) -> list[Diagnostic]:
    """Write one file; what could not be written, or read any more.

    A launch that cannot be read is left out and reported. With a host trace, its events come first, as they
    stand, and the plan's times are the trace's (only in JSON).

    Raises
    ------
    MgpuTraceError
        MGT601 to MGT603; no partial file is left behind.
    """
    is_json = format_of(part.path) == "json"
    part, found = _within(plan, part, is_json)
    launches = _opened(part, options or SpecOptions(), found, on_done)
    with open_output(part.path) as sink:
        if is_json:
            found += write_json(plan, part, sink, launches, host)
        else:
            _write_native(plan, sink, launches, found)
    return found


def _within(plan: Plan, part: Part, is_json: bool) -> tuple[Part, list[Diagnostic]]:
    """The part without the launches whose times the format cannot show."""
    end = MAX_TIME_NS if is_json else MAX_HOST_NS
    zero = plan.zero_ns if is_json else 0
    outside = [placed for placed in part.launches if not 0 <= placed.begin_ns - zero < end]
    if not outside:
        return part, []
    early = sum(placed.begin_ns < zero for placed in outside)
    files = ", ".join(placed.entry.file for placed in outside[:_SAID])
    files += f" and {len(outside) - _SAID} more" if len(outside) > _SAID else ""
    of_zero = "the host trace's zero" if plan.is_on_trace else "zero"
    where = [f"{early} before {of_zero}"] if early else []
    late = "26 days or more after it" if is_json else "after the year 2116"
    where += [f"{len(outside) - early} {late}"] if early < len(outside) else []
    message = f"{counted(len(outside), 'launch')} left out, {' and '.join(where)}: {files}"
    hint = (
        "-o NAME.pftrace has room for all times" if is_json and not plan.is_on_trace else "check host_time_ns"
    )
    hint = "--select launch= leaves them out" if plan.is_on_trace else hint
    kept = tuple(placed for placed in part.launches if 0 <= placed.begin_ns - zero < end)
    return replace(part, launches=kept), [
        Diagnostic(catalogue.OUTSIDE_TRACE, message, len(outside), hint=hint)
    ]


Opened = Iterator[tuple[Placed, Launch]]


def _opened(
    part: Part, options: SpecOptions, found: list[Diagnostic], on_done: Callable[[int], None] | None
) -> Opened:
    """The launches of a part, one after the other; what cannot be opened is noted."""
    for i, placed in enumerate(part.launches):
        try:
            launch = open_launch(placed.entry.file, options)
        except MgpuTraceError as error:
            found.append(error.diagnostic.in_file(placed.entry.file))
        else:
            yield placed, launch
            found += launch.report
        if on_done is not None:
            on_done(i + 1)


def _write_native(plan: Plan, sink: BinaryIO, launches: Opened, found: list[Diagnostic]) -> None:
    """One trace after the other: ids of tracks are made from what a launch is, so they keep apart."""
    from mgpu_trace.export.perfetto import write_perfetto
    from mgpu_trace.export.perfetto_options import BOOTTIME, REALTIME, PerfettoOptions, Zero

    clock = REALTIME if plan.is_on_host else BOOTTIME
    for placed, launch in launches:
        base = Zero(placed.how, placed.begin_ns, clock)
        more = write_perfetto(launch, sink, PerfettoOptions(base=base))
        found += [d.in_file(placed.entry.file) for d in more]
