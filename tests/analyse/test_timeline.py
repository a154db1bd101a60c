"""Segments and the cells of a picture against following each track cycle by cycle."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_stats import Row, chosen, launch_of, truth_of
from strategies import corrupted_launches, random_launches, sound_launches

import mgpu_trace
from mgpu_trace.analyse.select import parse_selection
from mgpu_trace.analyse.source import origin_cyc
from mgpu_trace.analyse.timeline import find_segments
from mgpu_trace.analyse.timeline_cells import LITTLE, NOTHING, OTHER, cells_of, edges_of
from mgpu_trace.layout import Scope
from mgpu_trace.synth import SynthConfig, synthesise

LAUNCHES = st.one_of(sound_launches(), random_launches(), corrupted_launches())
SELECT = st.lists(
    st.sampled_from(
        ("sm=0-1", "unit=0", "block=1,0,0", "name=[ab]", "name=region_1", "time=:20us", "time=1ms:",
         "time=1.01us:1.1us", "time=40ns:40ns", "time=5ns:300ns")
    ),
    max_size=2,
)  # fmt: skip

Stretch = tuple[Row, int, int]


def innermost(rows: list[Row]) -> list[Stretch]:
    """Of one track: who was entered last of those open, and from when to when."""
    edges = sorted({t for row in rows for t in (row.start, row.start + row.dur)})
    found: list[Stretch] = []
    previous = None
    for begin, end in pairwise(edges):
        opened = [i for i, row in enumerate(rows) if row.start <= begin and end <= row.start + row.dur]
        if opened and opened[-1] == previous and found[-1][2] == begin:
            found[-1] = (*found[-1][:2], end)
        elif opened:
            found.append((rows[opened[-1]], begin, end))
        previous = opened[-1] if opened else None
    return found


def cell_of(stretches: list[tuple[int, int, int]], lo: int, hi: int) -> int:
    """What a cell shows, by the rule in docs/analysis.md."""
    cyc: dict[int, int] = defaultdict(int)
    for state, begin, end in stretches:
        if min(end, hi) > max(begin, lo):
            cyc[state] += min(end, hi) - max(begin, lo)
    if not cyc:
        return NOTHING
    return LITTLE if 2 * sum(cyc.values()) < hi - lo else max(cyc, key=lambda state: cyc[state])


class Slow:
    """The answer of the slow way, for a launch with some selection."""

    def __init__(
        self, made: Any, select: list[str], launch: mgpu_trace.Launch, n: int, longest: bool
    ) -> None:
        answer = reference.decode(made.words, made.spec)
        self.sm = {track.number: track.sm for track in answer.tracks}
        selection = parse_selection(select)
        keeps, self.selects = chosen(selection, made.spec, self.sm, launch.clock)
        origin = origin_cyc(launch).tolist()
        self.by_track: dict[int, list[Row]] = defaultdict(list)
        for s in answer.slices:
            self.by_track[s.track].append(Row(s.track, s.name, s.start_cyc, s.dur_cyc))
        self.origin, per_block = origin, made.spec.tracks_per_block
        at = {
            t: [(origin[t] + r.start, origin[t] + r.start + r.dur) for r in rows]
            for t, rows in self.by_track.items()
        }
        self.extent = {t: (min(a for a, _ in ends), max(b for _, b in ends)) for t, ends in at.items()}
        block = defaultdict(list)
        for t, extent in self.extent.items():
            if keeps(t):
                block[t // per_block, self.sm[t]].append(extent)
        dur = {key: max(b for _, b in ends) - min(a for a, _ in ends) for key, ends in block.items()}
        tracks = [t for t, rows in sorted(self.by_track.items()) if keeps(t) and any(map(self.selects, rows))]
        if longest:
            key = {t: (t // per_block, self.sm[t]) for t in tracks}
            tracks.sort(key=lambda t: (-dur[key[t]], key[t], t))
        self.tracks, self.n_more = tracks[:n], max(0, len(tracks) - n)
        self.window = self._window(selection.time_ns, launch.clock.ns_per_cyc)

    def _window(self, windows: Any, per_cyc: float) -> tuple[int, int]:
        begin = min((self.extent[t][0] for t in self.tracks), default=0)
        end = max((self.extent[t][1] for t in self.tracks), default=0)
        if windows:
            first, last = min(w[0] for w in windows), max(w[1] for w in windows)
            begin = begin if math.isinf(first) else math.floor(first / per_cyc)
            end = end if math.isinf(last) else math.ceil(last / per_cyc)
        return begin, max(begin, end)

    def stretches(self, track: int) -> list[Stretch]:
        zero = self.origin[track]
        return [(row, zero + a, zero + b) for row, a, b in innermost(self.by_track[track])]


@settings(max_examples=150)
@given(LAUNCHES, SELECT, st.sampled_from((1, 3, 100)), st.booleans(), st.sampled_from((None, 1000.0, 1700.0)))
def test_segments_of_any_launch(made, select, n_tracks, longest, mhz):
    made = replace(made, spec=replace(made.spec, sm_clock_mhz=mhz))
    launch = launch_of(made, 5)
    launch.selection = parse_selection(select)
    slow = Slow(made, select, launch, n_tracks, longest)
    table = mgpu_trace.segments(launch, n_tracks=n_tracks, longest=longest, unit="cyc", roles={0: "tma"})
    label = "warp" if made.spec.scope is Scope.WARP else "warpgroup"
    _, gy, gz = made.spec.grid
    want, tracks = [], []
    flags = {t.number: t.flags for t in reference.decode(made.words, made.spec).tracks}
    for track in slow.tracks:
        block, unit = divmod(track, made.spec.tracks_per_block)
        who = {
            "track": track, "sm": slow.sm[track],
            "block": f"{block // (gy * gz)},{block // gz % gy},{block % gz}", "unit": unit,
            "role": "tma" if unit == 0 else f"{label} {unit}",
        }  # fmt: skip
        for row, begin, end in slow.stretches(track):
            if slow.selects(row):
                want.append({
                    **who, "region": made.spec.name_of(row.name), "begin_cyc": begin, "end_cyc": end,
                    "dur_cyc": end - begin,
                })  # fmt: skip
        begin, end = slow.extent[track]
        lost_end = flags[track] & (reference.OVERFULL | reference.TRUNCATED) != 0
        lost_start = flags[track] & reference.OVERWRITTEN != 0
        tracks.append({
            **who, "begin_cyc": begin, "end_cyc": end, "lost_start": lost_start, "lost_end": lost_end,
        })  # fmt: skip
    assert table.rows() == want
    assert table.facts == {
        "unit": "cyc", "n_tracks": len(slow.tracks), "n_tracks_more": slow.n_more,
        "begin_cyc": slow.window[0], "end_cyc": slow.window[1], "tracks": tracks,
    }  # fmt: skip


@settings(max_examples=150)
@given(LAUNCHES, SELECT, st.sampled_from((1, 2, 9, 40)), st.sampled_from((None, 1000.0)))
def test_cells_of_any_launch(made, select, n_columns, mhz):
    made = replace(made, spec=replace(made.spec, sm_clock_mhz=mhz))
    launch = launch_of(made)
    launch.selection = parse_selection(select)
    slow = Slow(made, select, launch, 4, False)
    cells = cells_of(find_segments(launch, 4), n_columns).tolist()
    begin, end = slow.window
    span = max(1, end - begin)
    n = min(span, n_columns)
    want = []
    for track in slow.tracks:
        states = [(r.name if slow.selects(r) else OTHER, a, b) for r, a, b in slow.stretches(track)]
        edges = [begin + i * span // n for i in range(n + 1)]
        line = [cell_of(states, lo, hi) for lo, hi in pairwise(edges)]
        want.append([line[i * n // n_columns] for i in range(n_columns)])
    assert cells == want


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(0, 2), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_every_cycle_of_what_really_happened(n_blocks, n_iterations, n_columns, seed):
    """On one SM: the track's region at each cycle is that of the true timeline."""
    made = synthesise(SynthConfig(n_sms=1, grid=(n_blocks, 1, 1), n_iterations=n_iterations), seed)
    truth = truth_of(made)
    zero = min(row.start for row in truth)
    end = max(row.start + row.dur for row in truth) - zero
    state = np.full((made.spec.n_tracks, end), NOTHING)
    for row in truth:  # by enter: what was entered last is written last
        state[row.track, row.start - zero : row.start - zero + row.dur] = row.name
    found = find_segments(launch_of(made), 100)
    assert found.window_cyc == (0, end)
    again = np.full_like(state, NOTHING)
    for row, name, a, b in zip(found.row, found.name, found.begin_cyc, found.end_cyc, strict=True):
        assert (again[row, a:b] == NOTHING).all()
        again[row, a:b] = name
    assert (again == state).all()
    cells, edges = cells_of(found, n_columns), edges_of((0, end), n_columns).tolist()
    for column, (lo, hi) in enumerate(pairwise(edges)):
        for track in range(made.spec.n_tracks):
            there = state[track, lo:hi][state[track, lo:hi] != NOTHING]
            shown = cells[track, column]
            if shown in (NOTHING, LITTLE):
                assert (len(there) == 0) if shown == NOTHING else 0 < 2 * len(there) < hi - lo
            else:
                names, n = np.unique(there, return_counts=True)
                assert 2 * len(there) >= hi - lo
                assert n[names == shown] == n.max()


def test_a_timeline_has_no_window_of_its_own() -> None:
    made = synthesise(SynthConfig(grid=(2, 1, 1)), 3)
    launch = launch_of(made)
    assert mgpu_trace.segments(launch.timeline()).rows() == mgpu_trace.segments(launch).rows()


def test_nanoseconds_without_a_rate() -> None:
    made = synthesise(SynthConfig(grid=(1, 1, 1), state_clock=False), 3)
    with pytest.raises(mgpu_trace.MgpuTraceError, match="rate of the SM clock"):
        mgpu_trace.segments(launch_of(made), unit="ns")
