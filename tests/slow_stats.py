"""Statistics the slow way, written from docs/analysis.md alone: one slice at a time, in plain integers.

The statistics share nothing with mgpu_trace.analyse. Percentiles and deviations are numpy's, on the raw
list of lengths. Times are cycles. Below them is what the tests of both files of statistics need.
"""

from __future__ import annotations

import fnmatch
import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
import reference
from strategies import Made

import mgpu_trace
from mgpu_trace.analyse.select import Selection
from mgpu_trace.analyse.stats import COLUMNS
from mgpu_trace.layout import Scope
from mgpu_trace.model import TraceBuffer
from mgpu_trace.pipeline import Launch
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth import Synthetic

PHASES = ("only", "prologue", "steady", "epilogue")


class Row(NamedTuple):
    """One slice; a list of them is in the order of tracks, then of enters."""

    track: int
    name: int
    start: int
    dur: int
    closed: bool = True


@dataclass
class Told:
    """A row with what depends on the slices around it."""

    row: Row
    own: int
    index: int
    phase: str


def tell(rows: Sequence[Row]) -> list[Told]:
    """Self time, occurrence and phase of each slice; ``rows`` are those of whole tracks."""
    own = self_times(rows)
    of_name = Counter((row.track, row.name) for row in rows)
    seen: Counter[tuple[int, int]] = Counter()
    told = []
    for i, row in enumerate(rows):
        key = row.track, row.name
        index, n = seen[key], of_name[key]
        seen[key] += 1
        phase = "only" if n == 1 else {0: "prologue", n - 1: "epilogue"}.get(index, "steady")
        told.append(Told(row, own[i], index, phase))
    return told


