"""A comparison as a table: what each side has, what changed, and what of it is beyond noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from mgpu_trace.analyse.bootstrap import Change
from mgpu_trace.analyse.diff_changes import Compared
from mgpu_trace.analyse.diff_samples import LAUNCH
from mgpu_trace.analyse.diff_sides import COUNT, SELF, TOTAL
from mgpu_trace.analyse.table import Table, Values
from mgpu_trace.model import F64, Bool

SLOWER: Final = "slower"
Verdict = str | None
_UNITS: Final = {"launch": "launches", "block": "blocks", "track": "tracks"}


def table_of(compared: Compared, regions: Sequence[str], suffix: str) -> Table:
    """The table: the launch, the tracks, then the regions by their effect, the largest growth first.

    Parameters
    ----------
    suffix
        The unit of the sides' times.
    """
    was, now = compared.was, compared.now
    counts = [side.sums(COUNT) for side in (was, now)]
    there = [count > 0 for count in counts]
    totals = [side.sums(TOTAL) for side in (was, now)]
    own = [side.sums(SELF) for side in (was, now)]
    own[0][0], own[1][0] = totals[0][0], totals[1][0]
    effect = _divided(own[1] - own[0], np.full(len(regions), totals[0][0]))
    means = [_divided(total, count) for total, count in zip(totals, counts, strict=True)]
    verdicts = _verdicts(compared, counts[0] != counts[1])
    columns: dict[str, Values] = {
        "region": list(regions),
        "kind": ["track", *["region"] * (len(regions) - 1)],
        "status": _status(there),
        "count_old": _whole(counts[0]),
        "count_new": _whole(counts[1]),
    }
    columns |= _measure("mean", suffix, means, compared.mean)
    columns |= _measure("p50", suffix, compared.p50s, compared.p50)
    columns |= _measure("total", suffix, totals, compared.total)
    columns |= {"effect": effect, "verdict": verdicts[0], "total_verdict": verdicts[1]}
    found = Table("diff", columns, _facts(compared, suffix))
    order = np.argsort(-effect[1:], kind="stable") + 1
    return _with_launch(found.take(np.concatenate(([0], order))), compared, suffix, verdicts[2])


def _divided(a: F64, b: F64) -> F64:
    found: F64 = np.divide(a, b, out=np.full(len(a), np.nan), where=b > 0)
    return found


def _status(there: Sequence[Bool]) -> list[str]:
    return ["both" if a and b else "went" if a else "appeared" for a, b in zip(*there, strict=True)]


def _whole(count: F64) -> Any:
    """Counts as whole numbers, unless they are means of several launches that are none."""
    return count.astype(np.int64) if (count == np.rint(count)).all() else count


def _measure(name: str, suffix: str, sides: Sequence[F64], change: Change) -> dict[str, Values]:
    """One quantity: both sides, the difference, and the relative change with its interval."""
    old, new = sides
    with np.errstate(over="ignore"):
        low, high = np.expm1(change.low), np.expm1(change.high)
    # An end that is beyond all numbers is none.
    seen = np.isfinite(change.log) & change.has_interval & np.isfinite(high)
    return {
        f"{name}_old_{suffix}": old,
        f"{name}_new_{suffix}": new,
        f"{name}_change_{suffix}": new - old,
        f"{name}_change": np.expm1(change.log),
        f"{name}_low": np.where(seen, low, np.nan),
        f"{name}_high": np.where(seen, high, np.nan),
    }


def _verdicts(compared: Compared, more_often: Bool) -> tuple[list[Verdict], list[Verdict], Verdict]:
    """Of means, of totals, and of the launch; all of them together are wrong as seldom as one interval.

    Parameters
    ----------
    more_often
        ``(n_regions,)``: where the number of slices changed. Elsewhere the total says what the mean does,
        and is not looked at again.
    """
    own_total = more_often & compared.has_same_shape & compared.total.has_interval
    tested = (compared.mean.has_interval, compared.launch.has_interval, own_total)
    n_tests = sum(int(np.count_nonzero(rows)) for rows in tested)
    mean, total, launch = (
        _verdict(change, n_tests) for change in (compared.mean, compared.total, compared.launch)
    )
    for row in np.flatnonzero(~more_often).tolist():
        total[row] = mean[row]
    return mean, total if compared.has_same_shape else [None] * len(total), launch[0]


def _verdict(change: Change, n_tests: int) -> list[Verdict]:
    """``slower``, ``faster``, ``noise``; ``same`` where nothing varies and nothing changed; or None."""
    beyond = change.is_beyond_noise(n_tests)
    said = np.where(beyond, np.where(change.log > 0, SLOWER, "faster"), "noise")
    said = np.where((change.low == 0) & (change.high == 0), "same", said)
    return [text if seen else None for text, seen in zip(said.tolist(), change.has_interval, strict=True)]


def _with_launch(table: Table, compared: Compared, suffix: str, verdict: Verdict) -> Table:
    """The table with the launch's duration as its first row."""
    old, new = (np.array([side.launch.mean()]) for side in (compared.was, compared.now))
    none = np.full(1, np.nan)
    nothing = Change(none, none, none, np.zeros(1, np.int64), compared.launch.confidence)
    row: dict[str, Any] = {
        "region": [LAUNCH],
        "kind": ["launch"],
        "status": ["both"],
        "count_old": np.ones(1, np.int64),
        "count_new": np.ones(1, np.int64),
        **_measure("mean", suffix, (old, new), compared.launch),
        **_measure("p50", suffix, (none, none), nothing),
        **_measure("total", suffix, (old, new), compared.launch),
        "effect": none,
        "verdict": [verdict],
        "total_verdict": [verdict],
    }
    columns: dict[str, Values] = {}
    for name, values in table.columns.items():
        if isinstance(values, np.ndarray):
            columns[name] = np.concatenate((row[name], values))
        else:
            columns[name] = [*row[name], *values]
    return Table(table.title, columns, table.facts)


def _facts(compared: Compared, suffix: str) -> dict[str, Any]:
    """What holds for all rows: JSON-ready."""
    was, now, draws = compared.was, compared.now, compared.draws
    known = [{name for sample in side.samples for name in sample.table} for side in (was, now)]
    return {
        "unit": suffix,
        "confidence": compared.mean.confidence,
        "resamples": draws.n,
        "seed": draws.seed,
        "resampled": _UNITS[was.level],
        "is_paired": draws.is_paired,
        "n_units_old": int(np.count_nonzero(was.is_present)),
        "n_units_new": int(np.count_nonzero(now.is_present)),
        "has_same_shape": compared.has_same_shape,
        "is_rounded": any(sample.is_rounded for side in (was, now) for sample in side.samples),
        "names_only_old": sorted(known[0] - known[1]),
        "names_only_new": sorted(known[1] - known[0]),
        "old": [sample.about for sample in was.samples],
        "new": [sample.about for sample in now.samples],
    }
