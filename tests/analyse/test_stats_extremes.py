"""Statistics of launches that are huge, hostile, tiny or empty."""

from __future__ import annotations

import itertools
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import slow_stats
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_stats import Row, assert_same, edges_of, launch_of, place, tracks_of, truth_of
from strategies import Made, sound_launches
from tracks_by_hand import enter, launch, leave, track

import mgpu_trace
from mgpu_trace.analyse import durations, source, sums
from mgpu_trace.analyse.groups import KEYS
from mgpu_trace.analyse.select import parse_selection
from mgpu_trace.analyse.stats import gather, table_of
from mgpu_trace.analyse.units import CYCLES
from mgpu_trace.layout import Word2
from mgpu_trace.pipeline import Launch
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth import Fault, Region, Role, SynthConfig, synthesise

BY = st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=4, unique=True)
# Each forces a path that only large launches take.
LIMITS = [
    {"_MAX_SINGLE": 0},
    {"_TABLED_GROUPS": 1, "_SHORT_CYC": 8, "_MAX_SINGLE": 3},
    {"_MAX_PARTIAL": 0},
    {"_TABLED_GROUPS": 1, "_MAX_SINGLE": 1},
    {"_PART_SLICES": 1},
    {"_PART_SLICES": 4},
    {"_MAX_PARTIAL": 5, "_MAX_SINGLE": 5, "_TABLED_GROUPS": 2},
]


def limited(patch: pytest.MonkeyPatch, limits: dict[str, int]) -> None:
    for name, value in limits.items():
        home = {"_MAX_PARTIAL": sums, "_PART_SLICES": source}.get(name, durations)
        patch.setattr(home, name, value)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@settings(max_examples=40)
@given(made=sound_launches(), by=BY)
def test_large_launches_are_small_ones_in_parts(made, by, limits):
    want = mgpu_trace.stats(launch_of(made), by=by)
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, limits)
        in_runs = mgpu_trace.stats(launch_of(made, run_events=5), by=by)
        at_once = mgpu_trace.stats(launch_of(made).timeline(), by=by)
    for found in (in_runs, at_once):
        assert found.rows() == want.rows()
        assert found.facts == want.facts


def test_rounded_lengths_are_said_and_leave_the_rest_exact():
    role = Role("any", (), (Region("long", 90_000), Region("longer", 0, (Region("inner", 2_000_000),))))
    made = synthesise(SynthConfig(grid=(8, 1, 1), n_iterations=30, roles=(role,)), 1)
    want = mgpu_trace.stats(launch_of(made), unit="cyc")
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, {"_MAX_SINGLE": 0, "_MAX_COUNTED": 8, "_SHORT_CYC": 1})
        found = mgpu_trace.stats(launch_of(made, run_events=50), unit="cyc")
    assert (found.facts["is_rounded"], want.facts["is_rounded"]) == (True, False)
    near = {"p50_cyc", "p90_cyc", "p99_cyc", "cv"}
    assert any((found[name] != want[name]).any() for name in near)
    for name in want.columns:
        if name not in near:
            assert list(found[name]) == list(want[name])
        elif name != "cv":
            assert found[name] == pytest.approx(want[name], rel=1 / 2048)
        else:  # a deviation adds up the squares of small errors of large lengths
            assert found[name] == pytest.approx(want[name], rel=0.02)


def test_more_groups_than_the_table_holds():
    """Blocks times regions beyond 256, against the slow ones."""
    made = synthesise(SynthConfig(grid=(100, 1, 1), n_iterations=3), 5)
    sm = dict(zip(made.truth.track.tolist(), made.truth.sm.tolist(), strict=True))
    by = ["block", "region", "unit"]
    rows = truth_of(made)
    gap = min(b - a for mine in tracks_of(rows) for a, b in pairwise(edges_of(mine)))
    want, facts = slow_stats.statistics(rows, place(made.spec, sm, {}, by), gap=gap)
    assert len(want) > 256
    assert_same(mgpu_trace.stats(launch_of(made, run_events=500), by=by, unit="cyc"), by, want, facts)


