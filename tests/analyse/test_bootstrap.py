"""Intervals of changes against the same written out, one resample and one unit at a time."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from numpy.typing import NDArray

from mgpu_trace.analyse.bootstrap import MIN_RESAMPLED, Change, Draws, Ratio, change_of
from mgpu_trace.analyse.diff_table import _measure
from mgpu_trace.analyse.student import t_quantile

N = 700  # resamples: more than are worked on at a time
OLD_OF_SEED_0 = [[1, 2, 0, 1], [0, 1, 1, 2], [2, 1, 0, 1]]
NEW_OF_SEED_0 = [[1, 2, 0], [2, 0, 1], [1, 2, 0]]


def ratio(above: list[float], below: list[float]) -> Ratio:
    column = np.array(below, np.float64)[:, None]
    return Ratio(np.array(above, np.float64)[:, None], column, column > 0)


def random_side(n: int, seed: int, empty: int = 0) -> tuple[list[float], list[float]]:
    random = np.random.default_rng(seed)
    below = random.integers(1, 6, n)
    below[:empty] = 0
    above = np.rint(100 * below * np.exp(0.5 * random.standard_normal(n)))
    return above.tolist(), below.tolist()


def weights_of(draws: Draws) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    return [pair for old, new in draws for pair in zip(old, new, strict=True)]


def log_and_error(
    old: tuple[list[float], list[float]],
    new: tuple[list[float], list[float]],
    times_old: list[float],
    times_new: list[float],
    paired: bool,
) -> tuple[float, float]:
    """The change of a (re)sample and its standard error, from its units written out."""
    units = []
    for (above, below), times in ((old, times_old), (new, times_new)):
        picked = [(a, b) for a, b, t in zip(above, below, times, strict=True) for _ in range(int(t))]
        whole = sum(a for a, _ in picked)
        mean = whole / sum(b for _, b in picked)
        units.append((mean, [(a - mean * b) / whole for a, b in picked]))
    log = math.log(units[1][0] / units[0][0])
    n_old = sum(b > 0 for b in old[1])
    n_new = sum(b > 0 for b in new[1])
    if paired:
        n = sum(a > 0 or b > 0 for a, b in zip(old[1], new[1], strict=True))
        off = [b - a for a, b in zip(units[0][1], units[1][1], strict=True)]
        return log, math.sqrt(n / (n - 1) * sum(x * x for x in off))
    variance = n_old / (n_old - 1) * sum(x * x for x in units[0][1])
    variance += n_new / (n_new - 1) * sum(x * x for x in units[1][1])
    return log, math.sqrt(variance)


@pytest.mark.parametrize(
    ("n_old", "n_new", "empty", "paired"),
    [(7, 7, 0, True), (12, 12, 3, True), (40, 40, 0, True), (7, 7, 0, False), (9, 15, 2, False)],
)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_against_one_resample_at_a_time(
    n_old: int, n_new: int, empty: int, paired: bool, confidence: float
) -> None:
    old, new = random_side(n_old, 1, empty), random_side(n_new, 2, empty)
    draws = Draws(n_old, n_new, paired, N, 5)
    found = change_of(ratio(*old), ratio(*new), draws, confidence)
    log, error = log_and_error(old, new, [1] * n_old, [1] * n_new, paired)
    distances = []
    for times_old, times_new in weights_of(draws):
        drawn, drawn_error = log_and_error(old, new, times_old.tolist(), times_new.tolist(), paired)
        distances.append(abs(drawn - log) / max(drawn_error, error / 4))
    q = sorted(distances)[math.ceil(confidence * (N - 1))]
    half = max(q, t_quantile(confidence, int(found.df[0]))) * error
    assert found.log[0] == pytest.approx(log)
    assert found.high[0] - log == pytest.approx(half)
    assert log - found.low[0] == pytest.approx(half)


def test_few_units_of_equal_weight_are_a_paired_t_test() -> None:
    old, new = [100.0, 104.0, 99.0], [111.0, 120.0, 108.0]
    draws = Draws(3, 3, True, 100, 0)
    found = change_of(ratio(old, [1] * 3), ratio(new, [1] * 3), draws, 0.95)
    off = [b / statistics.mean(new) - a / statistics.mean(old) for a, b in zip(old, new, strict=True)]
    half = t_quantile(0.95, 2) * statistics.stdev(off) / math.sqrt(3)
    assert found.df[0] == 2
    assert found.high[0] - found.low[0] == pytest.approx(2 * half)


def test_few_units_that_are_no_pairs_are_welchs_test() -> None:
    old, new = [100.0, 104.0, 99.0, 101.0], [111.0, 140.0]
    found = change_of(ratio(old, [1] * 4), ratio(new, [1] * 2), Draws(4, 2, False, 100, 0), 0.95)
    parts = [statistics.variance(x) / len(x) / statistics.mean(x) ** 2 for x in (old, new)]
    df = sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 1)
    assert found.df[0] == int(df)
    assert found.high[0] - found.low[0] == pytest.approx(
        2 * t_quantile(0.95, int(df)) * math.sqrt(sum(parts))
    )


def test_a_single_launch_varies_as_the_other_side_does() -> None:
    old, new = [100.0], [111.0, 115.0, 110.0]
    sides = ratio(old, [1]), ratio(new, [1] * 3)
    found = change_of(*sides, Draws(1, 3, False, 100, 0), 0.95, pooled=True)
    one = statistics.variance(new) / statistics.mean(new) ** 2
    half = t_quantile(0.95, 2) * math.sqrt(one + one / 3)
    assert found.high[0] - found.low[0] == pytest.approx(2 * half)
    assert not change_of(*sides, Draws(1, 3, False, 100, 0), 0.95).has_interval.any()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (([5.0], [1.0]), ([6.0], [1.0])),
        (([5.0, 0.0, 0.0], [1.0, 0.0, 0.0]), ([6.0, 0.0, 0.0], [1.0, 0.0, 0.0])),
        (([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]), ([6.0, 5.0, 6.0], [1.0, 1.0, 1.0])),
        (([0.0] * 6, [0.0] * 6), ([6.0] * 6, [1.0] * 6)),
    ],
    ids=["one unit", "one unit has it", "nothing before", "went"],
)
@pytest.mark.parametrize("paired", [True, False])
def test_where_nothing_tells_noise_there_is_no_interval(old: object, new: object, paired: bool) -> None:
    sides = ratio(*old), ratio(*new)  # type: ignore[misc]
    n = len(sides[0].above)
    found = change_of(*sides, Draws(n, n, paired, 100, 0), 0.95)
    assert not found.has_interval.any()
    assert not found.is_beyond_noise(1).any()


def test_what_does_not_vary_has_an_interval_without_width() -> None:
    n = MIN_RESAMPLED + 1
    found = change_of(
        ratio([7.0] * n, [1.0] * n), ratio([14.0] * n, [1.0] * n), Draws(n, n, True, 100, 0), 0.95
    )
    assert found.low[0] == found.log[0] == found.high[0] == pytest.approx(math.log(2))
    assert found.is_beyond_noise(100).all()


def test_columns_do_not_know_of_each_other() -> None:
    old, new = [random_side(8, seed) for seed in (1, 2)], [random_side(8, seed) for seed in (3, 4)]
    draws = Draws(8, 8, True, 200, 0)
    alone = [change_of(ratio(*a), ratio(*b), draws, 0.9) for a, b in zip(old, new, strict=True)]
    sides = [
        Ratio(
            *(
                np.concatenate([getattr(ratio(*s), f) for s in side], axis=1)
                for f in ("above", "below", "has")
            )
        )
        for side in (old, new)
    ]
    both = change_of(*sides, draws, 0.9)
    for column in ("log", "low", "high", "df"):
        assert getattr(both, column) == pytest.approx([getattr(one, column)[0] for one in alone])


def test_draws_are_the_seeds_and_of_the_right_size() -> None:
    old, new = (np.concatenate(found) for found in zip(*Draws(6, 9, False, 1201, 3), strict=True))
    assert old.shape == (1201, 6)
    assert new.shape == (1201, 9)
    assert (old.sum(axis=1) == 6).all()
    assert (new.sum(axis=1) == 9).all()
    assert np.abs(old.mean(axis=0) - 1).max() < 0.15
    again = np.concatenate([w for w, _ in Draws(6, 9, False, 1201, 3)])
    other = np.concatenate([w for w, _ in Draws(6, 9, False, 1201, 4)])
    assert (old == again).all()
    assert (old != other).any()
    assert all(a is b for a, b in Draws(6, 6, True, 1201, 3))


def test_the_draws_of_a_seed_stay_what_they_are() -> None:
    """They are made of PCG64's raw words, whose stream NumPy promises to keep."""
    ((old, new),) = Draws(4, 3, False, 3, 0)
    words = np.random.PCG64(0).random_raw(12) % np.uint64(4)
    assert [np.bincount(row.astype(int), minlength=4).tolist() for row in words.reshape(3, 4)] == old.tolist()
    assert old.tolist() == OLD_OF_SEED_0
    assert new.tolist() == NEW_OF_SEED_0


def test_more_tests_need_more() -> None:
    log, half = np.array([0.10, 0.10, -0.10]), np.array([0.09, 0.05, 0.05])
    found = Change(log, log - half, log + half, np.array([4, 1000, 1000]), 0.95)
    assert found.is_beyond_noise(1).tolist() == [True, True, True]
    assert found.is_beyond_noise(10).tolist() == [False, True, True]
    assert found.is_beyond_noise(10**6).tolist() == [False, False, False]


def test_intervals_wider_than_any_number_are_none_and_nothing_is_beyond_them() -> None:
    """Lengths of one cycle and of years side by side: the relative change may be anything."""
    log, half = np.array([0.5, 0.5]), np.array([1e308, 800.0])
    change = Change(log, log - half, log + half, np.array([1, 1]), 0.95)
    assert change.is_beyond_noise(1000).tolist() == [False, False]
    told = _measure("mean", "cyc", (np.ones(2), np.full(2, 1.6)), change)
    assert np.isnan(told["mean_low"]).all()
    assert np.isnan(told["mean_high"]).all()
    assert told["mean_change"].tolist() == pytest.approx([np.expm1(0.5)] * 2)
