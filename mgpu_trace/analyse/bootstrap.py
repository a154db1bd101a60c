"""How far a change can be noise: intervals from samples that are resampled as wholes.

A sample is made of *units* that are alike: launches, blocks, or tracks. What happens inside one (its
tracks wait for each other) may depend on anything; from unit to unit it is taken for independent. Every
statistic is a ratio of two sums over units, a mean duration being cycles by slices. A change is the
logarithm of the new ratio by the old one, so a relative change, and symmetric: twice as long and half as
long lie equally far from no change.

Its interval is the symmetric studentised bootstrap: how far a resample's change lies from the
sample's, in standard errors of that resample. Quantiles of the plain bootstrap are too narrow for few
units: 8 units of lognormal durations are covered in 90 % where 95 % were asked for. With fewer than
``MIN_RESAMPLED`` units there are too few different resamples, and Student's t stands alone; with more it
is the least width. Variances are those of the linearised ratio, both sides' with their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from mgpu_trace.analyse.student import t_quantile
from mgpu_trace.model import F64, I64, Bool

MIN_RESAMPLED: Final = 5
_CHUNK: Final = 500  # resamples at a time
# A resample without the one unit that differs has next to no error of its own, and would lie any number
# of them away. Those of skewed durations are rarely this small a part of the sample's.
_LEAST_ERROR: Final = 0.25


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ratios of sums over the units of one side, one for each column.

    Attributes
    ----------
    above, below
        ``(n_units, n)``: what is summed above and below the line; none is negative.
    has
        ``(n_units, n)``: which units have something of that column. The others are zeros, and make no
        sample larger than it is.
    """

    above: F64
    below: F64
    has: Bool

    @property
    def value(self) -> F64:
        """``(n,)``, NaN where there is nothing to divide by."""
        return _divided(self.above.sum(axis=0), self.below.sum(axis=0))

    @property
    def rest(self) -> F64:
        """``(n_units, n)``: how far each unit is above what the ratio says; they add up to 0."""
        found: F64 = self.above - np.nan_to_num(self.value) * self.below
        return found


@dataclass(frozen=True, slots=True)
class Draws:
    """The resamples: how often each unit is drawn. The same seed draws the same under every NumPy.

    Attributes
    ----------
    n_old, n_new
        Units of the two sides.
    is_paired
        Whether unit i is the same on both sides (a block of the same work), and drawn on both together.
    n
        How many resamples.
    """

    n_old: int
    n_new: int
    is_paired: bool
    n: int
    seed: int

    def __iter__(self) -> Iterator[tuple[F64, F64]]:
        """Weights ``(n_resamples, n_old)`` and ``(n_resamples, n_new)``, some resamples at a time."""
        stream = np.random.PCG64(self.seed)  # only its raw words are promised to stay (NEP 19)
        for first in range(0, self.n, _CHUNK):
            size = min(_CHUNK, self.n - first)
            old = _weights(stream, size, self.n_old)
            yield old, old if self.is_paired else _weights(stream, size, self.n_new)


def _weights(stream: np.random.PCG64, n: int, n_units: int) -> F64:
    drawn = (stream.random_raw((n, n_units)) % np.uint64(n_units)).astype(np.int64)
    drawn += np.arange(n)[:, None] * n_units
    return np.bincount(drawn.reshape(-1), minlength=n * n_units).reshape(n, n_units).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Change:
    """Changes as logarithms of new by old, ``(n,)`` each; NaN where there is none.

    Attributes
    ----------
    log
        The change.
    low, high
        Its interval; NaN where too few units say what is noise.
    df
        Degrees of freedom; 0 where there is no interval.
    confidence
        What the interval covers with.
    """

    log: F64
    low: F64
    high: F64
    df: I64
    confidence: float

    @property
    def has_interval(self) -> Bool:
        """``(n,)``."""
        return np.isfinite(self.low) & np.isfinite(self.high)

    def is_beyond_noise(self, n_tests: int) -> Bool:
        """``(n,)``: whether the interval leaves out no change, also when ``n_tests`` are looked at.

        All of them together are wrong in no more cases than the interval alone (Bonferroni). A bootstrap
        has no such far quantiles; the interval is widened as that of Student's t.
        """
        half = np.where(self.log > 0, self.log - self.low, self.high - self.log)
        wider = 1 - (1 - self.confidence) / max(n_tests, 1)
        ratio = [t_quantile(wider, df) / t_quantile(self.confidence, df) for df in _at_least_one(self.df)]
        with np.errstate(over="ignore", invalid="ignore"):  # wider than any number: nothing is beyond it
            found: Bool = self.has_interval & (np.abs(self.log) > half * np.array(ratio, np.float64))
        return found


