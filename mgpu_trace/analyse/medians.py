"""How far a change of a median can be noise, of slices that come in units.

A resample's median is found without the resample: where the share of slices below the median moves by
p from resample to resample, the median moves to the quantile p further down (Bahadur). So a resample
costs two sums over units, and not a sort of slices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mgpu_trace.analyse.bootstrap import MIN_RESAMPLED, Change, Draws
from mgpu_trace.analyse.diff_samples import Sample
from mgpu_trace.analyse.student import t_quantile
from mgpu_trace.model import F64, I64

_NORMAL_DF = 1 << 20
_CHUNK = 64  # regions whose resamples are in memory at a time


@dataclass(frozen=True, slots=True)
class Lengths:
    """All slices of one region: lengths ascending, how many slices have each, and of which unit."""

    cyc: I64
    n: I64
    unit: I64

    def at(self, share: F64) -> F64:
        """Quantiles, interpolated as ``numpy.percentile`` does; shares beyond 0 and 1 are those."""
        ends = np.cumsum(self.n)
        rank = np.clip(share, 0, 1) * (ends[-1] - 1)
        lower = np.floor(rank)
        last = len(self.cyc) - 1
        low = self.cyc[np.minimum(np.searchsorted(ends, lower, side="right"), last)]
        high = self.cyc[np.minimum(np.searchsorted(ends, np.ceil(rank), side="right"), last)]
        found: F64 = low + (high - low) * (rank - lower)
        return found

    def below(self, cyc: float, n_units: int) -> tuple[F64, F64]:
        """``(n_units,)`` slices below a length, those of it counted as halves, and all slices."""
        short = self.n * ((self.cyc < cyc) + 0.5 * (self.cyc == cyc))
        below = np.bincount(self.unit, short, n_units).astype(np.float64, copy=False)
        return below, np.bincount(self.unit, self.n, n_units).astype(np.float64, copy=False)


class Regions:
    """The lengths of each region of a sample."""

    def __init__(self, of: Sample) -> None:
        region = of.region[of.lengths.group]
        order = np.lexsort((of.lengths.cyc, region))
        self.n_units = len(of.is_active)
        self._unit = of.unit[of.lengths.group[order]]
        self._cyc, self._n = of.lengths.cyc[order], of.lengths.n[order]
        self._edges = np.searchsorted(region[order], np.arange(len(of.names) + 1))

    def __getitem__(self, region: int) -> Lengths:
        rows = slice(*self._edges[region : region + 2])
        return Lengths(self._cyc[rows], self._n[rows], self._unit[rows])

    def p50_cyc(self) -> F64:
        """``(n_regions,)``."""
        half = np.array([0.5])
        return np.array([self[i].at(half)[0] for i in range(len(self._edges) - 1)], np.float64)


def with_medians(change: Change, old: Regions, new: Regions, pairs: I64, draws: Draws) -> Change:
    """Put the intervals of medians where enough units have the region on both sides.

    Parameters
    ----------
    change
        The changes of the medians, with other intervals.
    pairs
        ``(n, 2)``: each change's region of the old and of the new sample; -1 where it has none.
    """
    low, high = change.low.copy(), change.high.copy()
    rows = np.flatnonzero((pairs >= 0).all(axis=1) & np.isfinite(change.log))
    for first in range(0, len(rows), _CHUNK):
        some = rows[first : first + _CHUNK]
        for row, interval in zip(some, _intervals(old, new, pairs[some], draws, change), strict=True):
            if interval is not None:
                middle = change.log[row]
                low[row], high[row] = middle + interval[0], middle + interval[1]
    return Change(change.log, low, high, change.df, change.confidence)


def _intervals(
    old: Regions, new: Regions, pairs: I64, draws: Draws, change: Change
) -> Iterator[tuple[float, float] | None]:
    """Each region's interval less its change; None where the units are too few."""
    sides = [[side[i] for i in column.tolist()] for side, column in zip((old, new), pairs.T, strict=True)]
    middles = [[float(lengths.at(np.array([0.5]))[0]) for lengths in side] for side in sides]
    shares = [_Shares(s, m, r.n_units) for s, m, r in zip(sides, middles, (old, new), strict=True)]
    moved: list[list[F64]] = [[], []]
    for weights in draws:
        for share, w, found in zip(shares, weights, moved, strict=True):
            found.append(share.moved(w))
    moves = [np.concatenate(found) for found in moved]
    outside = (1 - change.confidence) / 2
    for i in range(len(pairs)):
        wider = _widened(shares[0].has[:, i], shares[1].has[:, i], draws.is_paired, change.confidence)
        if wider is None:
            yield None
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = [
                np.log(side[i].at(0.5 - factor * move[:, i]) / middle[i])
                for side, move, middle, factor in zip(sides, moves, middles, wider, strict=True)
            ]
            off = logs[1] - logs[0]
        off = off[~np.isnan(off)]  # a resample without the region
        yield _between_quantiles(off, outside)


def _between_quantiles(values: F64, outside: float) -> tuple[float, float]:
    """What lies between the quantiles ``outside`` and 1 less that; NaN without a value.

    A median of no length has an infinite logarithm, and between infinities nothing can be interpolated:
    then the values next to the quantiles count, outwards.
    """
    if not len(values):
        return math.nan, math.nan
    if np.isfinite(values).all():
        low, high = np.quantile(values, [outside, 1 - outside])
        return float(low), float(high)
    ordered = np.sort(values)
    last = len(values) - 1
    return float(ordered[math.floor(outside * last)]), float(ordered[math.ceil((1 - outside) * last)])


class _Shares:
    """Slices below the median by unit and region."""

    def __init__(self, lengths: list[Lengths], middle: list[float], n_units: int) -> None:
        counted = [one.below(cyc, n_units) for one, cyc in zip(lengths, middle, strict=True)]
        self._below = np.stack([below for below, _ in counted], axis=1)
        self._all = np.stack([all_ for _, all_ in counted], axis=1)
        self.has = self._all > 0

    def moved(self, weights: F64) -> F64:
        """``(n_resamples, n_regions)``: how far each resample's share is above the sample's."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: F64 = (weights @ self._below) / (weights @ self._all)
        found -= self._below.sum(axis=0) / self._all.sum(axis=0)
        return found


def _widened(
    old: np.ndarray, new: np.ndarray, is_paired: bool, confidence: float
) -> tuple[float, float] | None:
    """How much wider than drawn each side's shares vary, because its units are few; None: too few.

    The variance of k units drawn from k is (k - 1) / k of what it should be, and a normal distribution
    stands for Student's t.
    """
    k_old, k_new = int(np.count_nonzero(old)), int(np.count_nonzero(new))
    few = int(np.count_nonzero(old | new)) if is_paired else min(k_old, k_new)
    if few < MIN_RESAMPLED:
        return None
    df = few - 1 if is_paired else k_old + k_new - 2
    ratio = t_quantile(confidence, df) / t_quantile(confidence, _NORMAL_DF)
    k = (few, few) if is_paired else (k_old, k_new)
    return ratio * math.sqrt(k[0] / (k[0] - 1)), ratio * math.sqrt(k[1] / (k[1] - 1))
