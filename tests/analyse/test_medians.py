"""Medians that are resampled: against numpy on raw lists, and against resamples that are really drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from analyse.compared import MMA, NAMES, Kind, launch_of, sides
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace.analyse.bootstrap import Change, Draws
from mgpu_trace.analyse.diff_samples import sample
from mgpu_trace.analyse.medians import Lengths, Regions, _between_quantiles, with_medians
from mgpu_trace.analyse.student import t_quantile
from mgpu_trace.model import Timeline


def lengths_of(cyc: list[int]) -> Lengths:
    values, n = np.unique(np.array(cyc, np.int64), return_counts=True)
    return Lengths(values, n, np.zeros(len(values), np.int64))


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=40),
    st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=10),
)
def test_quantiles_are_numpys(cyc: list[int], shares: list[float]) -> None:
    found = lengths_of(cyc).at(np.array(shares))
    assert found == pytest.approx(np.quantile(cyc, np.clip(shares, 0, 1)), rel=1e-9, abs=1e-9)


def by_block(launch: Timeline, n_blocks: int) -> list[np.ndarray]:
    """Durations of ``mma`` in each block, ``mma`` being a name id."""
    block = launch.slices.track // launch.tracks.tracks_per_block
    mine = launch.slices.name == MMA
    return [launch.slices.dur_cyc[mine & (block == b)] for b in range(n_blocks)]


def nothing() -> Change:
    return Change(np.zeros(1), np.full(1, np.nan), np.full(1, np.nan), np.zeros(1, np.int64), 0.9)


@pytest.mark.parametrize(
    ("kind", "paired"),
    [
        (Kind(blocks=(40, 40), n=(6, 10), slice_=0.6), True),
        (Kind(blocks=(40, 40), n=(6, 10), slice_=0.2, block=0.3), False),
        (Kind(blocks=(30, 60), n=(20, 40), slice_=0.5, units=2), False),
    ],
)
def test_intervals_are_those_of_resamples_that_are_drawn(kind: Kind, paired: bool) -> None:
    """As wide as the medians of whole resamples say, whose units are few: by Student's t."""
    (old,), (new,) = sides(kind, 0.1, np.random.default_rng(3))
    draws = Draws(*kind.blocks, paired, 2000, 1)
    samples = [sample(launch, "block") for launch in (old, new)]
    pairs = np.array([[one.names.index("mma") for one in samples]])
    found = with_medians(nothing(), Regions(samples[0]), Regions(samples[1]), pairs, draws)
    blocks = [by_block(launch, n) for launch, n in zip((old, new), kind.blocks, strict=True)]
    whole = [np.median(np.concatenate(side)) for side in blocks]
    off = []
    for weights in draws:
        for times in zip(*weights, strict=True):
            drawn = [
                np.median(np.concatenate([x for x, t in zip(side, w, strict=True) for _ in range(int(t))]))
                for side, w in zip(blocks, times, strict=True)
            ]
            off.append(np.log(drawn[1] / drawn[0]) - np.log(whole[1] / whole[0]))
    low, high = np.quantile(off, [0.05, 0.95])
    n = min(kind.blocks)
    wider = t_quantile(0.9, n - 1 if paired else sum(kind.blocks) - 2) / t_quantile(0.9, 10**6)
    wider *= np.sqrt(n / (n - 1))
    assert found.high[0] - found.low[0] == pytest.approx((high - low) * wider, rel=0.12)
    assert abs(found.high[0] - high) < 0.2 * (high - low)
    assert abs(found.low[0] - low) < 0.2 * (high - low)


def test_too_few_units_are_left_as_they_are() -> None:
    kind = Kind(blocks=(4, 4))
    (old,), (new,) = sides(kind, 0.0, np.random.default_rng(0))
    regions = [Regions(sample(launch, "block")) for launch in (old, new)]
    found = with_medians(nothing(), *regions, np.array([[1, 1]]), Draws(4, 4, True, 100, 0))
    assert not found.has_interval.any()


def test_medians_of_regions_are_those_of_their_slices() -> None:
    random = np.random.default_rng(1)
    track, name = random.integers(0, 12, 500), random.integers(0, 3, 500)
    dur = random.integers(0, 90, 500)
    launch = launch_of(track, name, dur, n_blocks=6, units=2)
    found = sample(launch, "block")
    medians = dict(zip(found.names[1:], Regions(found).p50_cyc()[1:], strict=True))
    assert medians == {NAMES[i]: np.median(dur[name == i]) for i in range(3)}
    of_tracks = [dur[track == t].sum() for t in range(12)]
    assert Regions(found).p50_cyc()[0] == np.median(of_tracks)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (math.nan, math.nan)),
        ([1.0, 2.0, 3.0, 4.0, 5.0], (1.1, 4.9)),
        ([-math.inf] * 3 + [0.0] * 94 + [math.inf] * 3, (-math.inf, math.inf)),
        ([-math.inf, *[0.0] * 98, math.inf], (0.0, 0.0)),
    ],
)
def test_logarithms_of_no_length_are_infinite_and_nothing_lies_between_them(values, expected):
    found = _between_quantiles(np.array(values), 0.025)
    assert found == pytest.approx(expected, nan_ok=True)
