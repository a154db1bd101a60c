"""The plot of durations against plain counting."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from report.support import figures, launch, read

from mgpu_trace.report import report_page
from mgpu_trace.report.durations import MAX_BINS, binned, log_edges

LENGTHS = st.lists(st.integers(0, 50) | st.integers(0, 2**40), min_size=1, max_size=60)


@given(LENGTHS)
def test_every_length_is_in_the_bin_that_holds_it(lengths: list[int]) -> None:
    counted = Counter(lengths)
    cyc = np.array(sorted(counted), np.int64)
    edges, n = binned(cyc, np.array([counted[int(c)] for c in cyc], np.int64))
    bounds = edges.tolist()
    assert n.tolist() == [
        sum(low <= one < high for one in lengths) for low, high in itertools.pairwise(bounds)
    ]
    assert n.sum() == len(lengths)
    assert 1 <= len(n) <= MAX_BINS


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(1, 10**7))
def test_edges_ascend_from_the_least_to_beyond_the_largest(a: int, b: int, n: int) -> None:
    edges = log_edges(min(a, b), max(a, b), n).tolist()
    assert edges[0] == min(a, b)
    assert edges[-1] == max(a, b) + 1
    assert all(low < high for low, high in itertools.pairwise(edges))


def test_what_the_pointer_shows_adds_up_and_the_marks_are_percentiles() -> None:
    """By region: the counts of all bins are its slices, and p50 lies where numpy puts it."""
    timeline = launch().timeline()
    slices, spec = timeline.slices, timeline.spec
    figure = figures(read(report_page(timeline)))["durations"]
    ridges = {one["meta"][0]: one for one in figure["data"] if one["mode"] == "lines"}
    half, _ = (one for one in figure["data"] if one["mode"] == "markers")
    names = figure["layout"]["yaxis"]["ticktext"][::-1]
    assert set(names) == set(ridges) == {spec.name_of(int(i)) for i in np.unique(slices.name)}
    for name, mark in zip(names, half["x"], strict=True):
        lengths = slices.dur_cyc[[spec.name_of(int(i)) == name for i in slices.name]]
        told = [re.match(r".*: (\d+) of (\d+) slices", text) for text in ridges[name]["customdata"][1:-1:2]]
        assert sum(int(match[1]) for match in told if match) == len(lengths)
        seconds = np.percentile(lengths, 50) * timeline.clock.ns_per_cyc * 1e-9
        assert np.isclose(mark, seconds, rtol=1e-5)
        assert min(ridges[name]["x"]) <= mark <= max(ridges[name]["x"])
