"""What there is to know about each launch before it is merged: who it was, when, and how large."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from mgpu_trace.batch import each
from mgpu_trace.diagnostics import Diagnostic
from mgpu_trace.merge.place import MAX_DUR_NS, MAX_HOST_NS, UNKNOWN, Bounds
from mgpu_trace.model import I64, Tracks
from mgpu_trace.pipeline import open_launch
from mgpu_trace.spec import SpecOptions, TraceSpec


@dataclass(frozen=True, slots=True)
class Device:
    """Whose global timer it is: launches of one device are placed by one offset."""

    process: int
    device_id: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} · process {self.process} · device {self.device_id}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One launch of a run.

    Attributes
    ----------
    file
        Where it is.
    spec
        What is known about it.
    timer_ns
        Low 32 bits of the device's global timer at its first event.
    dur_ns
        From its first event to its last, as the clock model has it.
    has_rate
        Whether the rate of the SM clock is known; else ``dur_ns`` is in cycles.
    n_events, n_tracks
        How large it is: events that are read, and tracks with events.
    largest_sm
        Largest SM id among them.
    digest
        Of the starts of its tracks, which no two launches of a device share; empty where it has no events.
    """

    file: str
    spec: TraceSpec = field(repr=False)
    timer_ns: int
    dur_ns: int
    has_rate: bool
    n_events: int
    n_tracks: int
    largest_sm: int
    digest: bytes = field(default=b"", repr=False)

    @property
    def device(self) -> Device:
        spec = self.spec
        return Device(spec.process or 0, spec.device_id or 0, spec.device or "GPU")

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells launches apart."""
        spec = self.spec
        times = spec.host_time_before_ns, spec.host_time_ns
        return (self.device, self.kernel, spec.launch, *times, self.digest or self.file)

    @property
    def kernel(self) -> str:
        return self.spec.kernel or "kernel"


@dataclass(frozen=True, slots=True)
class Scanned:
    """All launches that could be read, and what was found in the files that could not."""

    entries: tuple[Entry, ...]
    errors: tuple[Diagnostic, ...]


def scan(
    files: Sequence[str],
    options: SpecOptions | None = None,
    *,
    jobs: int = 1,
    on_done: Callable[[int], None] | None = None,
) -> Scanned:
    """Look at every file: headers, and the times of first and last events. Nothing is paired."""
    entries: list[Entry] = []
    errors: list[Diagnostic] = []
    look = partial(_look, options=options or SpecOptions())
    names: dict[
        tuple[str, ...] | None, tuple[str, ...] | None
    ] = {}  # thousands of launches have the same ones
    for done in each(look, files, jobs=jobs, on_done=on_done):
        if done.error is not None:
            errors.append(done.error.in_file(files[done.index]))
        elif done.result is not None:
            spec = done.result.spec
            spec = replace(spec, names=names.setdefault(spec.names, spec.names))
            entries.append(replace(done.result, spec=spec))
    return Scanned(tuple(entries), tuple(errors))


def _look(file: str, *, options: SpecOptions) -> Entry:
    launch = open_launch(file, options)
    extents = launch.track_extents()
    active = extents >= 0
    rows = np.flatnonzero(active).astype(np.int32)
    end_ns = launch.clock.to_ns(rows, extents[rows])
    tracks = launch.tracks
    return Entry(
        file,
        launch.spec,
        launch.clock.base_ns,
        min(int(end_ns.max(initial=0)), MAX_DUR_NS),
        launch.clock.rate_mhz is not None,
        int(tracks.n_events.sum(dtype=np.int64) - tracks.n_skipped.sum(dtype=np.int64)),
        len(rows),
        int(tracks.sm[active].max(initial=0)),
        _digest(tracks) if len(rows) else b"",
    )


def _digest(tracks: Tracks) -> bytes:
    digest = hashlib.blake2b(tracks.start_ns.tobytes(), digest_size=16)
    digest.update(tracks.first_clock.tobytes())
    return digest.digest()


def bounds_of(entries: Sequence[Entry]) -> Bounds:
    """What is known about when launches of one device began.

    Without a rate of the SM clock nobody knows how long a launch took, so then that bounds nothing.
    """

    def column(value: Callable[[Entry], int | None]) -> I64:
        known = (value(entry) for entry in entries)
        return np.array([UNKNOWN if ns is None or ns > MAX_HOST_NS else ns for ns in known], np.int64)

    return Bounds(
        column(lambda e: e.timer_ns),
        column(lambda e: e.dur_ns if e.has_rate else 0),
        _not_yet_made(entries, column(lambda e: e.spec.host_time_before_ns)),
        column(lambda e: e.spec.host_time_ns),
        column(lambda e: e.spec.launch),
    )


def _not_yet_made(entries: Sequence[Entry], before_ns: I64) -> I64:
    """When launches had surely not been made, as far as it was noted.

    For launches of JAX that is noted when the callback of the launch before has ended. A program may run
    several kernels before the first one's callback comes, so only the launch of the same kernel before it
    is known to have been over by then; for the first of a kernel, what was noted first of all.
    """
    found = before_ns.copy()
    first = min((ns for ns in before_ns.tolist() if ns != UNKNOWN), default=UNKNOWN)
    over: dict[str, int] = {}
    for row in sorted(range(len(entries)), key=lambda row: entries[row].spec.host_time_ns or 0):
        spec = entries[row].spec
        if spec.jax_version is not None and before_ns[row] != UNKNOWN:
            found[row] = min(int(before_ns[row]), over.get(entries[row].kernel, first))
        if spec.host_time_ns is not None:
            over[entries[row].kernel] = spec.host_time_ns
    return found
