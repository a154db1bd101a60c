"""A run on one time line: every launch at its place, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.export.block_lanes import lanes_of_blocks
from mgpu_trace.merge.place import MAX_HOST_NS, Placement, contradictions, place
from mgpu_trace.merge.scan import Device, Entry, bounds_of
from mgpu_trace.model import I64, Bool

# Files that a finding names.
_SAID: Final = 3


@dataclass(frozen=True, slots=True)
class Placed:
    """One launch at its place.

    Attributes
    ----------
    entry
        The launch.
    device
        Number of its device in the plan.
    begin_ns
        Its first event, on the run's time line.
    uncertainty_ns
        How far that may be off against the host, either way.
    n_fits
        Turns of the timer between its bounds; 1 is certain, 0 is assumed.
    stretch
        Launches of one device and stretch are exact against each other.
    slot
        0, or another number where launches of its device overlap.
    """

    entry: Entry
    device: int
    begin_ns: int
    uncertainty_ns: int
    n_fits: int
    stretch: int
    slot: int = 0

    @property
    def end_ns(self) -> int:
        return self.begin_ns + self.entry.dur_ns

    @property
    def how(self) -> str:
        """How it was placed, in words."""
        turn = {0: "turn of the timer assumed", 1: "turn of the timer certain"}
        what = turn.get(self.n_fits, f"one of {self.n_fits} turns of the timer")
        return f"placed by merge, to {self.uncertainty_ns} ns; {what}"


@dataclass(frozen=True, slots=True)
class Plan:
    """A run.

    Attributes
    ----------
    devices
        By process, then by device.
    launches
        By begin.
    is_on_host
        Whether times are the host's (UNIX epoch). Else each device begins at 0 by itself, as does one without
        host times at the first launch of the others.
    found
        What is to be said about it.
    notes
        JSON-ready, for the metadata: what aligned the devices, and what was counted.
    is_on_trace
        Whether times are those of a host trace, whose zero they keep.
    """

    devices: tuple[Device, ...]
    launches: tuple[Placed, ...]
    is_on_host: bool
    found: tuple[Diagnostic, ...]
    notes: Mapping[str, Any]
    is_on_trace: bool = False

    @property
    def zero_ns(self) -> int:
        """What is shown as zero: the first event of all."""
        if self.is_on_trace:
            return 0
        return min((launch.begin_ns for launch in self.launches), default=0)

    def moved(self, shift_ns: Sequence[int], found: Sequence[Diagnostic], notes: Mapping[str, Any]) -> Plan:
        """The plan with the launches of each device moved, and more said."""
        launches = [
            replace(launch, begin_ns=_in_64_bits(launch.begin_ns + shift_ns[launch.device]))
            for launch in self.launches
        ]
        return replace(
            self,
            launches=_in_order(launches),
            found=(*self.found, *found),
            notes={**self.notes, **notes},
        )


def plan(entries: Sequence[Entry]) -> Plan:
    """Place all launches, device by device."""
    entries, found = _each_once(entries)
    found += _without_rate(entries)
    of_device: dict[Device, list[Entry]] = {}
    for entry in entries:
        of_device.setdefault(entry.device, []).append(entry)
    devices = sorted(of_device, key=lambda d: (d.process, d.device_id, d.name))
    placements: list[Placement] = []
    for device in devices:
        bounds = bounds_of(of_device[device])
        placements.append(place(bounds))
        wrong = contradictions(bounds, placements[-1])
        found += _findings(device, of_device[device], placements[-1], *wrong)
    on_host = [placement.is_on_host for placement in placements]
    zero = 0
    if any(on_host) and not all(on_host):
        found.append(_without_host(devices, on_host))
        zero = min(int(placement.begin_ns.min()) for placement in placements if placement.is_on_host)
    placed: list[Placed] = []
    for number, (device, placement) in enumerate(zip(devices, placements, strict=True)):
        begin = placement.begin_ns if placement.is_on_host else placement.begin_ns + zero
        columns = (begin, placement.uncertainty_ns, placement.n_fits, placement.stretch)
        placed += [
            Placed(entry, number, *row)
            for entry, *row in zip(of_device[device], *(column.tolist() for column in columns), strict=True)
        ]
    notes = {"devices": [{"name": str(device)} for device in devices]}
    return Plan(tuple(devices), _in_order(placed), any(on_host), tuple(found), notes)


def _each_once(entries: Sequence[Entry]) -> tuple[list[Entry], list[Diagnostic]]:
    """The launches without those that another file holds too; a file that knows the clock is kept."""
    once: dict[tuple[object, ...], Entry] = {}
    entries = sorted(entries, key=lambda entry: not entry.has_rate)
    again = [entry for entry in entries if once.setdefault(entry.identity, entry) is not entry]
    if not again:
        return [*once.values()], []
    named = _names(again, np.arange(len(again)))
    message = f"{counted(len(again), 'file')} left out, for another one holds the same launch: {named}"
    return [*once.values()], [Diagnostic(catalogue.SAME_LAUNCH, message, len(again))]


def _without_rate(entries: Sequence[Entry]) -> list[Diagnostic]:
    rows = np.flatnonzero([not entry.has_rate for entry in entries])
    if not rows.size:
        return []
    message = (
        f"{counted(rows.size, 'launch')} without an SM clock rate, shown with 1 cycle as 1 ns and of unknown "
        f"duration: {_names(entries, rows)}"
    )
    return [Diagnostic(catalogue.RATE_UNKNOWN, message, int(rows.size), hint="give --sm-clock-mhz")]


def _in_64_bits(ns: int) -> int:
    """Launches whose times are wrong may end up anywhere, but sums of two times stay what they are."""
    return max(-MAX_HOST_NS, min(ns, MAX_HOST_NS))


def _in_order(launches: Sequence[Placed]) -> tuple[Placed, ...]:
    """By begin; and of those of a device that overlap each in a slot of its own."""
    ordered = sorted(launches, key=lambda p: (p.begin_ns, p.device, p.entry.file))
    columns: list[I64] = [
        np.array(column, np.int64)
        for column in (
            [p.device for p in ordered],
            [p.begin_ns for p in ordered],
            [p.end_ns for p in ordered],
        )
    ]
    slots = lanes_of_blocks(*columns).tolist() if ordered else []
    return tuple(replace(launch, slot=slot) for launch, slot in zip(ordered, slots, strict=True))


def _findings(
    device: Device, entries: Sequence[Entry], placement: Placement, before: Bool, after: Bool
) -> list[Diagnostic]:
    found = []
    ambiguous = np.flatnonzero(placement.n_fits > 1)
    if ambiguous.size:
        found.append(
            Diagnostic(
                catalogue.TURN_AMBIGUOUS,
                f"{device}: the host's times leave {ambiguous.size} launches more than one turn of the "
                f"global timer (4.29 s) apart: {_names(entries, ambiguous)}; each is shown at the turn "
                "nearest the middle",
                int(ambiguous.size),
                hint="capture with less between launches, or leave them out (--select launch=)",
            )
        )
    assumed = np.flatnonzero(placement.n_fits == 0)
    if assumed.size:
        how = (
            "taken to be within one turn of the global timer (4.29 s) of the one time that is known"
            if placement.is_on_host
            else "without host times, each shown in the first turn of the timer after the one before"
        )
        message = f"{device}: {counted(assumed.size, 'launch')} {how}: {_names(entries, assumed)}"
        found.append(Diagnostic(catalogue.TURN_ASSUMED, message, int(assumed.size)))
    n_stretches = int(placement.stretch.max(initial=0)) + 1
    if n_stretches > 1:
        message = (
            f"{device}: no one offset between its timer and the host's clock explains all launches; "
            f"{n_stretches} stretches of them have one each"
        )
        found.append(Diagnostic(catalogue.CLOCKS_DRIFT, message, n_stretches - 1))
    return [*found, *_outside_noted(device, entries, before, after)]


def _outside_noted(
    device: Device, entries: Sequence[Entry], before: Bool, after: Bool
) -> Iterator[Diagnostic]:
    """Launches that lie outside what the host noted about them."""
    for rows, code, what in (
        (np.flatnonzero(after), catalogue.BOUNDS_CONTRADICT, "end after the host noted that they were over"),
        (
            np.flatnonzero(before & ~after),
            catalogue.BEFORE_NOTED,
            "begin before the host's first time of them",
        ),
    ):
        if rows.size:
            message = f"{device}: {counted(rows.size, 'launch')} {what}: {_names(entries, rows)}"
            yield Diagnostic(code, message, int(rows.size))


def _without_host(devices: Sequence[Device], on_host: Sequence[bool]) -> Diagnostic:
    without = [str(d) for d, known in zip(devices, on_host, strict=True) if not known]
    names = ", ".join(without[:_SAID]) + (f" and {len(without) - _SAID} more" if len(without) > _SAID else "")
    message = f"host times are known for some devices only; these begin when the others do: {names}"
    return Diagnostic(catalogue.NO_HOST_TIMES, message, on_host.count(False), hint="merge them apart")


def _names(entries: Sequence[Entry], rows: I64) -> str:
    shown = ", ".join(entries[row].file for row in rows[:_SAID].tolist())
    return shown + (f" and {rows.size - _SAID} more" if rows.size > _SAID else "")
