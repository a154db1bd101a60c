"""A plan as one trace, or as several of a given size that follow each other."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, Final

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError
from mgpu_trace.export.chrome import HEAD, ChromeOptions, LaunchWriter, tail
from mgpu_trace.export.jsontext import json_string
from mgpu_trace.export.output import format_of, open_output
from mgpu_trace.export.picture import launch_name
from mgpu_trace.merge.host import HostTrace
from mgpu_trace.merge.ids import LaunchIds, RunIds
from mgpu_trace.merge.plan import Placed, Plan
from mgpu_trace.pipeline import Launch, open_launch
from mgpu_trace.spec import SpecOptions

# Bytes of a trace, measured on launches of a million events (docs/scale.md): each event, and each track.
_BYTES_PER_EVENT: Final = {"json": 48, "perfetto": 24}
_BYTES_PER_TRACK: Final = {"json": 120, "perfetto": 90}
# What compression leaves of JSON and of packets.
_PACKED: Final = {"json": 0.13, "perfetto": 0.25}
# The UI loads a trace of that size in a browser's memory.
LOADS_BYTES: Final = 1 << 30

OpenLaunch = Callable[[str], Launch]


@dataclass(frozen=True, slots=True)
class Part:
    """What goes into one file."""

    path: str
    launches: tuple[Placed, ...]
    predicted_bytes: int
    unpacked_bytes: int


def parts_of(plan: Plan, path: str, max_bytes: int | None = None) -> list[Part]:
    """The files that a plan becomes: one, or as many in the order of time as keep each below a size.

    A launch is never divided: one that is larger than the size alone has a part of its own.
    """
    kind, factor = _kind(path)
    groups: list[list[Placed]] = [[]]
    sizes = [0]
    for launch in plan.launches:
        size = size_of(launch, kind)
        if max_bytes is not None and groups[-1] and factor * (sizes[-1] + size) > max_bytes:
            groups.append([])
            sizes.append(0)
        groups[-1].append(launch)
        sizes[-1] += size
    names = [path] if len(groups) == 1 else [_part_name(path, i, len(groups)) for i in range(len(groups))]
    return [
        Part(name, tuple(group), int(factor * size), size)
        for name, group, size in zip(names, groups, sizes, strict=True)
    ]


def size_of(launch: Placed, kind: str) -> int:
    """About how many bytes a launch takes in a trace that is not compressed."""
    entry = launch.entry
    return _BYTES_PER_EVENT[kind] * entry.n_events + _BYTES_PER_TRACK[kind] * entry.n_tracks + 2000


def _kind(path: str) -> tuple[str, float]:
    kind = format_of(path)
    return kind, _PACKED[kind] if path.lower().endswith(".gz") else 1.0


def _part_name(path: str, part: int, n_parts: int) -> str:
    folder, name = os.path.split(path)
    stem, dot, suffix = name.partition(".")
    digits = len(str(n_parts))
    return os.path.join(folder, f"{stem}.part{part + 1:0{digits}}of{n_parts}{dot}{suffix}")


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
    found: list[Diagnostic] = []
    launches = _opened(part, options or SpecOptions(), found, on_done)
    is_json = format_of(part.path) == "json"
    with open_output(part.path) as sink:
        if is_json:
            _write_json(plan, part, sink, launches, found, host)
        else:
            _write_native(plan, sink, launches, found)
    return found


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
            continue
        yield placed, launch
        found += [d for d in launch.report if d not in found]
        if on_done is not None:
            on_done(i + 1)


def _write_native(plan: Plan, sink: BinaryIO, launches: Opened, found: list[Diagnostic]) -> None:
    """One trace after the other: ids of tracks are made from what a launch is, so they keep apart."""
    from mgpu_trace.export.perfetto import write_perfetto
    from mgpu_trace.export.perfetto_options import BOOTTIME, REALTIME, PerfettoOptions, Zero

    clock = REALTIME if plan.is_on_host else BOOTTIME
    for placed, launch in launches:
        base = Zero(_how(placed), placed.begin_ns, clock)
        more = write_perfetto(launch, sink, PerfettoOptions(base=base))
        found += [d.in_file(placed.entry.file) for d in more]


def _how(placed: Placed) -> str:
    """How a launch was placed, in words."""
    turn = {0: "turn of the timer assumed", 1: "turn of the timer certain"}
    what = turn.get(placed.n_fits, f"one of {placed.n_fits} turns of the timer")
    return f"placed by merge, to {placed.uncertainty_ns} ns; {what}"


def _write_json(
    plan: Plan,
    part: Part,
    sink: BinaryIO,
    launches: Opened,
    found: list[Diagnostic],
    host: HostTrace | None,
) -> None:
    """All launches on processes of their devices' SMs, and each device's launches as slices at the top."""
    largest_sm = max((placed.entry.largest_sm for placed in part.launches), default=0)
    ids = RunIds(len(plan.devices), largest_sm, host.largest_id if host else 0)
    sink.write(HEAD)
    before = b"\n"
    of_host = (json.dumps(event).encode() for event in (host.events if host else ()))
    for record in chain(of_host, _device_records(plan, part, ids)):
        sink.write(before + record)
        before = b",\n"
    details: list[Mapping[str, Any]] = []
    for placed, launch in launches:
        label = _label(plan, placed.device)
        own = LaunchIds(ids, placed.device, label, placed.slot)
        writer = LaunchWriter(launch, sink, ChromeOptions(), own, placed.begin_ns - plan.zero_ns)
        writer.write_events(before)
        more = [d.in_file(placed.entry.file) for d in writer.diagnostics()]
        found += more
        details.append({**_place_of(plan, placed), **writer.metadata(more)})
    sink.write(tail(metadata_of(plan, part) | {"launches": details}))


def _label(plan: Plan, device: int) -> str:
    of = plan.devices[device]
    several = len({d.process for d in plan.devices}) > 1
    return (f"process {of.process} · " if several else "") + f"device {of.device_id}"


def _device_records(plan: Plan, part: Part, ids: RunIds) -> Iterator[bytes]:
    """A process for each device, with a slice for each launch; overlapping ones on threads of their own."""
    for device in sorted({placed.device for placed in part.launches}):
        pid, _ = ids.pid(device, -1)
        name = json_string(f"{plan.devices[device].name} · {_label(plan, device)} · launches")
        yield _NAME % (b"process_name", pid, name)
        yield b'{"ph":"M","name":"process_sort_index","pid":%d,"args":{"sort_index":%d}}' % (pid, pid)
    for placed in part.launches:
        pid, _ = ids.pid(placed.device, -1)
        tid, is_new = ids.tid(pid, f"launches {placed.slot}")
        if is_new:
            what = json_string("launches" + (f" · stream {placed.slot + 1}" if placed.slot else ""))
            yield _THREAD % (pid, tid, what)
        yield _slice(placed, pid, tid, placed.begin_ns - plan.zero_ns)


def _slice(placed: Placed, pid: int, tid: int, ns: int) -> bytes:
    dur = placed.entry.dur_ns
    args = json_string(_how(placed)), json_string(placed.entry.file)
    return _LAUNCH % (
        *(pid, tid, ns // 1000, ns % 1000, dur // 1000, dur % 1000),
        json_string(launch_name(placed.entry.spec)),
        *args,
    )


_NAME: Final = b'{"ph":"M","name":"%b","pid":%d,"args":{"name":%b}}'
_THREAD: Final = b'{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":%b}}'
_LAUNCH: Final = (
    b'{"ph":"X","cat":"launch","pid":%d,"tid":%d,"ts":%d.%03d,"dur":%d.%03d,"name":%b,'
    b'"args":{"placed":%b,"file":%b}}'
)


def _place_of(plan: Plan, placed: Placed) -> dict[str, Any]:
    return {
        "file": placed.entry.file,
        "device": str(plan.devices[placed.device]),
        "begin_ns": placed.begin_ns,
        "uncertainty_ns": placed.uncertainty_ns,
        "n_turns_that_fit": placed.n_fits,
        "stretch": placed.stretch,
    }


def metadata_of(plan: Plan, part: Part) -> dict[str, Any]:
    """What a merged trace says about itself."""
    return {
        "tool": "mgpu-trace",
        "zero_ns": plan.zero_ns,
        "zero": _zero(plan),
        "n_launches": len(part.launches),
        "n_launches_of_run": len(plan.launches),
        **plan.notes,
        "findings": [d.to_dict() for d in plan.found],
    }


def _zero(plan: Plan) -> str:
    if plan.is_on_trace:
        return "the host trace's"
    return "host time (UNIX epoch)" if plan.is_on_host else "the first launch of each device"


def describe(parts: Sequence[Part]) -> Iterator[str]:
    """What will be written, in lines for people."""
    for part in parts:
        said = f"{part.path}: {len(part.launches)} launches, about {_mb(part.predicted_bytes)}"
        if part.unpacked_bytes > LOADS_BYTES:
            said += (
                f" ({_mb(part.unpacked_bytes)} unpacked: more than a browser loads; --max-size makes parts "
                "that do)"
            )
        yield said


def _mb(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:.1f} GB"
