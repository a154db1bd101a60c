"""The two sides of a comparison in one unit of time, and their regions matched by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.analyse.bootstrap import Ratio
from mgpu_trace.analyse.diff_samples import TRACK, Level, Sample
from mgpu_trace.model import F64, I64, Bool

# What is summed of a row; P50 is no sum, and is one only where a unit is a launch or stands for itself.
COUNT, TOTAL, SELF, P50 = range(4)
_TRACK_ROW: Final = 0


@dataclass(frozen=True, slots=True)
class Side:
    """One side: rows of region and unit, ``(n_rows,)`` each, by region.

    Attributes
    ----------
    samples, per_cyc
        The launches, and how much of the comparison's unit one cycle of each is.
    n_regions, places
        Regions of both sides, and where those of the first launch are among them.
    region, unit
        Index into the regions of both sides, and the unit.
    values
        ``(4, n_rows)``: count, total, self and median, times in the comparison's unit.
    is_present
        ``(n_units,)`` which units have any slices.
    launch
        ``(n_launches,)`` durations of the launches that have slices.
    """

    samples: tuple[Sample, ...]
    per_cyc: tuple[float, ...]
    n_regions: int
    places: I64
    region: I64
    unit: I64
    values: F64
    is_present: Bool
    launch: F64

    @property
    def level(self) -> Level:
        return self.samples[0].level

    @property
    def n_launches(self) -> int:
        """How many launches have slices."""
        return len(self.launch)

    def dense(self, what: int, first: int, last: int) -> F64:
        """``(n_units, last - first)`` values of the regions from first on, before last."""
        rows = slice(*np.searchsorted(self.region, [first, last]))
        found = np.zeros((len(self.is_present), last - first))
        np.add.at(found, (self.unit[rows], self.region[rows] - first), self.values[what, rows])
        return found

    def sums(self, what: int) -> F64:
        """``(n_regions,)`` sums over all rows, for one launch in the mean."""
        found: F64 = np.bincount(self.region, self.values[what], self.n_regions) / self.n_launches
        return found

    def mean(self, first: int, last: int) -> Ratio:
        """Cycles by slices."""
        below = self.dense(COUNT, first, last)
        return Ratio(self.dense(TOTAL, first, last), below, below > 0)

    def total(self, first: int, last: int) -> Ratio:
        """Cycles by units: blocks, or launches; of tracks those that have the region."""
        above, has = self.dense(TOTAL, first, last), self.dense(COUNT, first, last) > 0
        below = has if self.level == "track" else np.broadcast_to(self.is_present[:, None], has.shape)
        return Ratio(above, below.astype(np.float64), has)

    def p50(self, first: int, last: int) -> Ratio:
        """Medians of units by units."""
        above, has = self.dense(P50, first, last), self.dense(COUNT, first, last) > 0
        return Ratio(above, has.astype(np.float64), has)


def match(old: Sequence[Sample], new: Sequence[Sample]) -> list[str]:
    """All regions of both sides, the tracks' own first."""
    return [TRACK, *dict.fromkeys(name for sample in (*old, *new) for name in sample.regions)]


def side_of(samples: Iterable[Sample], regions: Sequence[str], per_cyc: Sequence[float]) -> Side:
    """Put launches together.

    Parameters
    ----------
    regions
        What :func:`match` gave.
    per_cyc
        How much of the comparison's unit one cycle of each launch is.
    """
    samples = tuple(samples)
    index = {name: i for i, name in enumerate(regions) if i != _TRACK_ROW}
    places = [_places(sample, index) for sample in samples]
    parts: list[tuple[I64, I64, NDArray[Any]]] = []
    for i, (sample, scale) in enumerate(zip(samples, per_cyc, strict=True)):
        region = places[i][sample.region]
        unit = np.full(len(region), i) if sample.level == "launch" else sample.unit
        times = np.stack((sample.total_cyc, sample.self_cyc, sample.p50_cyc())) * scale
        parts.append((region, unit, np.concatenate((sample.count[None], times))))
    region = np.concatenate([region for region, _, _ in parts])
    order = np.argsort(region, kind="stable")
    if samples[0].level == "launch":
        present = np.array([sample.is_active.any() for sample in samples], np.bool_)
    else:
        present = samples[0].is_active
    durations = [s.launch_cyc * scale for s, scale in zip(samples, per_cyc, strict=True) if s.is_active.any()]
    return Side(
        samples,
        tuple(per_cyc),
        len(regions),
        places[0],
        region[order],
        np.concatenate([unit for _, unit, _ in parts])[order],
        np.concatenate([values for _, _, values in parts], axis=1)[:, order],
        present,
        np.array(durations, np.float64),
    )


def _places(sample: Sample, index: dict[str, int]) -> I64:
    """Where each region of a sample is among those of both sides."""
    own = [_TRACK_ROW] * (len(sample.names) - len(sample.regions))
    return np.array(own + [index[name] for name in sample.regions], np.int64)
