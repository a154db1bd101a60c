"""Launches to compare, made of durations, and launches that differ by a known change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.analyse.diff_findings import findings
from mgpu_trace.analyse.table import Table
from mgpu_trace.clock import ClockModel
from mgpu_trace.diagnostics import Report
from mgpu_trace.model import Slices, Timeline, TraceBuffer, Tracks
from mgpu_trace.pipeline import Launch
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth import SynthConfig, synthesise

NAMES = ("load", "mma", "store")
LOAD, MMA, STORE = range(3)


def launch_of(
    track: Sequence[int] | NDArray[np.int64],
    name: Sequence[int] | NDArray[np.int64],
    dur_cyc: Sequence[int] | NDArray[np.int64],
    *,
    n_blocks: int,
    units: int = 1,
    names: tuple[str, ...] | None = NAMES,
    mhz: float | None = 2000.0,
) -> Timeline:
    """A launch whose tracks run their slices one after the other; rows are in any order of tracks."""
    order = np.argsort(np.asarray(track, np.int64), kind="stable")
    of = np.asarray(track, np.int64)[order]
    dur = np.asarray(dur_cyc, np.int64)[order]
    end = np.cumsum(dur)
    before = end - dur
    first = np.flatnonzero(np.diff(of, prepend=-1))
    start = before - np.repeat(before[first], np.diff(first, append=len(of)))
    n = n_blocks * units
    n_events = 2 * np.bincount(of, minlength=n)
    spec = TraceSpec(
        grid=(n_blocks, 1, 1), block=(128 * units, 1, 1), words_per_track=4096, names=names, sm_clock_mhz=mhz
    )
    tracks = Tracks(
        tracks_per_block=units,
        sm=np.repeat(np.arange(n_blocks, dtype=np.uint32) % 4, units),
        start_ns=np.zeros(n, np.uint32),
        n_events=n_events.astype(np.int32),
        n_skipped=np.zeros(n, np.int32),
        first_clock=np.zeros(n, np.uint32),
        flags=np.zeros(n, np.uint8),
    )
    slices = Slices(
        track=of.astype(np.int32),
        name=np.asarray(name, np.int32)[order],
        depth=np.zeros(len(of), np.int16),
        lane=np.zeros(len(of), np.int32),
        start_cyc=start,
        dur_cyc=dur,
        closed=np.ones(len(of), np.bool_),
    )
    source = "none" if mhz is None else "metadata"
    clock = ClockModel(mhz, source, None, None, 0, None, np.zeros(n))
    return Timeline(spec, tracks, slices, clock, Report())


@dataclass(frozen=True)
class Kind:
    """How launches vary.

    ``blocks`` are those of the old and the new side, ``units`` tracks of a block: with several the first
    loads, the others multiply. ``n`` are least and most slices of a region in a track. ``slice_``, ``block``
    and ``launch`` are the spreads (of the logarithm) of single slices, of whole blocks, and of whole
    launches; ``captures`` launches on each side. ``slope``: the last block has that much more to do than
    the first.
    """

    blocks: tuple[int, int] = (8, 8)
    units: int = 1
    n: tuple[int, int] = (4, 12)
    slice_: float = 0.3
    block: float = 0.0
    launch: float = 0.0
    captures: tuple[int, int] = (1, 1)
    slope: float = 0.0


def sides(kind: Kind, change: float, random: np.random.Generator) -> tuple[list[Timeline], list[Timeline]]:
    """Launches of both sides: on the new one ``mma`` takes ``1 + change`` times as long."""
    found = [
        [_made(kind, n_blocks, factor, random) for _ in range(captures)]
        for n_blocks, factor, captures in zip(kind.blocks, (1.0, 1 + change), kind.captures, strict=True)
    ]
    return found[0], found[1]


def _made(kind: Kind, n_blocks: int, factor: float, random: np.random.Generator) -> Timeline:
    n_tracks = n_blocks * kind.units
    rows: list[tuple[NDArray[np.int64], int, float]] = []
    unit = np.arange(n_tracks) % kind.units
    for name, cyc in ((LOAD, 400.0), (MMA, 1000.0 * factor), (STORE, 150.0)):
        has = np.ones(n_tracks, np.bool_) if kind.units == 1 else (unit == 0) == (name == LOAD)
        times = np.where(has, random.integers(kind.n[0], kind.n[1] + 1, n_tracks), 0)
        rows.append((np.repeat(np.arange(n_tracks), times), name, cyc))
    work = np.exp(kind.block * random.standard_normal(n_blocks)) * np.linspace(1, 1 + kind.slope, n_blocks)
    work *= np.exp(kind.launch * random.standard_normal())
    track = np.concatenate([tracks for tracks, _, _ in rows])
    name = np.concatenate([np.full(len(tracks), name) for tracks, name, _ in rows])
    mean = np.concatenate([np.full(len(tracks), cyc) for tracks, _, cyc in rows])
    dur = mean * work[track // kind.units] * np.exp(kind.slice_ * random.standard_normal(len(track)))
    return launch_of(track, name, np.rint(dur), n_blocks=n_blocks, units=kind.units)


def by_region(table: Table) -> dict[str, dict[str, Any]]:
    """The rows of a comparison."""
    return {row["region"]: row for row in table.rows()}


def codes(table: Table) -> list[str]:
    """What there is to heed in a comparison."""
    return [finding.code.id for finding in findings(table)]


def made(seed: int = 0, **config: Any) -> Launch:
    """A synthetic launch of that seed."""
    found = synthesise(SynthConfig(**config), seed)
    return Launch(TraceBuffer(found.spec, found.words))
