"""Lengths by group, against lists of them and numpy's own percentiles."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace.analyse import durations
from mgpu_trace.analyse.durations import Counts, Durations

LENGTHS = st.one_of(
    st.integers(0, 5),
    st.integers(0, 2**17),
    st.sampled_from((2**16 - 1, 2**16, 2**31)),
    st.integers(0, 2**51),
)
GROUPS = st.one_of(st.integers(0, 3), st.sampled_from((255, 256, 257, 10**6, 2**50)))
RUNS = st.lists(st.lists(st.tuples(GROUPS, LENGTHS), max_size=12), max_size=6)
# Lengths in a table and single ones; counted at once; rounded at once; a table of few groups.
LIMITS = [
    {},
    {"_MAX_SINGLE": 0},
    {"_MAX_SINGLE": 2},
    {"_TABLED_GROUPS": 2, "_SHORT_CYC": 4},
    {"_TABLED_GROUPS": 1},
]


def collected(runs: list[list[tuple[int, int]]], limits: dict[str, int]) -> tuple[Durations, Counts]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(durations, name, value)
        found = Durations()
        for run in runs:
            found.add(np.array([g for g, _ in run], np.int64), np.array([c for _, c in run], np.int64))
        return found, found.counts()


def by_group(runs: list[list[tuple[int, int]]]) -> dict[int, list[int]]:
    lengths: dict[int, list[int]] = defaultdict(list)
    for run in runs:
        for group, cyc in run:
            lengths[group].append(cyc)
    return {group: sorted(lengths[group]) for group in sorted(lengths)}


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@given(runs=RUNS)
def test_every_length_is_counted(runs, limits) -> None:
    found, counts = collected(runs, limits)
    assert not found.is_rounded
    lengths = by_group(runs)
    want = [(g, c, lengths[g].count(c)) for g in lengths for c in sorted(set(lengths[g]))]
    assert list(zip(*(a.tolist() for a in (counts.group, counts.cyc, counts.n)), strict=True)) == want
    for group, cyc in lengths.items():
        one, n = counts.of_group(group)
        assert np.repeat(one, n).tolist() == cyc


@given(runs=RUNS)
def test_statistics_of_the_counts_are_those_of_the_list(runs) -> None:
    lengths = by_group(runs)
    _, counts = collected(runs, {})
    # Groups by their rank, and one more that has no length.
    dense = Counts(np.searchsorted(np.array(sorted(lengths), np.int64), counts.group), counts.cyc, counts.n)
    n = len(lengths) + 1
    mean, deviation, least, largest = dense.spread(n)
    ranks = dense.percentiles(n, 0, 50, 90, 99, 100)
    assert all(np.isnan(values[-1]) for values in (mean, deviation, least, largest, *ranks))
    for i, cyc in enumerate(lengths.values()):
        assert mean[i] == pytest.approx(np.mean(cyc), rel=1e-12)
        assert deviation[i] == pytest.approx(np.std(np.array(cyc, np.longdouble)), rel=1e-9, abs=1e-9)
        assert (least[i], largest[i]) == (cyc[0], cyc[-1])
        assert [values[i] for values in ranks] == np.percentile(cyc, (0, 50, 90, 99, 100)).tolist()


@given(
    runs=st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2**40)), max_size=12), min_size=1, max_size=6
    ),
    limits=st.sampled_from(({"_MAX_COUNTED": 3}, {"_MAX_COUNTED": 3, "_SHORT_CYC": 1, "_TABLED_GROUPS": 1})),
)
def test_rounded_lengths_are_right_to_one_part_in_2048(runs, limits) -> None:
    """However often they are rounded; the least and the largest of each group, and all counts, are exact."""
    found, counts = collected(runs, {"_MAX_SINGLE": 0, **limits})
    lengths = by_group(runs)
    assert found.is_rounded or len(counts.cyc) == len({(g, c) for g in lengths for c in lengths[g]})
    assert sorted(set(counts.group.tolist())) == list(lengths)
    for group, cyc in lengths.items():
        one, n = counts.of_group(group)
        near = np.repeat(one, n)
        assert len(near) == len(cyc)
        assert (near[0], near[-1]) == (cyc[0], cyc[-1])
        assert np.abs(near - cyc).max() <= 1 + cyc[-1] / 2048
        assert (np.abs(near - np.array(cyc)) <= np.array(cyc) / 2048).all()


def test_rounding_is_said() -> None:
    runs = [[(0, 2**20 + 7 * i) for i in range(40)]]
    found, counts = collected(runs, {"_MAX_SINGLE": 0, "_MAX_COUNTED": 8})
    assert found.is_rounded
    assert len(counts.cyc) < 40
    assert counts.n.sum() == 40


def test_long_lengths_that_recur_do_not_overflow() -> None:
    """Half a million nested slices of 2**50 cycles: their sum is beyond 64 bits."""
    counts = Counts(np.zeros(1, np.int64), np.array([2**50]), np.array([2**19]))
    mean, deviation, _, _ = counts.spread(1)
    assert mean.tolist() == [2.0**50]
    assert deviation.tolist() == [0.0]
