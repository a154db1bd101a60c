"""The changes of all regions of two sides, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace.analyse.bootstrap import Change, Draws, Ratio, centred, change_of
from mgpu_trace.analyse.diff_sides import TOTAL, Side
from mgpu_trace.analyse.medians import Regions, with_medians
from mgpu_trace.model import F64

_CHUNK: Final = 64  # regions that are dense in memory at a time


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sides, and by region what changed.

    Attributes
    ----------
    was, now
        Old and new.
    draws
        The resamples.
    mean, total, p50
        Changes by region, the tracks' own first.
    p50s
        Medians by region, old and new.
    launch
        The change of the launch's duration, ``(1,)``.
    """

    was: Side
    now: Side
    draws: Draws
    mean: Change
    total: Change
    p50: Change
    p50s: tuple[F64, F64]
    launch: Change

    @property
    def has_same_shape(self) -> bool:
        """Whether totals can be compared: all launches have the same grid and block."""
        return len({sample.shape for side in (self.was, self.now) for sample in side.samples}) == 1


def compare(was: Side, now: Side, draws: Draws, confidence: float) -> Compared:
    """Work out all changes, some regions at a time."""
    pooled = was.level == "launch"
    parts = []
    for first in range(0, was.n_regions, _CHUNK):
        last = min(first + _CHUNK, was.n_regions)
        parts.append(
            [
                change_of(of(was, first, last), of(now, first, last), draws, confidence, pooled=pooled)
                for of in (Side.mean, Side.total, Side.p50)
            ]
        )
    mean, of_unit, p50 = (_joined(changes) for changes in zip(*parts, strict=True))
    # Of launches with more blocks the total is larger, however long each of them takes.
    total = centred(of_unit, _log_of(now.sums(TOTAL), was.sums(TOTAL)))
    if pooled:
        p50s = (was.p50(0, was.n_regions).value, now.p50(0, now.n_regions).value)
    else:
        p50, p50s = _of_slices(p50, was, now, draws)
    return Compared(was, now, draws, mean, total, p50, p50s, _of_launches(was, now, draws, confidence))


def _log_of(new: F64, old: F64) -> F64:
    """Logarithms of new by old; NaN where one of them is none or nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(new / old)
    log[~np.isfinite(log)] = np.nan
    return log


def _joined(parts: Sequence[Change]) -> Change:
    return Change(
        log=np.concatenate([part.log for part in parts]),
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
        df=np.concatenate([part.df for part in parts]),
        confidence=parts[0].confidence,
    )


def _of_slices(units: Change, was: Side, now: Side, draws: Draws) -> tuple[Change, tuple[F64, F64]]:
    """The change of the median of all slices, where so far it is that of the units' medians."""
    pairs = np.full((was.n_regions, 2), -1, np.int64)
    p50s = np.full((2, was.n_regions), np.nan)
    lengths = []
    for column, side in enumerate((was, now)):
        regions = Regions(side.samples[0])
        pairs[side.places, column] = np.arange(len(side.places))
        p50s[column, side.places] = regions.p50_cyc() * side.per_cyc[0]
        lengths.append(regions)
    change = with_medians(centred(units, _log_of(p50s[1], p50s[0])), lengths[0], lengths[1], pairs, draws)
    return change, (p50s[0], p50s[1])


def _of_launches(was: Side, now: Side, draws: Draws, confidence: float) -> Change:
    ratios = []
    for side in (was, now):
        column = side.launch[:, None]
        ratios.append(Ratio(column, np.ones_like(column), np.ones(column.shape, np.bool_)))
    own = Draws(was.n_launches, now.n_launches, False, draws.n, draws.seed)
    return change_of(ratios[0], ratios[1], own, confidence, pooled=True)
