"""A merged trace as Chrome JSON: processes and lines that all launches share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO, Final

from mgpu_trace.diagnostics import Diagnostic
from mgpu_trace.export.chrome import HEAD, MAX_TIME_NS, ChromeOptions, LaunchWriter, tail
from mgpu_trace.export.jsontext import json_string
from mgpu_trace.export.picture import launch_name
from mgpu_trace.merge.host import HostTrace
from mgpu_trace.merge.ids import LaunchIds, RunIds, process_record
from mgpu_trace.merge.parts import Part
from mgpu_trace.merge.plan import Placed, Plan
from mgpu_trace.pipeline import Launch

# What launches of one kernel differ in; the rest of their specs is said once.
_OF_LAUNCH: Final = ("process", "device_id", "launch", "host_time_before_ns", "host_time_ns")


def write_json(
    plan: Plan,
    part: Part,
    sink: BinaryIO,
    launches: Iterator[tuple[Placed, Launch]],
    host: HostTrace | None,
) -> list[Diagnostic]:
    """All launches on processes of their devices' SMs, and each device's launches as slices at the top.

    Returns
    -------
    list of Diagnostic
        What could not be written as it is.
    """
    largest_sm = max((placed.entry.largest_sm for placed in part.launches), default=0)
    ids = RunIds(len(plan.devices), largest_sm, host.ids if host else frozenset())
    sink.write(HEAD)
    before = b"\n"
    of_host = (json.dumps(event).encode() for event in (host.events if host else ()))
    for record in chain(of_host, _device_records(plan, part, ids)):
        sink.write(before + record)
        before = b",\n"
    found: list[Diagnostic] = []
    about = _About()
    for placed, launch in launches:
        own = LaunchIds(ids, placed.device, _label(plan, placed.device), placed.slot)
        writer = LaunchWriter(launch, sink, ChromeOptions(), own, placed.begin_ns - plan.zero_ns)
        for record in own.processes():
            sink.write(before + record)
        writer.write_events(before)
        more = [d.in_file(placed.entry.file) for d in writer.diagnostics()]
        found += more
        about.add(placed, writer.metadata(more))
    sink.write(tail(metadata_of(plan, part) | {"specs": about.specs, "launches": about.launches}))
    return found


class _About:
    """What the metadata says of each launch; what many have in common is there once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.specs: list[dict[str, Any]] = []
        self.launches: list[dict[str, Any]] = []

    def add(self, placed: Placed, alone: dict[str, Any]) -> None:
        """Add a launch; ``alone`` is what a trace of it alone would say."""
        spec = dict(alone.pop("spec"))
        own = {name: spec.pop(name) for name in _OF_LAUNCH if name in spec}
        key = json.dumps(spec, sort_keys=True)
        if key not in self._numbers:
            self._numbers[key] = len(self.specs)
            self.specs.append(spec)
        clock = {name: value for name, value in alone.pop("clock").items() if name != "description"}
        rest = {name: alone[name] for name in ("n_tracks", "n_slices", "n_lost_events", "diagnostics")}
        place = _place_of(placed)
        self.launches.append({**place, "spec": self._numbers[key], **own, "clock": clock, **rest})


def _label(plan: Plan, device: int) -> str:
    of = plan.devices[device]
    several = plan.devices[0].process != plan.devices[-1].process  # they are in that order
    return (f"process {of.process} · " if several else "") + f"device {of.device_id}"


def _device_records(plan: Plan, part: Part, ids: RunIds) -> Iterator[bytes]:
    """A process for each device, with a slice for each launch; overlapping ones on threads of their own."""
    for device in sorted({placed.device for placed in part.launches}):
        pid, _ = ids.pid(device, -1)
        name = f"{plan.devices[device].name} · {_label(plan, device)} · launches"
        yield process_record(pid, name)
    for placed in part.launches:
        pid, _ = ids.pid(placed.device, -1)
        tid, is_new = ids.tid(pid, f"launches {placed.slot}")
        if is_new:
            what = json_string("launches" + (f" · stream {placed.slot + 1}" if placed.slot else ""))
            yield _THREAD % (pid, tid, what)
        if placed.end_ns - plan.zero_ns < MAX_TIME_NS:  # else its writer says that times are too long
            yield _slice(placed, pid, tid, placed.begin_ns - plan.zero_ns)


def _slice(placed: Placed, pid: int, tid: int, ns: int) -> bytes:
    dur = placed.entry.dur_ns
    args = json_string(placed.how), json_string(placed.entry.file)
    return _LAUNCH % (
        *(pid, tid, ns // 1000, ns % 1000, dur // 1000, dur % 1000),
        json_string(launch_name(placed.entry.spec)),
        *args,
    )


_THREAD: Final = b'{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":%b}}'
_LAUNCH: Final = (
    b'{"ph":"X","cat":"launch","pid":%d,"tid":%d,"ts":%d.%03d,"dur":%d.%03d,"name":%b,'
    b'"args":{"placed":%b,"file":%b}}'
)


def _place_of(placed: Placed) -> dict[str, Any]:
    return {
        "file": placed.entry.file,
        "device": placed.device,
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
