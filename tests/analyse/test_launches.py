"""Warm-up, steady state, drift and outliers of launches that follow each other."""

import math

import numpy as np
import pytest

from mgpu_trace.analyse.launches import course_of

stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")


def noisy(n, seed=0, scale=20):
    return (10_000 + np.random.default_rng(seed).normal(0, scale, n)).astype(np.int64)


def test_the_slow_launches_at_the_beginning_are_warm_up_and_later_ones_outliers():
    dur = noisy(40)
    dur[:3] = [30_000, 15_000, 12_000]
    dur[20] = 13_000
    dur[30] = 5_000
    found = course_of(dur)
    assert found.state == ("warm-up",) * 3 + tuple(
        "outlier" if i in (20, 30) else "steady" for i in range(3, 40)
    )
    assert abs(found.median_cyc - 10_000) < 20


def test_equal_launches_are_all_steady_and_do_not_drift():
    found = course_of(np.full(50, 1234))
    assert found.state == ("steady",) * 50
    assert (found.drift, found.drift_p, found.median_cyc) == (0.0, 1.0, 1234.0)


def test_few_launches_tell_nothing():
    found = course_of(np.array([100, 5, 5, 5]))
    assert found.state == ("steady",) * 4
    assert math.isnan(found.drift)
    assert course_of(np.zeros(0, np.int64)).state == ()


def test_a_rise_is_found_and_is_as_large_as_it_is():
    dur = noisy(200) + np.linspace(0, 100, 200).astype(np.int64)
    found = course_of(dur)
    assert abs(found.drift - 0.01) < 0.002
    assert found.drift_p < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_slope_and_probability_are_those_of_scipy(seed):
    dur = noisy(60, seed)
    found = course_of(dur)
    assert set(found.state) == {"steady"}, "this seed has no outlier"
    expected = stats.theilslopes(dur, np.arange(60)).slope * 60 / np.median(dur)
    assert math.isclose(found.drift, expected, rel_tol=1e-9)
    tau = stats.kendalltau(np.arange(60), dur, method="asymptotic", variant="b")
    assert math.isclose(found.drift_p, tau.pvalue, rel_tol=0.2, abs_tol=0.02)  # scipy corrects nothing
