"""What an interval is made from: launches, blocks of equal work, tracks, or nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from analyse.compared import MMA, Kind, by_region, codes, launch_of, made, sides

from mgpu_trace.analyse.diff import diff
from mgpu_trace.analyse.diff_findings import findings, regressions
from mgpu_trace.analyse.diff_samples import MAX_UNITS
from mgpu_trace.pipeline import Launch


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


def test_one_straggler_does_not_make_an_interval_useless() -> None:
    """Of a resample without it nothing else varies; its interval is not hundreds of times the change."""
    dur = np.full(64, 10_000) + np.arange(64) % 2
    late = dur.copy()
    late[8:16] = 13_000
    sides = [launch_of(np.repeat(np.arange(8), 8), [0] * 64, one, n_blocks=8) for one in (dur, late)]
    row = by_region(diff(*sides))["load"]
    assert row["verdict"] == "noise"
    assert -0.2 < row["mean_low"] < 0 < row["mean_high"] < 0.3
