"""Comparisons against plain Python over the slices, and everything that is refused or said."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from analyse.compared import LOAD, MMA, NAMES, STORE, Kind, launch_of, sides
from hypothesis import given, settings
from strategies import Made, corrupted_launches

import mgpu_trace
from mgpu_trace.analyse.diff import diff
from mgpu_trace.analyse.diff_findings import findings, regressions
from mgpu_trace.analyse.diff_samples import MAX_UNITS
from mgpu_trace.analyse.table import Table
from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.model import Timeline, TraceBuffer
from mgpu_trace.pipeline import Launch
from mgpu_trace.synth import SynthConfig, synthesise


def made(seed: int = 0, **config: Any) -> Launch:
    found = synthesise(SynthConfig(**config), seed)
    return Launch(TraceBuffer(found.spec, found.words))


def by_region(table: Table) -> dict[str, dict[str, Any]]:
    return {row["region"]: row for row in table.rows()}


def codes(table: Table) -> list[str]:
    return [finding.code.id for finding in findings(table)]


def durations(launch: Timeline) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for name, cyc in zip(launch.slices.name.tolist(), launch.slices.dur_cyc.tolist(), strict=True):
        found.setdefault(launch.spec.name_of(name), []).append(cyc)
    return found


def self_times(launch: Timeline) -> dict[str, int]:
    """Cycles by region without those of the regions directly inside; where regions nest."""
    s = launch.slices
    rows = list(
        zip(s.track.tolist(), s.start_cyc.tolist(), s.dur_cyc.tolist(), s.depth.tolist(), strict=True)
    )
    found: dict[str, int] = {}
    for i, (track, start, dur, depth) in enumerate(rows):
        inside = [
            d
            for t, b, d, level in rows[i + 1 :]
            if t == track and level == depth + 1 and start <= b and b + d <= start + dur
        ]
        name = launch.spec.name_of(int(s.name[i]))
        found[name] = found.get(name, 0) + dur - sum(inside)
    return found


def test_every_number_is_that_of_plain_python() -> None:
    old, new = made(1).timeline(), made(2, n_iterations=6).timeline()
    table = diff(old, new)
    rows = by_region(table)
    was, now = durations(old), durations(new)
    own = self_times(old), self_times(new)
    scale = 1000 / 1980
    extents = [launch.track_extents().tolist() for launch in (old, new)]
    assert sorted(rows) == sorted([*was, "(launch)", "(track)"])
    for region, row in rows.items():
        if region == "(launch)":
            continue
        lists = extents if region == "(track)" else [was[region], now[region]]
        assert [row["count_old"], row["count_new"]] == [len(x) for x in lists]
        for name, of in (("mean", statistics.mean), ("p50", statistics.median), ("total", sum)):
            a, b = (of(x) * scale for x in lists)
            assert row[f"{name}_old_ns"] == pytest.approx(a)
            assert row[f"{name}_new_ns"] == pytest.approx(b)
            assert row[f"{name}_change_ns"] == pytest.approx(b - a)
            assert row[f"{name}_change"] == pytest.approx(b / a - 1)
            assert row[f"{name}_low"] < row[f"{name}_change"] < row[f"{name}_high"]
        grown = sum(extents[1]) - sum(extents[0])
        if region != "(track)":
            grown = own[1][region] - own[0][region]
        assert row["effect"] == pytest.approx(grown / sum(extents[0]))
    ordered = table.rows()
    assert [row["kind"] for row in ordered] == ["launch", "track", *["region"] * len(was)]
    effects = [row["effect"] for row in ordered[2:]]
    assert effects == sorted(effects, reverse=True)


def test_the_launch_row_is_its_duration() -> None:
    old, new = made(1), made(2)
    row = by_region(diff(old, new))["(launch)"]
    for side, launch in (("old", old), ("new", new)):
        assert row[f"mean_{side}_ns"] == mgpu_trace.stats(launch).facts["launch_ns"]
    assert row["mean_low"] is None
    assert row["verdict"] is None
    assert row["p50_old_ns"] is None


def test_a_launch_is_no_different_from_its_timeline() -> None:
    table = diff(made(1), made(2))
    assert diff(made(1).timeline(), made(2).timeline()).rows() == table.rows()
    assert mgpu_trace.diff is diff


def test_regions_that_appear_and_go() -> None:
    old = launch_of([0, 1, 2, 3, 3], [0, 0, 0, 0, 1], [100, 110, 105, 90, 40], n_blocks=4)
    new = launch_of([0, 1, 2, 3, 3], [0, 0, 0, 0, 2], [100, 111, 106, 92, 80], n_blocks=4)
    rows = by_region(diff(old, new, unit="cyc"))
    assert [rows[name]["status"] for name in NAMES] == ["both", "went", "appeared"]
    assert rows["mma"]["mean_old_cyc"] == 40
    assert rows["mma"]["mean_new_cyc"] is None
    assert rows["mma"]["total_new_cyc"] == 0
    assert rows["mma"]["effect"] == pytest.approx(-40 / 445)
    assert rows["store"]["effect"] == pytest.approx(80 / 445)
    for name in ("mma", "store"):
        assert rows[name]["mean_change"] is None
        assert rows[name]["verdict"] is None
    assert list(rows) == ["(launch)", "(track)", "store", "load", "mma"]


def test_regions_are_matched_by_name_whatever_their_ids() -> None:
    track, dur = [0, 0, 1, 1, 2, 2], [100, 7, 101, 7, 99, 7]
    old = launch_of(track, [0, 1] * 3, dur, n_blocks=3, names=("a", "b"))
    new = launch_of(track, [1, 0] * 3, dur, n_blocks=3, names=("b", "a"))
    table = diff(old, new)
    assert {row["mean_change"] for row in table.rows()} == {0}
    assert {row["verdict"] for row in table.rows() if row["kind"] == "region"} == {"same"}
    assert codes(table) == []


def test_regions_of_one_name_are_one() -> None:
    track, dur = [0, 0, 1, 1, 2, 2], [100, 50, 110, 60, 120, 70]
    twice = launch_of(track, [0, 1] * 3, dur, n_blocks=3, names=("a", "a"))
    once = launch_of(track, [0, 0] * 3, dur, n_blocks=3, names=("a", "z"))
    rows = by_region(diff(twice, once, unit="cyc"))
    assert rows["a"]["count_old"] == rows["a"]["count_new"] == 6
    assert rows["a"]["p50_old_cyc"] == rows["a"]["p50_new_cyc"] == 85
    assert rows["a"]["mean_change"] == 0


def test_a_region_that_is_called_as_the_tracks_are() -> None:
    launch = launch_of([0, 1, 2], [0, 0, 0], [10, 11, 12], n_blocks=3, names=("(track)",))
    rows = [(row["region"], row["kind"]) for row in diff(launch, launch).rows()]
    assert rows == [("(launch)", "launch"), ("(track)", "track"), ("(track)", "region")]


def test_cycles_and_nanoseconds() -> None:
    old, new = made(1), made(2)
    cyc, ns = diff(old, new, unit="cyc"), diff(old, new)
    assert cyc.facts["unit"] == "cyc"
    for a, b in zip(cyc.rows(), ns.rows(), strict=True):
        for name in ("mean_old", "total_new", "mean_change"):
            assert b[f"{name}_ns"] == pytest.approx(a[f"{name}_cyc"] * 1000 / 1980)
        assert a["mean_low"] == pytest.approx(b["mean_low"])
        assert a["effect"] == pytest.approx(b["effect"], nan_ok=True)


def test_a_slower_clock_is_slower_in_nanoseconds_only() -> None:
    random = np.random.default_rng(0)
    track, dur = np.repeat(np.arange(8), 20), random.integers(400, 500, 160)
    old = launch_of(track, [0] * 160, dur, n_blocks=8, mhz=2000.0)
    new = launch_of(track, [0] * 160, dur, n_blocks=8, mhz=1000.0)
    table = diff(old, new)
    assert by_region(table)["load"]["mean_change"] == pytest.approx(1)
    assert by_region(table)["load"]["verdict"] == "slower"
    assert codes(table) == ["MGT655"]
    assert "1000 to 2000 MHz" in findings(table)[0].message
    in_cycles = diff(old, new, unit="cyc")
    assert by_region(in_cycles)["load"]["mean_change"] == 0
    assert by_region(in_cycles)["load"]["verdict"] == "same"
    assert codes(in_cycles) == ["MGT655"]


def test_several_launches_are_what_varies() -> None:
    old = [launch_of([0, 0, 1], [0, 0, 0], [100 + i, 120, 90], n_blocks=2) for i in range(3)]
    new = [launch_of([0, 0, 1], [0, 0, 0], [150 + 3 * i, 130, 95], n_blocks=2) for i in range(4)]
    table = diff(old, new, unit="cyc")
    rows = by_region(table)
    assert table.facts["resampled"] == "launches"
    assert [table.facts["n_units_old"], table.facts["n_units_new"]] == [3, 4]
    load = rows["load"]
    assert [load["count_old"], load["count_new"]] == [3, 3]
    assert load["mean_old_cyc"] == pytest.approx((310 + 311 + 312) / 9)
    assert load["total_new_cyc"] == pytest.approx(statistics.mean([375, 378, 381, 384]))
    assert load["p50_old_cyc"] == pytest.approx(statistics.mean([100, 101, 102]))
    assert load["p50_new_cyc"] == pytest.approx(statistics.mean([130, 130, 130, 130]))
    durations = [[220, 221, 222], [280, 283, 286, 289]]
    assert rows["(launch)"]["mean_old_cyc"] == statistics.mean(durations[0])
    assert rows["(launch)"]["mean_new_cyc"] == statistics.mean(durations[1])
    assert rows["(launch)"]["verdict"] == "slower"


def test_an_old_launch_against_several() -> None:
    (old,), new = sides(Kind(captures=(1, 5)), 0.5, np.random.default_rng(0))
    table = diff(old, new)
    assert table.facts["resampled"] == "launches"
    assert by_region(table)["mma"]["verdict"] == "slower"
    assert by_region(table)["(launch)"]["mean_low"] > 0


def test_launches_are_read_one_after_the_other() -> None:
    opened: list[int] = []

    class Captures(Sequence[Launch]):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, i: Any) -> Any:
            if i >= 3:
                raise IndexError
            opened.append(i)
            return made(i)

    table = diff(Captures(), made(7))
    assert opened == [0, 1, 2]
    assert table.rows() == diff([made(0), made(1), made(2)], made(7)).rows()


@pytest.mark.parametrize(
    ("n_blocks", "units", "what"), [(3, 1, "blocks"), (2, 4, "tracks"), (1, 9, "tracks")]
)
def test_what_is_resampled(n_blocks: int, units: int, what: str) -> None:
    kind = Kind(blocks=(n_blocks, n_blocks), units=units)
    (old,), (new,) = sides(kind, 0.0, np.random.default_rng(0))
    assert diff(old, new).facts["resampled"] == what


def test_blocks_of_equal_work_are_compared_with_each_other() -> None:
    """Blocks of a causal mask differ by a factor of five; each took 3 % longer, and that is seen."""
    (old,), (new,) = sides(
        Kind(blocks=(32, 32), slope=4, slice_=0.02, n=(4, 4)), 0.03, np.random.default_rng(0)
    )
    row = by_region(diff(old, new))["mma"]
    assert row["verdict"] == "slower"
    assert row["mean_high"] - row["mean_low"] < 0.02
    keep = old.slices.track > 0
    less = replace(old, slices=old.slices.where(keep), spec=replace(old.spec, grid=(16, 2, 1)))
    apart = diff(less, new)
    assert not apart.facts["is_paired"]
    assert by_region(apart)["mma"]["verdict"] == "noise"


def test_more_blocks_than_are_resampled_are_put_together() -> None:
    n = 3 * MAX_UNITS + 7
    (old,), (new,) = sides(Kind(blocks=(n, n), n=(1, 2)), 0.1, np.random.default_rng(0))
    table = diff(old, new, resamples=200)
    assert table.facts["n_units_old"] == MAX_UNITS
    row = by_region(table)["mma"]
    assert row["verdict"] == "slower"
    assert 0.05 < row["mean_low"] < 0.1 < row["mean_high"] < 0.15
    n_old = np.count_nonzero(old.slices.name == MMA)
    assert row["count_old"] == n_old


def test_a_region_of_one_block_has_no_interval() -> None:
    track = [0, 1, 2, 3, 3]
    old = launch_of(track, [0, 0, 0, 0, 1], [100, 110, 105, 90, 40], n_blocks=4)
    new = launch_of(track, [0, 0, 0, 0, 1], [101, 112, 104, 92, 80], n_blocks=4)
    table = diff(old, new)
    row = by_region(table)["mma"]
    assert row["mean_change"] == pytest.approx(1)
    assert row["mean_low"] is row["mean_high"] is row["p50_low"] is row["verdict"] is None
    assert codes(table) == ["MGT656"]
    assert "mma" in findings(table)[0].message
    assert regressions(table, 0.05) is None


def test_one_track_has_no_interval_at_all() -> None:
    launch = launch_of([0, 0], [0, 1], [10, 20], n_blocks=1)
    table = diff(launch, launch)
    assert {row["mean_low"] for row in table.rows()} == {None}
    assert codes(table) == ["MGT656"]
    assert findings(table)[0].count == 3  # the track and its regions


def test_the_seed_is_the_answers() -> None:
    old, new = made(1, grid=(12, 1, 1)), made(2, grid=(12, 1, 1))
    assert diff(old, new).rows() == diff(old, new).rows() == diff(old, new, seed=0).rows()
    other = diff(old, new, seed=1)
    assert other.rows() != diff(old, new).rows()
    for a, b in zip(other.rows(), diff(old, new).rows(), strict=True):
        assert a["mean_change"] == b["mean_change"]


def test_more_confidence_is_wider() -> None:
    old, new = made(1), made(2)
    low = [by_region(diff(old, new, confidence=c))["mma"]["mean_low"] for c in (0.5, 0.8, 0.95, 0.99)]
    assert low == sorted(low, reverse=True)


# ---- regressions


def grown(share: float) -> Table:
    (old,), (new,) = sides(Kind(blocks=(24, 24), slice_=0.05), share, np.random.default_rng(5))
    return diff(old, new)


def test_a_regression_is_beyond_the_threshold_and_the_noise() -> None:
    finding = regressions(grown(0.1), 0.05)
    assert finding is not None
    assert finding.code is catalogue.REGRESSION
    assert "mma +10." in finding.message or "mma +9." in finding.message
    assert regressions(grown(0.1), 0.2) is None
    assert regressions(grown(-0.1), 0.05) is None
    assert by_region(grown(-0.1))["mma"]["verdict"] == "faster"


def test_a_large_change_that_may_be_noise_is_none() -> None:
    (old,), (new,) = sides(Kind(blocks=(6, 6), slice_=1.0, n=(1, 2)), 0.5, np.random.default_rng(3))
    table = diff(old, new)
    assert by_region(table)["mma"]["mean_change"] > 0.2
    assert regressions(table, 0.05) is None


def test_a_region_that_is_entered_more_often_is_slower_in_total() -> None:
    random = np.random.default_rng(0)
    parts = []
    for times in (10, 20):
        track = np.repeat(np.arange(8), times)
        dur = 100 + random.integers(0, 5, len(track))
        parts.append(launch_of(track, [0] * len(track), dur, n_blocks=8))
    row = by_region(diff(*parts))["load"]
    assert [row["verdict"], row["total_verdict"]] == ["noise", "slower"]
    finding = regressions(diff(*parts), 0.05)
    assert finding is not None
    assert "load +" in finding.message


def test_totals_of_other_grids_are_not_judged() -> None:
    (old,), (new,) = sides(Kind(blocks=(8, 16), slice_=0.01), 0.0, np.random.default_rng(0))
    table = diff(old, new)
    assert by_region(table)["mma"]["total_change"] > 0.5
    assert {row["total_verdict"] for row in table.rows()} == {None}
    assert regressions(table, 0.05) is None
    assert codes(table) == ["MGT653"]
    assert "8x1x1" in findings(table)[0].message


# ---- what is refused


def refusal(*args: Any, **kwargs: Any) -> str:
    with pytest.raises(MgpuTraceError) as caught:
        diff(*args, **kwargs)
    assert caught.value.diagnostic.hint
    return caught.value.diagnostic.code.id


def some(mhz: float | None = 2000.0, name: int = LOAD, **more: Any) -> Timeline:
    return launch_of([0, 1, 2], [name] * 3, [10, 11, 12], n_blocks=3, mhz=mhz, **more)


def test_cycles_are_not_compared_with_nanoseconds() -> None:
    known, unknown = some(), some(None)
    for pair in ((known, unknown), (unknown, known), ([known, unknown], known)):
        assert refusal(*pair) == "MGT650"
        assert diff(*pair, unit="cyc").facts["unit"] == "cyc"
    assert diff(unknown, unknown).facts["unit"] == "cyc"
    assert refusal(unknown, unknown, unit="ns") == "MGT640"
    assert refusal(known, unknown, unit="ns") == "MGT650"


def test_launches_that_share_nothing() -> None:
    assert refusal(some(), some(name=STORE)) == "MGT651"
    assert refusal(some(), some(names=None)) == "MGT651"
    empty = launch_of([], [], [], n_blocks=3)
    for pair in ((empty, some()), (some(), empty), (empty, empty), ([empty, empty], [some()])):
        assert refusal(*pair) == "MGT651"


def test_an_empty_launch_among_others_counts_for_nothing() -> None:
    empty = launch_of([], [], [], n_blocks=3)
    full = [some(), some()]
    assert diff([*full, empty], full).rows()[0]["mean_old_ns"] == diff(full, full).rows()[0]["mean_old_ns"]
    rows = by_region(diff([*full, empty], full))
    assert rows["load"]["count_old"] == 3
    assert rows["load"]["total_change"] == 0


@pytest.mark.parametrize("wrong", [{"confidence": 0}, {"confidence": 1}, {"resamples": 0}])
def test_wrong_terms(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="confidence"):
        diff(some(), some(), **wrong)
    with pytest.raises(ValueError, match="launch"):
        diff([], some())


def test_names_that_differ_are_said() -> None:
    table = diff(some(), some(names=("load", "mma", "epilogue")))
    assert codes(table) == ["MGT654"]
    assert findings(table)[0].message.endswith("only old has store; only new has epilogue")


def test_regions_without_any_time() -> None:
    nothing = launch_of([0, 1, 2], [0, 0, 0], [0, 0, 0], n_blocks=3)
    row = by_region(diff(nothing, some()))["load"]
    assert row["mean_old_ns"] == 0
    assert row["mean_change"] is row["mean_low"] is row["verdict"] is None
    assert diff(nothing, nothing).rows()[1]["effect"] is None


@settings(max_examples=40, deadline=None)
@given(corrupted_launches(), corrupted_launches())
def test_of_any_two_buffers_there_is_a_table_or_a_refusal(old: Made, new: Made) -> None:
    pair = [Launch(TraceBuffer(made.spec, made.words)) for made in (old, new)]
    try:
        table = diff(*pair, unit="cyc", resamples=50)
    except MgpuTraceError as error:
        refused = error.diagnostic.code
    else:
        refused = None
    if refused is not None:
        assert refused is catalogue.NO_COMMON_REGION
        return
    findings(table)
    regressions(table, 0.01)
    counted = [
        sum(r[f"count_{side}"] for r in table.rows() if r["kind"] == "region") for side in ("old", "new")
    ]
    assert counted == [launch.n_slices for launch in pair]
    for row in table.rows():
        for name in ("mean", "p50", "total"):
            if row[f"{name}_low"] is not None:
                assert row[f"{name}_low"] <= row[f"{name}_change"] + 1e-9
                assert row[f"{name}_change"] <= row[f"{name}_high"] + 1e-9


def test_many_regions_have_fewer_resamples() -> None:
    n = 1000
    track, name = np.repeat(np.arange(6), n), np.tile(np.arange(n), 6)
    dur = np.random.default_rng(0).integers(100, 200, 6 * n)
    launch = launch_of(track, name, dur, n_blocks=6, names=None)
    table = diff(launch, launch, resamples=400)
    assert len(table) == n + 2
    assert table.facts["resamples"] == 200
    assert diff(launch, launch, resamples=50).facts["resamples"] == 50


def test_one_straggler_does_not_make_an_interval_useless() -> None:
    """Of a resample without it nothing else varies; its interval is not hundreds of times the change."""
    dur = np.full(64, 10_000) + np.arange(64) % 2
    late = dur.copy()
    late[8:16] = 13_000
    sides = [launch_of(np.repeat(np.arange(8), 8), [0] * 64, one, n_blocks=8) for one in (dur, late)]
    row = by_region(diff(*sides))["load"]
    assert row["verdict"] == "noise"
    assert -0.2 < row["mean_low"] < 0 < row["mean_high"] < 0.3