def self_times(rows: Sequence[Row]) -> list[int]:
    """Each moment of a track belongs to the slice that was entered last of those open."""
    own = [0] * len(rows)
    by_track: dict[int, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        by_track[row.track].append(i)
    for mine in by_track.values():
        edges = sorted({t for i in mine for t in (rows[i].start, rows[i].start + rows[i].dur)})
        waiting = sorted(mine, key=lambda i: rows[i].start, reverse=True)
        opened: list[int] = []  # the last entered first; what is over is dropped when it comes up
        for t, until in pairwise(edges):
            while waiting and rows[waiting[-1]].start <= t:
                heapq.heappush(opened, -waiting.pop())
            while opened and rows[-opened[0]].start + rows[-opened[0]].dur <= t:
                heapq.heappop(opened)
            if opened:
                own[-opened[0]] += until - t
    return own


def time_in_regions(rows: Iterable[Row]) -> int:
    """How long at least one region is open, over all tracks: intervals, put together."""
    total = 0
    ends: dict[int, int] = {}
    for row in sorted(rows, key=lambda row: (row.track, row.start)):
        end = ends.get(row.track, row.start)
        total += max(0, row.start + row.dur - max(end, row.start))
        ends[row.track] = max(end, row.start + row.dur)
    return total


def extents(rows: Iterable[Row]) -> dict[int, tuple[int, int]]:
    """First enter and last end of each track that has slices."""
    found: dict[int, tuple[int, int]] = {}
    for row in rows:
        begin, end = found.get(row.track, (row.start, row.start))
        found[row.track] = min(begin, row.start), max(end, row.start + row.dur)
    return found


def statistics(
    rows: Sequence[Row],
    key: Callable[[Told], tuple[Any, ...]],
    *,
    selects: Callable[[Row], bool] = lambda row: True,
    keeps: Callable[[int], bool] = lambda track: True,
    steady: bool = False,
    gap: int | None = None,
) -> tuple[dict[tuple[Any, ...], dict[str, Any]], dict[str, Any]]:
    """The rows of the answer by key, and its facts.

    ``keeps`` says which tracks are kept, ``selects`` which slices are.
    """
    told = [t for t in tell(rows) if keeps(t.row.track) and selects(t.row)]
    kept = {track: ends for track, ends in extents(rows).items() if keeps(track)}
    n_before = len(told)
    if steady:
        told = [t for t in told if t.phase == "steady"]
    groups: dict[tuple[Any, ...], list[Told]] = defaultdict(list)
    for t in told:
        groups[key(t)].append(t)
    tracks_cyc = sum(end - begin for begin, end in kept.values())
    facts = {
        "n_tracks": len(kept),
        "n_slices": len(told),
        "tracks_cyc": tracks_cyc,
        "in_regions_cyc": time_in_regions(row for row in rows if keeps(row.track)),
        "smallest_gap_cyc": gap,
    }
    if steady:
        facts["n_left_out"] = n_before - len(told)
    return {k: _row(group, tracks_cyc, gap) for k, group in groups.items()}, facts


def _row(group: list[Told], tracks_cyc: int, gap: int | None) -> dict[str, Any]:
    lengths = [t.row.dur for t in group]
    total, own = sum(lengths), sum(t.own for t in group)
    mean = total / len(group)
    found: dict[str, Any] = {
        "count": len(group),
        "total_cyc": total,
        "self_cyc": own,
        "mean_cyc": mean,
        **{f"p{p}_cyc": float(np.percentile(lengths, p)) for p in (50, 90, 99)},
        "min_cyc": min(lengths),
        "max_cyc": max(lengths),
        "share": total / tracks_cyc if tracks_cyc else None,
        "self_share": own / tracks_cyc if tracks_cyc else None,
        "cv": float(np.std(np.array(lengths, np.longdouble)) / mean) if mean else None,
    }
    for phase in ("prologue", "steady", "epilogue"):
        part = [t.row.dur for t in group if t.phase == phase]
        found[f"{phase}_mean_cyc"] = sum(part) / len(part) if part else None
    found["probe_cyc"] = None if gap is None else len(group) * gap
    found["n_unclosed"] = sum(not t.row.closed for t in group)
    return found


def truth_of(made: Synthetic) -> list[Row]:
    t = made.truth
    return [
        Row(*row)
        for row in zip(*(c.tolist() for c in (t.track, t.name, t.start_cyc, t.dur_cyc)), strict=True)
    ]


def tracks_of(rows: list[Row]) -> list[list[Row]]:
    return [[r for r in rows if r.track == track] for track in sorted({r.track for r in rows})]


def edges_of(rows: list[Row]) -> list[int]:
    return sorted(cyc for row in rows for cyc in (row.start, row.start + row.dur))


def smallest_gap(made: Made) -> int | None:
    """Between neighbouring events, by the rules of docs/format.md, before any overhead is taken off."""
    found: list[int] = []
    tracks = reference.decode(made.words, made.spec).tracks
    for row, mine in zip(made.words.tolist(), tracks, strict=True):
        events = [(row[3 + 2 * i], row[4 + 2 * i]) for i in range(mine.n_skipped, mine.n_events)]
        clocks = [clock for tag, clock in events if tag % 2**31 < 2**20]
        times = reference.level(reference.read_times(clocks), mine, defaultdict(list))
        found += [b - a for a, b in pairwise(times)]
    return min(found, default=None)


def place(spec: TraceSpec, sm: dict[int, int], roles: dict[int, str], by: list[str]) -> Any:
    """The key of a row, as the answer has it."""

    def key(told: Told) -> tuple[Any, ...]:
        track = told.row.track
        block, unit = divmod(track, spec.tracks_per_block)
        _, gy, gz = spec.grid
        label = "warp" if spec.scope is Scope.WARP else "warpgroup"
        parts = {
            "region": spec.name_of(told.row.name),
            "unit": unit,
            "role": roles.get(unit, f"{label} {unit}"),
            "sm": sm[track],
            "block": f"{block // (gy * gz)},{block // gz % gy},{block % gz}",
            "index": told.index,
            "phase": told.phase,
        }
        return tuple(parts[k] for k in by)

    return key


def chosen(selection: Selection, spec: TraceSpec, sm: dict[int, int], clock: Any) -> tuple[Any, Any]:
    """What --select says of tracks and of slices, one at a time."""

    def keeps(track: int) -> bool:
        block, unit = divmod(track, spec.tracks_per_block)
        _, gy, gz = spec.grid
        place = (block // (gy * gz), block // gz % gy, block % gz)
        return (
            (not selection.sm or any(a <= sm[track] <= b for a, b in selection.sm))
            and (not selection.unit or any(a <= unit <= b for a, b in selection.unit))
            and (not selection.block or place in selection.block)
        )

    def selects(row: Row) -> bool:
        name = spec.name_of(row.name)
        if selection.name and not any(fnmatch.fnmatchcase(name, pattern) for pattern in selection.name):
            return False
        origin = float(clock.origin_ns[row.track])
        begin, end = (
            math.floor(origin + cyc * clock.ns_per_cyc + 0.5) for cyc in (row.start, row.start + row.dur)
        )
        windows = selection.time_ns
        return not windows or any(begin <= last and end >= first for first, last in windows)

    return keeps, selects


def launch_cyc(rows: list[Row], keeps: Any, clock: Any) -> float:
    """From the first enter of a kept track to the last end, on the clock's own line of time."""
    at = [float(clock.origin_ns[row.track]) / clock.ns_per_cyc for row in rows if keeps(row.track)]
    kept = [row for row in rows if keeps(row.track)]
    begins = [origin + row.start for origin, row in zip(at, kept, strict=True)]
    ends = [begin + row.dur for begin, row in zip(begins, kept, strict=True)]
    return max(ends, default=0.0) - min(begins, default=0.0)


def launch_of(made: Made | Synthetic, run_events: int | None = None, **options: Any) -> Launch:
    launch = Launch(TraceBuffer.from_flat(made.words.reshape(-1), made.spec), **options)
    if run_events is not None:
        launch._decoder.run_events = run_events
    return launch


def assert_same(
    table: mgpu_trace.Table, by: list[str], want: dict[tuple[Any, ...], dict[str, Any]], facts: dict[str, Any]
) -> None:
    rows = table.rows()
    assert [name.removesuffix("_cyc") for name in table.columns] == [*by, *COLUMNS]
    assert len(rows) == len(want)
    for row in rows:
        for name, value in want[tuple(row[key] for key in by)].items():
            assert row[name] == near(value), (name, row)
    assert {key: table.facts[key] for key in facts} == facts


def near(value: Any) -> Any:
    """Whole numbers as they are, others to the last few digits."""
    return pytest.approx(value, rel=1e-12, abs=1e-12) if isinstance(value, float) else value
