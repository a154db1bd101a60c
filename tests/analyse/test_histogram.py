"""Histograms of durations, against counting one slice after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tracks_by_hand import NAMES, enter, launch, leave, track

import mgpu_trace
from mgpu_trace.analyse.histogram import MAX_BINS, bin_edges
from mgpu_trace.diagnostics import MgpuTraceError
from mgpu_trace.pipeline import Launch

LENGTHS = st.one_of(st.integers(0, 20), st.integers(1000, 1200), st.integers(0, 2**31 - 1))


def lasting(lengths: list[int], name: int = 1, **spec: object) -> Launch:
    """A launch of one track with slices of these lengths, between two of another region."""
    events, clock = [enter(0, 0), leave(0, 7)], 7
    for cyc in lengths:
        events += [enter(name, clock), leave(name, clock + cyc)]
        clock += cyc
    events += [enter(0, clock), leave(0, clock + 9)]
    return Launch(launch(track(0, 0, *events), words=3 + 2 * len(events) + 2, **spec))


@given(st.lists(LENGTHS, min_size=1, max_size=60))
@example([5])
@example([0, 1])
@example([0, 2**31 - 1])
def test_every_slice_is_in_the_one_bin_that_holds_its_length(lengths: list[int]) -> None:
    table = mgpu_trace.histogram(lasting(lengths), "load")
    rows = table.rows()
    assert table.facts["n_slices"] == len(lengths) == sum(row["count"] for row in rows)
    assert rows[0]["from_cyc"] == min(lengths)
    assert rows[-1]["to_cyc"] >= max(lengths)
    assert 1 <= len(rows) <= MAX_BINS
    for i, row in enumerate(rows):
        begin, end = row["from_cyc"], row["to_cyc"]
        assert begin < end
        assert i == 0 or begin == rows[i - 1]["to_cyc"]
        is_last = i == len(rows) - 1
        assert row["count"] == sum(begin <= cyc < end or (is_last and cyc == end) for cyc in lengths)


@given(st.integers(0, 2**60), st.integers(0, 2**60), st.integers(1, 2**40))
@example(2**53 + 1, 2**53 + 3, 10)
@example(2**60 - 1, 2**60, 10)
def test_edges_hold_all_lengths(a: int, b: int, n: int) -> None:
    least, largest = sorted((a, b))
    edges = bin_edges(least, largest, n)
    assert 2 <= len(edges) <= MAX_BINS + 1
    assert (np.diff(edges) > 0).all()
    assert edges[0] == least
    assert edges[-1] == largest + (least == largest)


def test_bins_are_equally_wide_where_lengths_are_alike_and_grow_where_they_are_not() -> None:
    alike = np.diff(bin_edges(1000, 2000, 1000))
    assert alike.max() - alike.min() <= 1
    grown = bin_edges(10, 100_000, 1000)
    assert np.allclose(np.diff(np.log(grown[3:])), np.log(10_000) / (len(grown) - 1), atol=0.02)


def test_patterns_take_several_regions_and_steady_leaves_the_ends_out() -> None:
    source = lasting([10, 20, 30, 40], sm_clock_mhz=500.0)
    table = mgpu_trace.histogram(source, "l*")
    assert table.facts["regions"] == ["load"]
    assert mgpu_trace.histogram(source, "*").facts["n_slices"] == 6
    table = mgpu_trace.histogram(source, "load", steady=True, unit="ns")
    assert (table.facts["n_slices"], table["from_ns"][0], table["to_ns"][-1]) == (2, 40.0, 60.0)


@pytest.mark.parametrize(
    ("pattern", "near"), [("laod", "load"), ("LOAD", "load"), ("zzz*", "Init, load"), ("", "Init")]
)
def test_a_region_that_there_is_not(pattern: str, near: str) -> None:
    with pytest.raises(MgpuTraceError, match="MGT641") as caught:
        mgpu_trace.histogram(lasting([10, 20]), pattern)
    assert near in caught.value.diagnostic.hint


def test_no_region_at_all() -> None:
    with pytest.raises(MgpuTraceError, match="MGT641") as caught:
        mgpu_trace.histogram(Launch(launch(track(0, 0))), "load")
    assert "no region at all" in caught.value.diagnostic.hint


def test_a_name_that_is_a_pattern_too_means_itself() -> None:
    source = lasting([10, 20, 30], names=("Init", "l*", "load"))
    assert mgpu_trace.histogram(source, "l*").facts["regions"] == ["l*"]
    assert "load" in NAMES
