"""How the durations of a region are distributed."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from mgpu_trace.analyse.durations import Counts
from mgpu_trace.analyse.names import named
from mgpu_trace.analyse.source import Source
from mgpu_trace.analyse.stats import gather
from mgpu_trace.analyse.table import Table
from mgpu_trace.analyse.units import Asked, time_unit
from mgpu_trace.model import I64, distinct

MAX_BINS: Final = 24
# Beyond this ratio of the largest to the least length, bins grow with the length.
_LINEAR_RATIO: Final = 16


def histogram(source: Source, pattern: str, *, steady: bool = False, unit: Asked = "auto") -> Table:
    """Slices of the regions that a pattern matches, by duration, in at most :data:`MAX_BINS` bins.

    The bins are equally wide, or each as much longer than the one before where lengths differ by more
    than a factor of 16. A bin holds ``from <= duration < to``; the last one its end as well.

    Raises
    ------
    MgpuTraceError
        MGT641 where no region matches, MGT640 for nanoseconds without a rate.
    """
    in_unit = time_unit(source.clock, unit)
    gathered = gather(source, by=("region",), steady=steady)
    regions = [str(name) for name in gathered.groups.columns(gathered.codes)["region"]]
    wanted = named(pattern, regions)
    keep = np.isin(gathered.counts.group, [i for i, name in enumerate(regions) if name in wanted])
    counts = Counts(gathered.counts.group[keep], gathered.counts.cyc[keep], gathered.counts.n[keep])
    edges = bin_edges(int(counts.cyc.min()), int(counts.cyc.max()), int(counts.n.sum()))
    which = np.minimum(np.searchsorted(edges, counts.cyc, side="right") - 1, len(edges) - 2)
    n = np.zeros(len(edges) - 1, np.int64)
    np.add.at(n, which, counts.n)
    columns = {**in_unit.named(**{"from": edges[:-1], "to": edges[1:]}), "count": n}
    facts = {
        "unit": in_unit.suffix,
        "regions": wanted,
        "steady": steady,
        "n_slices": int(counts.n.sum()),
        "is_rounded": gathered.facts["is_rounded"],
    }
    return Table("histogram", columns, facts)


def bin_edges(least: int, largest: int, n_slices: int) -> I64:
    """``(n_bins + 1,)`` ascending edges in whole cycles, from the least to the largest length.

    There are as many bins as Rice's rule says, 2 times the cube root of the number of slices.
    """
    if least == largest:
        return np.array([least, largest + 1])
    n = min(MAX_BINS, math.ceil(2 * n_slices ** (1 / 3)), largest - least)
    if largest <= _LINEAR_RATIO * max(least, 1):
        inner = np.linspace(least, largest, n + 1)[1:-1]
    else:
        inner = np.geomspace(max(least, 1), largest, n + 1)[1:-1]
    # In float64 a long length may come out beside itself; the ends are what they are.
    between = np.clip(np.rint(inner).astype(np.int64), least, largest)
    return distinct(np.concatenate(([least], between, [largest])))
