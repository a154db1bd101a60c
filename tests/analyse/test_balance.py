"""Balance against counting block by block, and activity against counting cycle by cycle."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_stats import Row, chosen, launch_of, near, truth_of
from strategies import corrupted_launches, random_launches, sound_launches

import mgpu_trace
from mgpu_trace.analyse.select import parse_selection
from mgpu_trace.analyse.source import origin_cyc
from mgpu_trace.analyse.weigh import activity_cells, weigh
from mgpu_trace.synth import Fault, SynthConfig, synthesise

LAUNCHES = st.one_of(sound_launches(), random_launches(), corrupted_launches())
SELECT = st.lists(
    st.sampled_from(
        ("sm=0-1", "unit=0", "block=1,0,0", "name=[ab]", "name=region_1", "time=:20us", "time=1ms:")
    ),
    max_size=2,
)
CUT = (
    reference.OVERFULL | reference.OVERWRITTEN | reference.BROKEN | reference.TRUNCATED | reference.UNREADABLE
)


@dataclass
class Known:
    """Slices on the launch's axis, and where their tracks were."""

    rows: list[Row]
    sm: dict[int, int]
    per_block: int
    keeps: Any = lambda track: True
    selects: Any = lambda row: True
    origin: Any = None

    def at(self, row: Row) -> tuple[int, int]:
        zero = 0 if self.origin is None else int(self.origin[row.track])
        return zero + row.start, zero + row.start + row.dur


