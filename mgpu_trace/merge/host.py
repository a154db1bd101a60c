"""The host's view: a trace of the profiler of JAX, in whose kernel slices our launches lie.

``jax.profiler.trace(create_perfetto_trace=True)`` writes Chrome JSON with a slice for every kernel that
the driver launched. Launches are matched with them by kernel name and order. A launch's first and last
events lie inside its slice, so every match bounds the offset between the two clocks from both sides.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.diagnostics.clip import clipped, counted
from mgpu_trace.merge.match import Kernels, Sequences, matches
from mgpu_trace.merge.plan import Placed, Plan

# A host trace is held whole.
_MAX_BYTES: Final = 2 << 30


@dataclass(frozen=True, slots=True)
class HostTrace:
    """A trace of the host.

    Attributes
    ----------
    events
        As they stand in the file.
    ids
        Its process and thread ids.
    """

    file: str
    events: list[dict[str, Any]]
    ids: frozenset[int]

    def kernels(self, name: str) -> Kernels:
        """Complete slices of a kernel: of that name, or with it as a word in theirs.

        Where some are on processes of devices, only those count: the host's own calls have such names too.
        """
        named = self._processes()
        word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])")
        found = []
        for event in self.events:
            if event.get("ph") == "X" and word.search(str(event.get("name", ""))):
                begin, dur = _ns(event.get("ts")), _ns(event.get("dur"))
                if begin is not None and dur is not None:
                    process = named.get(str(event.get("pid")), "")
                    number = re.search(r"device:[A-Za-z]+:([0-9]{1,9})\b", process)
                    found.append((begin, begin + dur, int(number[1]) if number else -1, "device:" in process))
        on_devices = [row for row in found if row[3]]
        rows = sorted(row[:3] for row in (on_devices or found))
        return Kernels(*np.array(rows, np.int64).reshape(-1, 3).T)

    def _processes(self) -> dict[str, str]:
        """Names of processes by their ids."""
        return {
            str(event.get("pid")): str(event.get("args", {}).get("name", ""))
            for event in self.events
            if event.get("ph") == "M" and event.get("name") == "process_name"
        }


@dataclass(frozen=True, slots=True)
class Mapping:
    """How the launches of one device lie in the host trace.

    Attributes
    ----------
    offset_ns
        What is added to a launch's time.
    uncertainty_ns
        Half the range of offsets that put every matched launch inside its slice; where there is none,
        half of what is missing, and ``is_consistent`` is False.
    n_matched, n_launches, n_slices
        Launches that have a slice, of how many, and slices of their kernels.
    """

    device: int
    offset_ns: int
    uncertainty_ns: int
    is_consistent: bool
    n_matched: int
    n_launches: int
    n_slices: int


def read_host_trace(file: str) -> HostTrace:
    """Read a ``perfetto_trace.json.gz`` or another trace of Chrome's JSON.

    Raises
    ------
    MgpuTraceError
        MGT671 where it cannot be read, or is none.
    """
    try:
        with open(file, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with gzip.open(file, "rb") if packed else open(file, "rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise MgpuTraceError(_invalid(file, "it is larger than 2 GiB"))
        parsed = json.loads(data)
    except OSError as error:
        raise MgpuTraceError(_invalid(file, error.strerror or str(error))) from None
    except (EOFError, ValueError, RecursionError) as error:
        raise MgpuTraceError(_invalid(file, f"it is no whole JSON: {clipped(str(error))}")) from None
    events = parsed.get("traceEvents") if isinstance(parsed, dict) else parsed
    if not isinstance(events, list):
        raise MgpuTraceError(_invalid(file, "it has no list traceEvents"))
    sound = [event for event in events if isinstance(event, dict) and isinstance(event.get("args", {}), dict)]
    ids = (event[key] for event in sound for key in ("pid", "tid") if isinstance(event.get(key), int))
    return HostTrace(file, sound, frozenset(ids))


def match(plan: Plan, host: HostTrace) -> list[Mapping]:
    """Match the launches of each device.

    Raises
    ------
    MgpuTraceError
        MGT670 where no launch of any device has a slice.
    """
    found = []
    slices = {name: host.kernels(name) for name in {placed.entry.kernel for placed in plan.launches}}
    of_device: list[list[Placed]] = [[] for _ in plan.devices]
    for placed in plan.launches:
        of_device[placed.device].append(placed)
    for device, mine in enumerate(of_device):
        mapping = _of_device(device, plan.devices[device].device_id, mine, slices)
        if mapping is not None:
            found.append(mapping)
    if not found:
        names = ", ".join(sorted({clipped(placed.entry.kernel) for placed in plan.launches})[:3])
        message = f"no slice of the host trace has the name of a kernel that was captured ({names})"
        hint = "give the trace of the same run, written with create_perfetto_trace=True"
        raise MgpuTraceError(Diagnostic(catalogue.HOST_UNMATCHED, message, hint=hint, file=host.file))
    return found


def on_host_trace(plan: Plan, host: HostTrace) -> tuple[Plan, list[Mapping]]:
    """The plan on the time line of a host trace.

    A device of which no launch has a slice is moved with the first that has some.
    """
    mappings = match(plan, host)
    offsets = {mapping.device: mapping.offset_ns for mapping in mappings}
    shifts = [offsets.get(device, mappings[0].offset_ns) for device in range(len(plan.devices))]
    notes = {
        "host_trace": host.file,
        "host_trace_devices": [
            {
                "name": str(plan.devices[mapping.device]),
                "offset_ns": mapping.offset_ns,
                "uncertainty_ns": mapping.uncertainty_ns,
                "is_consistent": mapping.is_consistent,
                "n_matched": mapping.n_matched,
                "n_launches": mapping.n_launches,
                "n_slices": mapping.n_slices,
            }
            for mapping in mappings
        ],
    }
    moved = plan.moved(shifts, list(findings(plan, host, mappings)), notes)
    return replace(moved, is_on_trace=True), mappings


def _of_device(
    device: int, device_id: int, launches: Sequence[Placed], slices: dict[str, Kernels]
) -> Mapping | None:
    pairs = []
    for kernel in sorted({placed.entry.kernel for placed in launches}):
        ours = [placed for placed in launches if placed.entry.kernel == kernel]
        begin = np.array([placed.begin_ns for placed in ours], np.int64)
        end = np.array([placed.end_ns for placed in ours], np.int64)
        pairs.append(Sequences(begin, end, slices[kernel].of_device(device_id)))
    n_slices = sum(len(pair.theirs.begin_ns) for pair in pairs)
    if not n_slices:
        return None
    matched = matches(pairs)
    if not any(len(mine) for mine, _ in matched):
        return None
    both = list(zip(pairs, matched, strict=True))
    low = np.concatenate([of.theirs.begin_ns[rows] - of.begin_ns[mine] for of, (mine, rows) in both])
    high = np.concatenate([of.theirs.end_ns[rows] - of.end_ns[mine] for of, (mine, rows) in both])
    least, most = int(low.max()), int(high.min())
    is_consistent = least <= most
    # Where no offset suits all, the middle one of what each would have.
    offset = (least + most) // 2 if is_consistent else int(np.median((low + high) // 2))
    sure = -(-abs(most - least) // 2)
    return Mapping(device, offset, sure, is_consistent, len(low), len(launches), n_slices)


def findings(plan: Plan, host: HostTrace, mappings: Sequence[Mapping]) -> Iterator[Diagnostic]:
    """What of the matching a reader must know."""
    n_unmatched = len(plan.launches) - sum(mapping.n_matched for mapping in mappings)
    n_slices = sum(mapping.n_slices - mapping.n_matched for mapping in mappings)
    if n_unmatched or n_slices:
        message = (
            f"{counted(n_unmatched, 'launch')} without a slice in the host trace, "
            f"{counted(n_slices, 'slice')} of their kernels without a launch"
        )
        yield Diagnostic(catalogue.HOST_PARTLY, message, n_unmatched + n_slices, file=host.file)
    for mapping in mappings:
        if not mapping.is_consistent:
            message = (
                f"{plan.devices[mapping.device]}: no offset puts all launches inside their slices; "
                f"they stick out by up to {mapping.uncertainty_ns} ns"
            )
            yield Diagnostic(catalogue.HOST_DISAGREES, message, file=host.file)


def _ns(micros: Any) -> int | None:
    """Microseconds of a trace as whole nanoseconds."""
    if isinstance(micros, bool) or not isinstance(micros, int | float | str):
        return None
    try:
        value = float(micros) * 1000
    except (ValueError, OverflowError):
        return None
    return round(value) if abs(value) < 2**62 else None


def _invalid(file: str, why: str) -> Diagnostic:
    return Diagnostic(
        catalogue.HOST_TRACE_INVALID,
        f"cannot be used as a host trace: {why}",
        hint="give the perfetto_trace.json.gz of jax.profiler",
        file=file,
    )