@pytest.mark.parametrize(
    "by", [["block"], ["region", "block"], ["block", "unit", "index"], ["phase", "block"]]
)
def test_a_block_that_is_over_is_described_and_no_longer_kept(by):
    """Memory then grows with the blocks, and not with the lengths of their slices."""
    made = synthesise(SynthConfig(grid=(40, 1, 1), n_iterations=5), 7)
    want = mgpu_trace.stats(launch_of(made), by=by, unit="cyc")
    with pytest.MonkeyPatch.context() as patch:
        limited(patch, {"_TABLED_GROUPS": 3, "_MAX_SINGLE": 50})
        gathered = gather(launch_of(made, run_events=60), by=by)
    n_settled = len(gathered.settled.group)
    assert n_settled > len(gathered.codes) / 2
    assert len(gathered.codes) == n_settled + len({*gathered.counts.group.tolist()})
    assert table_of(gathered, CYCLES).rows() == want.rows()


def deep(n: int, gap: int, names: int = 1, n_closed: int | None = None) -> Made:
    """One track of regions in regions, each event as far from the one before."""
    enters = [i % names for i in range(n)]
    tags = [*enters, *(name | 2**31 for name in reversed(enters))][
        : n + (n if n_closed is None else n_closed)
    ]
    words = np.zeros((1, 3 + 2 * len(tags)), np.uint32)
    words[0, 2] = 2 * len(tags)
    words[0, 3::2], words[0, 4::2] = tags, np.arange(len(tags), dtype=np.uint64) * np.uint64(gap) % 2**32
    shape = {"grid": (1, 1, 1), "block": (128, 1, 1), "words_per_track": words.shape[1]}
    return Made(words, TraceSpec(**shape, bounds_checked=True, word2=Word2.USED), [], [])


@pytest.mark.parametrize(("n", "gap"), [(600, 2**31 - 1), (40_000, 3), (40_000, 2**31 - 1)])
@pytest.mark.parametrize("n_closed", [0, 1, None])
def test_deep_nesting_and_hostile_clocks_add_up_exactly(n, gap, n_closed):
    """Sums far beyond 2**53, in which float64 would lose cycles."""
    made = deep(n, gap, 3, n_closed)
    last = n + (n if n_closed is None else n_closed) - 1
    ends = [min(2 * n - 1 - i, last) for i in range(n)]
    rows = [Row(0, i % 3, i * gap, (end - i) * gap, 2 * n - 1 - i <= last) for i, end in enumerate(ends)]
    want, facts = slow_stats.statistics(rows, lambda told: (f"region_{told.row.name}",), gap=gap)
    table = mgpu_trace.stats(launch_of(made))
    assert_same(table, ["region"], want, facts)
    assert sum(table["self_cyc"].tolist()) == facts["in_regions_cyc"] == facts["tracks_cyc"]


def test_sums_that_no_integer_holds_stop_at_a_bound():
    """Nested regions and broken clocks: 2**66 cycles, which must not come out negative."""
    n = 200_000
    row = mgpu_trace.stats(launch_of(deep(n, 2**31 - 1))).rows()[0]
    assert row["total_cyc"] == 2**62
    assert row["self_cyc"] == (2 * n - 1) * (2**31 - 1)


def test_the_largest_name_in_every_key():
    """Codes of name, occurrence, phase, unit, SM and block stay apart in 64 bits."""
    name = 2**20 - 1
    rows = [
        track(0, i, enter(name, 5), leave(name, 9 + i), enter(name, 20), leave(name, 40)) for i in range(6)
    ]
    # So many words that a name times the places of a track is beyond 32 bits.
    buffer = launch(*rows, words=5000, grid=(2, 1, 1), block=(384, 1, 1), names=None)
    found = mgpu_trace.stats(Launch(buffer), by=list(KEYS)).rows()
    assert len(found) == 12
    for row in found:
        i = int(row["block"][0]) * 3 + row["unit"]
        assert (row["region"], row["sm"], row["count"]) == (f"region_{name}", i, 1)
        assert row["total_cyc"] == (20 if row["index"] else 4 + i)
        assert row["phase"] == ("epilogue" if row["index"] else "prologue")


@pytest.mark.parametrize("faults", [("garbage-header",) * 6, ()])
def test_no_slices(faults):
    """All tracks broken, or none with an event: no row, no time, and findings that say why."""
    made = synthesise(SynthConfig(grid=(2, 1, 1), faults=tuple(map(Fault, faults))))
    if not faults:
        made.words[:, 2] = 0
    for empty in (launch_of(made), launch_of(made).timeline()):
        table = mgpu_trace.stats(empty, by=list(KEYS))
        assert table.rows() == []
        assert [*table.columns][: len(KEYS)] == list(KEYS)
        times = [table.facts[name] for name in ("launch_ns", "tracks_ns", "in_regions_ns", "n_slices")]
        assert times == [0] * 4
        assert table.facts["smallest_gap_cyc"] is None
        assert empty.report.has_errors