def stays_of(known: Known) -> dict[tuple[int, int], tuple[int, int]]:
    """By SM and block: from the first enter to the last exit of its kept tracks."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for row in known.rows:
        if known.keeps(row.track):
            key = known.sm[row.track], row.track // known.per_block
            begin, end = known.at(row)
            first, last = found.get(key, (begin, end))
            found[key] = min(first, begin), max(last, end)
    return found


def merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for begin, end in sorted(span for span in spans if span[1] > span[0]):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


def spans_by_track(known: Known) -> dict[int, list[tuple[int, int]]]:
    """When each kept track was in a selected region."""
    found = defaultdict(list)
    for row in known.rows:
        if known.keeps(row.track) and known.selects(row):
            found[row.track].append(known.at(row))
    return {track: merged(spans) for track, spans in found.items()}


def length(spans: list[tuple[int, int]]) -> int:
    return sum(end - begin for begin, end in spans)


def per_sm(known: Known, straggler: float) -> list[dict[str, Any]]:
    """The rows, one SM after the other."""
    stays, active = stays_of(known), spans_by_track(known)
    begin, end = (
        min((s[0] for s in stays.values()), default=0),
        max((s[1] for s in stays.values()), default=0),
    )
    p50 = float(np.percentile([b - a for a, b in stays.values()], 50)) if stays else 0.0
    rows = []
    for sm in sorted({sm for sm, _ in stays}):
        mine = [stay for (on, _), stay in stays.items() if on == sm]
        resident = max(1, *(sum(a <= t < b for a, b in mine) for t, _ in mine))
        busy = length(merged(mine))
        last = max(b for _, b in mine)
        in_regions = sum(length(s) for track, s in active.items() if known.sm[track] == sm)
        rows.append({
            "sm": sm, "blocks": len(mine), "resident": resident, "waves": math.ceil(len(mine) / resident),
            "first_start_cyc": min(a for a, _ in mine), "last_end_cyc": last, "busy_cyc": busy,
            "idle_cyc": end - begin - busy, "tail_cyc": end - last,
            "busy_share": busy / (end - begin) if end > begin else None,
            "active": in_regions / (end - begin) if end > begin else None,
            "stragglers": sum(b - a > straggler * p50 for a, b in mine),
        })  # fmt: skip
    return rows


def known_of(made: Any, select: list[str], launch: mgpu_trace.Launch) -> Known:
    answer = reference.decode(made.words, made.spec)
    rows = [Row(s.track, s.name, s.start_cyc, s.dur_cyc, s.closed) for s in answer.slices]
    sm = {track.number: track.sm for track in answer.tracks}
    keeps, selects = chosen(parse_selection(select), made.spec, sm, launch.clock)
    return Known(rows, sm, made.spec.tracks_per_block, keeps, selects, origin_cyc(launch))


@given(LAUNCHES, SELECT, st.sampled_from((1.0, 1.5, 2.0)), st.sampled_from((None, 1000.0)))
def test_any_launch_also_a_broken_one(made, select, straggler, mhz):
    made = replace(made, spec=replace(made.spec, sm_clock_mhz=mhz))
    for run_events in (None, 5):
        launch = launch_of(made, run_events)
        launch.selection = parse_selection(select)
        known = known_of(made, select, launch)
        table = mgpu_trace.balance(launch, straggler=straggler, unit="cyc")
        want = per_sm(known, straggler)
        assert table.rows() == [{name: near(value) for name, value in row.items()} for row in want]
        stays = stays_of(known)
        flags = {t.number: t.flags for t in reference.decode(made.words, made.spec).tracks}
        kept = [t for t in flags if known.keeps(t)]
        per_block = made.spec.tracks_per_block
        facts = table.facts
        assert facts["n_sms"] == len(want)
        assert facts["n_blocks"] == len({block for _, block in stays})
        assert facts["n_blocks_silent"] == len({t // per_block for t in kept} - {b for _, b in stays})
        assert facts["n_blocks_cut"] == len({t // per_block for t in kept if flags[t] & CUT})
        assert facts["n_stragglers"] == sum(row["stragglers"] for row in want)
        late = sorted((b - a for a, b in stays.values() if b - a > straggler * facts.get("block_p50_cyc", 0)))
        assert [row["dur_cyc"] for row in facts["stragglers"]] == late[::-1][:100]
        for row in facts["stragglers"]:
            x, y, z = map(int, row["block"].split(","))
            _, gy, gz = made.spec.grid
            begin, end = stays[row["sm"], (x * gy + y) * gz + z]
            assert (row["start_cyc"], row["dur_cyc"]) == (begin, end - begin)
        if want:
            assert_facts(facts, want)


def assert_facts(facts: Any, want: list[dict[str, Any]]) -> None:
    begin, end = min(row["first_start_cyc"] for row in want), max(row["last_end_cyc"] for row in want)
    assert (facts["begin_cyc"], facts["launch_cyc"]) == (begin, end - begin)
    assert facts["skew_cyc"] == max(row["first_start_cyc"] for row in want) - begin
    assert facts["tail_cyc"] == end - min(row["last_end_cyc"] for row in want)
    assert facts["resident"] == max(row["resident"] for row in want)
    assert facts["waves"] == near(sum(row["blocks"] for row in want) / len(want) / facts["resident"])
    if end > begin:
        of = len(want) * (end - begin)
        assert facts["tail_share"] == near(sum(row["tail_cyc"] for row in want) / of)
        assert facts["idle_share"] == near(sum(row["idle_cyc"] for row in want) / of)
    else:
        assert facts["tail_share"] is facts["idle_share"] is None


@settings(max_examples=30)
@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 3), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_every_cycle_of_what_really_happened(resident, n_blocks, n_iterations, n_columns, seed):
    """On one SM times are exact to the cycle: rows and cells are those of the true timeline."""
    config = SynthConfig(n_sms=1, resident=resident, grid=(n_blocks, 1, 1), n_iterations=n_iterations)
    made = synthesise(config, seed)
    truth = truth_of(made)
    zero = min(row.start for row in truth)
    rows = [row._replace(start=row.start - zero) for row in truth]
    known = Known(rows, {row.track: 0 for row in rows}, made.spec.tracks_per_block)
    launch = launch_of(made)
    (want,) = per_sm(known, 1.5)
    table = mgpu_trace.balance(launch, unit="cyc")
    assert table.rows() == [{name: near(value) for name, value in want.items()}]
    assert table.facts["skew_is_known"] is None
    active = np.zeros(want["last_end_cyc"], np.int64)
    for spans in spans_by_track(known).values():
        for begin, end in spans:
            active[begin:end] += 1
    cells = activity_cells(launch, n_rows=1, n_columns=n_columns)
    edges = cells.edge_cyc.tolist()
    assert (edges[0], edges[-1]) == (0, len(active))
    assert 8 / 9 * n_columns <= len(edges) - 1 <= n_columns
    assert len({b - a for a, b in pairwise(edges[1:-1])}) <= 1
    assert cells.active_cyc.tolist() == [[int(active[a:b].sum()) for a, b in pairwise(edges)]]
    means = [float(active[a:b].mean()) for a, b in pairwise(edges)]
    assert cells.active.tolist() == [[near(mean) for mean in means]]


@given(LAUNCHES, SELECT, st.integers(1, 5), st.sampled_from((1, 2, 7, 40)))
def test_cells_of_any_launch(made, select, n_rows, n_columns):
    launch = launch_of(made, 5)
    launch.selection = parse_selection(select)
    known = known_of(made, select, launch)
    found = weigh(launch, n_rows, n_columns)
    cells = found.cells
    assert len(cells.first_sm) <= n_rows
    assert len(cells.edge_cyc) - 1 <= n_columns
    assert (cells.edge_cyc[0], cells.edge_cyc[-1]) == found.sms.span()
    edges, spans = cells.edge_cyc.tolist(), spans_by_track(known)
    for row, (low, high) in enumerate(zip(cells.first_sm.tolist(), cells.last_sm.tolist(), strict=True)):
        mine = [span for track in spans if low <= known.sm[track] <= high for span in spans[track]]
        want = [
            sum(max(0, min(end, hi) - max(begin, lo)) for begin, end in mine) for lo, hi in pairwise(edges)
        ]
        assert cells.active_cyc[row].tolist() == want


def test_one_straggler_and_what_it_costs() -> None:
    """Two SMs, three blocks each, of 100 cycles; the last one on SM 1 takes 260."""
    words = []
    for block, (sm, begin, dur) in enumerate(
        [(0, 0, 100), (1, 0, 100), (0, 100, 100), (1, 100, 100), (0, 200, 100), (1, 200, 260)]
    ):
        assert block % 2 == sm
        words.append([1000 + begin, sm, 4, 0, begin, 2**31, begin + dur])
    spec = mgpu_trace.TraceSpec(
        grid=(6, 1, 1),
        block=(128, 1, 1),
        words_per_track=7,
        sm_clock_mhz=1000.0,
        n_sms=4,
        bounds_checked=False,
    )
    buffer = mgpu_trace.TraceBuffer.from_flat(np.array(words, np.uint32).reshape(-1), spec)
    table = mgpu_trace.balance(mgpu_trace.Launch(buffer))
    assert list(table["tail_ns"]) == [160.0, 0.0]
    assert list(table["waves"]) == [3, 3]
    facts = table.facts
    assert facts["stragglers"] == [
        {"block": "5,0,0", "sm": 1, "start_ns": 200.0, "dur_ns": 260.0, "of_p50": 2.6}
    ]
    assert (facts["tail_ns"], facts["tail_share"]) == (160.0, 160 / 920)
    assert (facts["n_sms_device"], facts["n_sms_silent"]) == (4, 2)
    assert (facts["skew_ns"], facts["skew_is_known"]) == (0.0, False)
    assert mgpu_trace.balance(mgpu_trace.Launch(buffer), straggler=2.7).facts["stragglers"] == []


def test_blocks_that_lost_events_are_counted_by_their_kept_tracks() -> None:
    """Unit 1 of block 2 overran into unit 2: the end of one and the begin of the other are not known."""
    made = synthesise(SynthConfig(grid=(4, 1, 1), faults=(Fault("overwritten-track", 3 * 2 + 1),)), 1)
    launch = launch_of(made)
    for select, n_blocks in ([], 1), (["unit=0"], 0), (["unit=1"], 1), (["unit=2"], 1), (["block=1"], 0):
        launch.selection = parse_selection(select)
        assert mgpu_trace.balance(launch).facts["n_blocks_cut"] == n_blocks


def test_nanoseconds_without_a_rate() -> None:
    spec = mgpu_trace.TraceSpec(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=7)
    buffer = mgpu_trace.TraceBuffer.from_flat(np.array([0, 0, 4, 0, 0, 2**31, 5], np.uint32), spec)
    with pytest.raises(mgpu_trace.MgpuTraceError) as caught:
        mgpu_trace.balance(mgpu_trace.Launch(buffer), unit="ns")
    assert caught.value.diagnostic.code.id == "MGT640"


def test_memory_is_by_tracks_and_cells_not_by_slices() -> None:
    """A pass over ten times the tracks needs no more than a few numbers for each of them."""
    import tracemalloc

    def peak(n_blocks: int) -> int:
        made = synthesise(SynthConfig(n_sms=2, grid=(n_blocks, 1, 1), n_iterations=40), 1)
        launch = launch_of(made, 2000)
        mgpu_trace.balance(launch)
        tracemalloc.start()
        mgpu_trace.balance(launch)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    n_tracks = 3 * (400 - 40)
    assert peak(400) - peak(40) < 400 * n_tracks  # and of 80 slices or more a track, 34 bytes each


def test_nothing_on_the_one_sm_that_begins_late(tmp_path):
    """A selected block without a slice, whose SM has its first event after the launch's: no row, no crash."""
    words = np.array([[1000, 0, 4, 0, 0, 1 << 31, 9], [1032, 1, 2, 1 << 31, 0, 0, 0]], np.uint32)
    np.save(tmp_path / "late.npy", words.reshape(-1))
    spec = mgpu_trace.SpecOptions(
        grid=(2, 1, 1), block=(32, 1, 1), words_per_track=7, scope=mgpu_trace.Scope.WARP
    )
    launch = mgpu_trace.open_launch(tmp_path / "late.npy", spec)
    launch.selection = parse_selection(["block=1,0,0"])
    table = mgpu_trace.balance(launch, unit="cyc")
    assert (len(table), table.facts["n_blocks"], table.facts["n_blocks_silent"]) == (0, 0, 1)
