"""The unit of an answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tracks_by_hand import enter, launch, leave, track

import mgpu_trace
from mgpu_trace.analyse.units import time_unit
from mgpu_trace.diagnostics import MgpuTraceError
from mgpu_trace.pipeline import Launch

TRACK = track(0, 0, enter(0, 0), leave(0, 7), enter(1, 9), enter(2, 12), leave(2, 15), leave(1, 20))


def source(mhz: float | None) -> Launch:
    return Launch(launch(TRACK, sm_clock_mhz=mhz))


@pytest.mark.parametrize("asked", ["auto", "cyc"])
def test_without_a_rate_times_are_cycles_and_say_so(asked) -> None:
    table = mgpu_trace.stats(source(None), unit=asked)
    assert table.facts["unit"] == "cyc"
    assert not [name for name in (*table.columns, *table.facts) if name.endswith("_ns")]
    assert table["total_cyc"].dtype == np.int64


def test_nanoseconds_without_a_rate_are_refused() -> None:
    with pytest.raises(MgpuTraceError, match="MGT640") as caught:
        mgpu_trace.stats(source(None), unit="ns")
    assert "--sm-clock-mhz" in caught.value.diagnostic.hint


@pytest.mark.parametrize("mhz", [1980.0, 1000.0, 1755.5])
def test_nanoseconds_are_cycles_times_the_stated_rate(mhz: float) -> None:
    """Every time of the table and of its facts, once each; nothing else changes."""
    cyc, ns = (mgpu_trace.stats(source(mhz), unit=unit) for unit in ("cyc", "ns"))
    assert (time_unit(source(mhz).clock).suffix, ns.facts["unit"]) == ("ns", "ns")
    assert mgpu_trace.stats(source(mhz)).rows() == ns.rows()
    for one, other in zip((*cyc.rows(), cyc.facts), (*ns.rows(), ns.facts), strict=True):
        assert len(one) == len(other)
        for name, value in one.items():
            base = name.removesuffix("_cyc")
            if base == name or name == "smallest_gap_cyc":
                assert other[name] == (value if name != "unit" else "ns")
            else:
                want = None if value is None else pytest.approx(value * 1000 / mhz, rel=1e-14)
                assert other[f"{base}_ns"] == want


def test_an_estimated_rate_is_one() -> None:
    clock = replace(source(None).clock, rate_mhz=1500.0, rate_source="data")
    assert time_unit(clock).of(3).item() == 2.0