def test_one_slice():
    one = Launch(launch(track(0, 0, enter(1, 10), leave(1, 35))))
    row = mgpu_trace.stats(one).rows()[0]
    want = {
        "count": 1,
        "mean_cyc": 25.0,
        "p99_cyc": 25.0,
        "min_cyc": 25,
        "share": 1.0,
        "cv": 0.0,
        "probe_cyc": 25,
    }
    assert {name: row[name] for name in want} == want
    assert [row[f"{phase}_mean_cyc"] for phase in ("prologue", "steady", "epilogue")] == [None] * 3
    assert mgpu_trace.stats(one, steady=True).rows() == []


def test_slices_of_no_length():
    table = mgpu_trace.stats(Launch(launch(track(0, 0, *[enter(1, 10), leave(1, 10)] * 3))))
    row = table.rows()[0]
    names = ("total_cyc", "p50_cyc", "share", "cv", "probe_cyc")
    assert [row[name] for name in names] == [0, 0.0, None, None, 0]


@pytest.mark.parametrize(
    ("by", "part"),
    [(["region", "phase"], "phase"), (["phase", "unit", "region"], "phase"), (["index", "region"], "index")],
)
def test_parts_of_one_thing_stay_together_and_things_are_in_the_order_of_self_time(by, part):
    made = synthesise(SynthConfig(grid=(3, 1, 1)))
    table = mgpu_trace.stats(launch_of(made))
    assert table["self_ns"].tolist() == sorted(table["self_ns"].tolist(), reverse=True)
    rows = mgpu_trace.stats(launch_of(made), by=by, unit="cyc").rows()
    things = [tuple(row[key] for key in by if key != part) for row in rows]
    own: dict[tuple[Any, ...], int] = defaultdict(int)
    for thing, row in zip(things, rows, strict=True):
        own[thing] += row["self_cyc"]
    in_order = [own[thing] for thing, _ in itertools.groupby(things)]
    assert len(in_order) == len(own)
    assert in_order == sorted(in_order, reverse=True)
    rank = {"only": 0, "prologue": 0, "steady": 1, "epilogue": 2}
    for thing in own:
        places = [row[part] for row, of in zip(rows, things, strict=True) if of == thing]
        assert places == sorted(places, key=lambda place: rank.get(place, place))


def test_a_timeline_of_a_part_is_about_that_part_alone():
    """Its slices do not tell of all events, so no probe cost either."""
    part = launch_of(synthesise(SynthConfig()))
    part.selection = parse_selection(["name=mma"])
    row = mgpu_trace.stats(part.timeline()).rows()[0]
    assert row["self_ns"] == row["total_ns"]
    assert row["probe_ns"] is None


def test_an_unknown_key():
    with pytest.raises(
        ValueError, match="no key 'warp'; known keys: region, unit, role, sm, block, index, phase"
    ):
        mgpu_trace.stats(launch_of(synthesise(SynthConfig())), by=["warp"])


def test_the_launch_begins_with_the_first_enter():
    """Not with an exit whose enter nobody saw; it ends with the last exit, in another track of the SM."""
    first = track(1000, 5, leave(1, 1000), enter(0, 1100), leave(0, 1150))
    second = track(1000, 5, enter(0, 1120), enter(1, 1130), leave(1, 1300), leave(0, 1400))
    table = mgpu_trace.stats(Launch(launch(first, second, sm_clock_mhz=1000.0)), unit="cyc")
    assert table.facts["launch_cyc"] == 300
    assert table.facts["tracks_cyc"] == 50 + 280
    assert table.facts["in_regions_cyc"] == 50 + 280


def test_a_timeline_whose_times_were_moved_has_no_gap():
    """Its slices would tell the gap less the overhead; a Launch tells the one that was measured."""
    events = [enter(0, 0), leave(0, 50), enter(1, 90), leave(1, 120)]
    taken = Launch(launch(track(0, 0, *events)), overhead=7)
    assert mgpu_trace.stats(taken)["probe_cyc"].tolist() == [30, 30]
    assert mgpu_trace.stats(taken.timeline()).facts["smallest_gap_cyc"] is None
    assert mgpu_trace.stats(Launch(launch(track(0, 0, *events))).timeline()).facts["smallest_gap_cyc"] == 30
