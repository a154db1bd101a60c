"""What a comparison calls a regression, what it refuses, and what it warns of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from analyse.compared import LOAD, STORE, Kind, by_region, codes, launch_of, sides

from mgpu_trace.analyse.diff import diff
from mgpu_trace.analyse.diff_findings import findings, regressions
from mgpu_trace.analyse.table import Table
from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.model import Timeline


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
