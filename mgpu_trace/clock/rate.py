"""The SM clock's rate from the data: tracks of one SM that start far apart give a slope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace.clock.sms import MAX_CYC_PER_NS, MIN_CYC_PER_NS, FirstEvents
from mgpu_trace.model import F64, Bool, distinct

# The timer's step when the data does not show it: the coarsest that is known.
UNKNOWN_STEP_NS: Final = 1024
# An SM's first and last start must be this many steps apart to say anything.
_MIN_BASELINE_STEPS: Final = 32
# A rate less certain than this is no better than a guess.
_MAX_UNCERTAINTY_PPM: Final = 10_000.0
# Time between the reading of the global timer and the first event's clock may vary by this much.
SETUP_NS: Final = 500.0


@dataclass(frozen=True, slots=True)
class Rate:
    """An estimated rate and two standard deviations of it."""

    cyc_per_ns: float
    uncertainty_ppm: float


def estimate_rate(first: FirstEvents, step_ns: int | None) -> Rate | None:
    """One rate for all SMs, each with its own offset; None when the baseline is too short.

    A median of the SMs' own slopes throws out what does not belong (a garbage header, a block that
    was preempted between the two readings); least squares over the rest gives the rate.
    """
    step = UNKNOWN_STEP_NS if step_ns is None else step_ns
    slope = _median_slope(first, step * _MIN_BASELINE_STEPS)
    if slope is None or not MIN_CYC_PER_NS <= 1.0 / slope <= MAX_CYC_PER_NS:
        return None
    off = first.start_ns - first.clock_cyc * slope
    use = first.is_fit & (np.abs(off - _of_group(first, off, first.is_fit)) <= step + SETUP_NS)
    if np.count_nonzero(use) < 3:
        return None
    return _least_squares(first, use, float(step))


def _median_slope(first: FirstEvents, min_baseline_ns: int) -> float | None:
    """Median over SMs of nanoseconds per cycle between each one's first and last start."""
    rows = np.flatnonzero(first.is_fit)
    if rows.size == 0:
        return None
    group = first.group[rows]
    begin = np.flatnonzero(np.diff(group, prepend=-1))
    end = np.append(begin[1:], len(group)) - 1
    ns = first.start_ns[rows][end] - first.start_ns[rows][begin]
    cyc = first.clock_cyc[rows][end] - first.clock_cyc[rows][begin]
    far = (ns >= min_baseline_ns) & (cyc > 0)
    return float(np.median(ns[far] / cyc[far])) if far.any() else None


def _of_group(first: FirstEvents, value: F64, use: Bool) -> F64:
    """Each row's SM's median of ``value`` over the rows in use."""
    out = np.zeros(int(first.group[-1]) + 1)
    rows = np.flatnonzero(use)
    order = rows[np.lexsort((value[rows], first.group[rows]))]
    group = first.group[order]
    begin = np.flatnonzero(np.diff(group, prepend=-1))
    count = np.diff(begin, append=len(group))
    out[group[begin]] = value[order[begin + count // 2]]
    return out[first.group]


def _least_squares(first: FirstEvents, use: Bool, step_ns: float) -> Rate | None:
    group = first.group[use]
    x, y = first.clock_cyc[use].astype(np.float64), first.start_ns[use].astype(np.float64)
    count = np.bincount(group)
    count = np.maximum(count, 1)
    x -= (np.bincount(group, x) / count)[group]
    y -= (np.bincount(group, y) / count)[group]
    sxx = float(x @ x)
    if sxx <= 0.0:
        return None
    slope = float(x @ y) / sxx
    if slope <= 0.0:
        return None
    # Readings are rounded down to a step: uniform noise, unless the residuals are worse.
    noise = max(step_ns / 12**0.5, float(np.std(y - slope * x)))
    # Tracks that read the same step share its rounding: they are one witness, not several.
    n_witnesses = len(distinct(first.start_ns[use]))
    noise *= (len(x) / n_witnesses) ** 0.5
    ppm = 2.0 * noise / sxx**0.5 / slope * 1e6
    rate = 1.0 / slope
    if ppm > _MAX_UNCERTAINTY_PPM or not MIN_CYC_PER_NS <= rate <= MAX_CYC_PER_NS:
        return None
    return Rate(rate, ppm)