def change_of(old: Ratio, new: Ratio, draws: Draws, confidence: float, *, pooled: bool = False) -> Change:
    """The change of each column, with its interval.

    Parameters
    ----------
    pooled
        Whether a side of one unit may be taken to vary as much as the other does. So it is for launches.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(new.value / old.value)
        log[~np.isfinite(log)] = np.nan
        error, df, few = _standard_error(old, new, draws.is_paired, pooled)
        q = np.array([t_quantile(confidence, d) for d in _at_least_one(df)], np.float64)
        many = (few >= MIN_RESAMPLED) & (error > 0) & np.isfinite(log)
        if many.any():
            part = [Ratio(s.above[:, many], s.below[:, many], s.has[:, many]) for s in (old, new)]
            drawn = _drawn_quantile(part[0], part[1], log[many], error[many], draws, confidence)
            q[many] = np.fmax(q[many], drawn)
    with np.errstate(over="ignore", invalid="ignore"):  # an interval without end is none
        half = np.where(df > 0, q * error, np.nan)
    return Change(log, log - half, log + half, np.where(np.isnan(log), 0, df), confidence)


def centred(change: Change, log: F64) -> Change:
    """The same intervals around other changes."""
    return replace(change, log=log, low=change.low - change.log + log, high=change.high - change.log + log)


def _at_least_one(df: I64) -> list[int]:
    found: list[int] = np.maximum(df, 1).tolist()
    return found


def _standard_error(old: Ratio, new: Ratio, paired: bool, pooled: bool) -> tuple[F64, I64, I64]:
    """Standard error of each change, its degrees of freedom (0: none), and units of the smaller side."""
    of_old = _divided(old.rest, old.above.sum(axis=0))
    of_new = _divided(new.rest, new.above.sum(axis=0))
    if paired:
        k = (old.has | new.has).sum(axis=0)
        k = np.where(old.has.any(axis=0) & new.has.any(axis=0), k, 0)
        return np.sqrt(_unbiased(k) * ((of_new - of_old) ** 2).sum(axis=0)), np.maximum(k - 1, 0), k
    k_old, k_new = old.has.sum(axis=0), new.has.sum(axis=0)
    v_old = _unbiased(k_old) * (of_old**2).sum(axis=0)
    v_new = _unbiased(k_new) * (of_new**2).sum(axis=0)
    if pooled:
        # The variance of one launch, seen on the other side.
        v_old = np.where((k_old == 1) & (k_new > 1), v_new * k_new, v_old)
        v_new = np.where((k_new == 1) & (k_old > 1), v_old * k_old, v_new)
    of_both = _welch(v_old, k_old, v_new, k_new)
    of_one = np.maximum(k_old, k_new) - 1
    few = np.minimum(k_old, k_new)
    df = np.where(few > 1, of_both, of_one if pooled else 0)
    return np.sqrt(v_old + v_new), np.where(few > 0, df, 0), few


def _welch(v_old: F64, k_old: I64, v_new: F64, k_new: I64) -> I64:
    """Degrees of freedom of two variances (Satterthwaite), rounded down."""
    parts = v_old**2 / np.maximum(k_old - 1, 1) + v_new**2 / np.maximum(k_new - 1, 1)
    df = np.divide((v_old + v_new) ** 2, parts, out=(k_old + k_new - 2).astype(np.float64), where=parts > 0)
    return np.maximum(np.floor(df + 1e-9), 1).astype(np.int64)


def _unbiased(k: I64) -> F64:
    found: F64 = k / np.maximum(k - 1.0, 1.0)
    return found


def _drawn_quantile(old: Ratio, new: Ratio, log: F64, error: F64, draws: Draws, confidence: float) -> F64:
    """How many standard errors resamples' changes lie from the sample's, at that confidence, ``(n,)``."""
    if draws.is_paired:
        k = (old.has | new.has).sum(axis=0)
        unbiased = (_unbiased(k), _unbiased(k))
    else:
        unbiased = (_unbiased(old.has.sum(axis=0)), _unbiased(new.has.sum(axis=0)))
    found = []
    for w_old, w_new in draws:
        was, now = _Drawn.of(w_old, old), _Drawn.of(w_new, new)
        variance = unbiased[0] * was.variance + unbiased[1] * now.variance
        if draws.is_paired:
            variance -= 2 * unbiased[0] * _covariance(w_old, old, was, new, now)
        own_error = np.sqrt(np.maximum(variance, (_LEAST_ERROR * error) ** 2))
        distance = np.abs(np.log(now.value / was.value) - log) / own_error
        # A resample that lacks the region says nothing; it counts as far away.
        found.append(np.nan_to_num(distance, nan=np.inf))
    q: F64 = np.quantile(np.concatenate(found), confidence, axis=0, method="higher")
    q[~np.isfinite(q)] = np.nan
    return q


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What some resamples of one side say, ``(n_resamples, n)`` each.

    ``off`` is the ratio less that of the sample, ``variance`` that of its logarithm.
    """

    above: F64
    value: F64
    off: F64
    variance: F64

    @classmethod
    def of(cls, weights: F64, side: Ratio) -> _Drawn:
        above = weights @ side.above
        value = above / (weights @ side.below)
        rest, off = side.rest, value - side.value
        # The units' distances from the resample's own ratio, squared and summed, without a unit's axis.
        squares = weights @ rest**2
        squares -= 2 * off * (weights @ (rest * side.below))
        squares += off**2 * (weights @ side.below**2)
        return cls(above, value, off, squares / above**2)


def _covariance(weights: F64, old: Ratio, was: _Drawn, new: Ratio, now: _Drawn) -> F64:
    rest_old, rest_new = old.rest, new.rest
    products = weights @ (rest_old * rest_new)
    products -= was.off * (weights @ (old.below * rest_new))
    products -= now.off * (weights @ (rest_old * new.below))
    products += was.off * now.off * (weights @ (old.below * new.below))
    found: F64 = products / (was.above * now.above)
    return found


def _divided(a: F64, b: F64) -> F64:
    found: F64 = np.divide(a, b, out=np.full(np.broadcast(a, b).shape, np.nan), where=b > 0)
    return found
