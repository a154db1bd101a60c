"""Launches of one kernel, one after the other: warm-up, steady state, drift, outliers.

Durations of launches are compared with the median of their kernel on their device; how far is far
is measured by the median distance from it, so that the slow ones do not hide themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace.model import F64, I64

WARM_UP: Final = "warm-up"
OUTLIER: Final = "outlier"
STEADY: Final = "steady"
# Iglewicz and Hoaglin: a modified z-score beyond this is an outlier.
_FAR: Final = 3.5
# The median distance of normally distributed values is this part of their standard deviation.
_MAD_OF_SIGMA: Final = 0.6745
# Nothing closer than this to the median is called anything: clocks and schedulers are not that quiet.
_NEAR: Final = 0.01
# With fewer launches there is no telling what is usual.
_MIN_LAUNCHES: Final = 5
# Pairs of launches grow with the square; so many launches, evenly chosen, are enough for a slope.
_MAX_SLOPE_LAUNCHES: Final = 1000


@dataclass(frozen=True, slots=True)
class Course:
    """How the launches of one kernel on one device went.

    Attributes
    ----------
    state
        ``(n_launches,)``: ``"warm-up"``, ``"steady"`` or ``"outlier"``, in the order of the launches.
    median_cyc
        Of the steady ones.
    drift
        What a launch takes longer at the end of the steady state than at its beginning, as a share of the
        median: the median slope between all pairs of launches (Theil and Sen). NaN where there are too few.
    drift_p
        How probable so steady a rise or fall is by chance alone (Kendall's tau, two-sided).
    """

    state: tuple[str, ...]
    median_cyc: float
    drift: float
    drift_p: float


def course_of(dur_cyc: I64) -> Course:
    """Tell warm-up, steady state and outliers apart.

    Parameters
    ----------
    dur_cyc
        ``(n_launches,)`` durations in the order of the launches.

    Returns
    -------
    Course
        Warm-up is the run of slow launches that the first one begins; it is at most half of them.
    """
    n = len(dur_cyc)
    if n < _MIN_LAUNCHES:
        return Course((STEADY,) * n, float(np.median(dur_cyc)) if n else math.nan, math.nan, math.nan)
    dur = dur_cyc.astype(np.float64)
    middle = float(np.median(dur))
    spread = float(np.median(np.abs(dur - middle)))
    far = np.abs(dur - middle) > max(_FAR * spread / _MAD_OF_SIGMA, _NEAR * middle)
    slow = far & (dur > middle)
    n_warm = min(int(np.argmin(slow)), n // 2) if slow[0] else 0
    state = [WARM_UP] * n_warm + [OUTLIER if is_far else STEADY for is_far in far[n_warm:].tolist()]
    steady = np.array([what == STEADY for what in state])
    slope, p = _trend(np.flatnonzero(steady), dur[steady])
    median = float(np.median(dur[steady]))
    return Course(tuple(state), median, slope * (n - n_warm) / median if median else math.nan, p)


def _trend(at: I64, dur: F64) -> tuple[float, float]:
    """The median slope between pairs, and how probable their signs are by chance."""
    if len(dur) < _MIN_LAUNCHES:
        return math.nan, math.nan
    some = np.unique(np.linspace(0, len(dur) - 1, min(len(dur), _MAX_SLOPE_LAUNCHES)).astype(np.int64))
    at, dur = at[some], dur[some]
    first, second = np.triu_indices(len(dur), 1)
    rise = dur[second] - dur[first]
    slope = float(np.median(rise / (at[second] - at[first])))
    n = len(dur)
    concordant = float(np.sign(rise).sum())
    _, ties = np.unique(dur, return_counts=True)
    variance = n * (n - 1) * (2 * n + 5) / 18 - float((ties * (ties - 1) * (2 * ties + 5)).sum()) / 18
    if variance <= 0:
        return slope, 1.0
    z = max(abs(concordant) - 1, 0.0) / math.sqrt(variance)
    return slope, math.erfc(z / math.sqrt(2))
