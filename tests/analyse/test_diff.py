"""Comparisons against plain Python over the slices."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from analyse.compared import NAMES, by_region, codes, launch_of, made
from hypothesis import given, settings
from strategies import Made, corrupted_launches

import mgpu_trace
from mgpu_trace.analyse.diff import diff
from mgpu_trace.analyse.diff_findings import findings, regressions
from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.model import Timeline, TraceBuffer
from mgpu_trace.pipeline import Launch


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
