"""Producer and consumer: from the n-th end of one region to the n-th end of another in the same block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from mgpu_trace.analyse.activity import Activity, activity_of
from mgpu_trace.analyse.overlap import By, Kinds
from mgpu_trace.analyse.source import Source
from mgpu_trace.analyse.table import Table
from mgpu_trace.analyse.units import Asked, TimeUnit, time_unit
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.diagnostics.clip import clipped, counted
from mgpu_trace.model import I64, Bool, distinct

PERCENTILES: Final = (50, 99)
Pair = tuple[str, str]


def lags(
    source: Source,
    pairs: Sequence[Pair | str],
    *,
    by: By = "region",
    unit: Asked = "auto",
    roles: Mapping[int, str] | None = None,
) -> Table:
    """How long after the n-th end of A the n-th end of B comes, in each block.

    Parameters
    ----------
    source
        A Timeline or a Launch. Ends are counted in the whole launch; lags from selected slices of A are told.
    pairs
        Names or patterns of A and B, as a tuple or as ``"A:B"``.
    by
        Whether ends are counted in the whole block (``"region"``), or by ``"unit"`` or ``"role"`` of A and B.
    unit, roles
        As :func:`~mgpu_trace.analyse.overlap.overlap` takes them.

    Returns
    -------
    Table
        One row for each pair, and each pair of units or roles that has both; see docs/analysis.md.

    Raises
    ------
    MgpuTraceError
        MGT640 for nanoseconds without a rate, MGT641 for a region that there is not.
    """
    in_unit = time_unit(source.clock, unit)
    return lags_of(activity_of(source), pairs, by=by, unit=in_unit, roles=roles)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Ends of a region's slices, by kind of unit, block and time, ``(n_ends,)`` each.

    Attributes
    ----------
    kind, block, cyc
        Number of the unit or role, row of :attr:`Activity.blocks`, and when.
    kept
        Which slices are selected.
    """

    kind: I64
    block: I64
    cyc: I64
    kept: Bool

    def of_kind(self, kind: int) -> _Ends:
        rows = slice(*np.searchsorted(self.kind, [kind, kind + 1]).tolist())
        return _Ends(self.kind[rows], self.block[rows], self.cyc[rows], self.kept[rows])

    def name(self, kinds: Kinds) -> Any:
        """What units of this kind are called; None where there are no ends."""
        return kinds.names[int(self.kind[0])] if len(self.kind) else None

    def number(self) -> I64:
        """``(n_ends,)`` 0, 1, 2, ... in each block; of one kind."""
        first = np.flatnonzero(np.diff(self.block, prepend=-1))
        return np.arange(len(self.block)) - np.repeat(first, np.diff(first, append=len(self.block)))


def lags_of(
    activity: Activity,
    pairs: Sequence[Pair | str],
    *,
    by: By,
    unit: TimeUnit,
    roles: Mapping[int, str] | None,
) -> Table:
    """The same of what was read."""
    spec = activity.source.spec
    kinds = Kinds(np.zeros(spec.tracks_per_block, np.int64), [None])
    if by != "region":
        kinds = Kinds.of(by, spec, roles)
    rows: list[dict[str, Any]] = []
    for pair in pairs:
        a, b = pair if isinstance(pair, tuple) else split_pair(pair, list(activity.names.values()))
        ends = [_ends(activity, activity.ids_of(pattern), kinds.of_unit) for pattern in (a, b)]
        for one, other in _combinations(*ends):
            key = {"a": a, "b": b}
            if by != "region":
                key |= {f"{by}_a": one.name(kinds), f"{by}_b": other.name(kinds)}
            rows.append(key | _lag(activity, one, other, unit))
    begins_late = activity.is_active & (activity.source.tracks.n_skipped > 0)
    facts = {"unit": unit.suffix, "by": by, "n_tracks_left_out": int(np.count_nonzero(begins_late))}
    return Table("overlap-pairs", _columns(rows), facts)


def split_pair(text: str, known: Sequence[str]) -> Pair:
    """``A:B`` at the colon with a region that is known on either side, since names may hold colons too.

    Raises
    ------
    ValueError
        For a text without a colon between two names.
    """
    from mgpu_trace.analyse.names import named

    places = [i for i, letter in enumerate(text) if letter == ":" and 0 < i < len(text) - 1]
    if not places:
        raise ValueError(f"{text!r} is no pair A:B")
    missing: list[MgpuTraceError] = []
    for i in places:
        pair = text[:i], text[i + 1 :]
        try:
            for pattern in pair:
                named(pattern, known)
        except MgpuTraceError as error:
            missing.append(error)
        else:
            return pair
    raise missing[0]


def _ends(activity: Activity, ids: Sequence[int], kind_of_unit: I64) -> _Ends:
    """Of tracks whose first events are not lost: there the first end would not be the first."""
    tracks, slices = activity.source.tracks, activity.slices
    keep = np.zeros(len(activity.waits), np.bool_)
    keep[list(ids)] = True
    rows = np.flatnonzero(keep[slices.thing] & activity.closed & (tracks.n_skipped == 0)[slices.track])
    track, cyc = slices.track[rows], slices.end_cyc[rows]
    kind, block = kind_of_unit[tracks.unit[track]], activity.blocks.of_track[track]
    kept = np.ones(len(rows), np.bool_) if activity.kept is None else activity.kept[rows]
    order = np.lexsort((cyc, block, kind))
    return _Ends(kind[order], block[order], cyc[order], kept[order])


def _combinations(a: _Ends, b: _Ends) -> Iterator[tuple[_Ends, _Ends]]:
    """Ends of A in one kind of unit, with those of B in one; where either has none, both as they are."""
    of_a, of_b = ([ends.of_kind(kind) for kind in distinct(ends.kind).tolist()] for ends in (a, b))
    if of_a and of_b:
        yield from product(of_a, of_b)
    else:
        yield a, b


def _lag(activity: Activity, a: _Ends, b: _Ends, unit: TimeUnit) -> dict[str, Any]:
    """Statistics of one row."""
    n_blocks = len(activity.blocks)
    n_a, n_b = np.bincount(a.block, minlength=n_blocks), np.bincount(b.block, minlength=n_blocks)
    both = np.minimum(n_a, n_b)
    # Both are by block and number, so that the two lists run along each other.
    number = a.number()
    in_a, in_b = number < both[a.block], b.number() < both[b.block]
    kept = a.kept[in_a]
    block, number, end = a.block[in_a][kept], number[in_a][kept], a.cyc[in_a][kept]
    lag = b.cyc[in_b][kept] - end
    one_sided = n_a != n_b
    one_sided &= (n_a > 0) | (n_b > 0)
    found: dict[str, Any] = {
        "n_blocks": len(distinct(block)),
        "count": len(lag),
        "n_negative": int(np.count_nonzero(lag < 0)),
        "unpaired_a": int((n_a - both).sum()),
        "unpaired_b": int((n_b - both).sum()),
        "n_uneven": int(np.count_nonzero(one_sided)),
    }
    names = ("mean", *(f"p{p}" for p in PERCENTILES), "min", "worst", "worst_at")
    times = dict.fromkeys(f"{name}_{unit.suffix}" for name in names)
    where: dict[str, Any] = dict.fromkeys(("worst_sm", "worst_block", "worst_index"))
    if len(lag):
        worst = int(np.argmax(lag))
        ranks = np.percentile(lag, PERCENTILES)
        values = (lag.mean(), *ranks, lag.min(), lag[worst], end[worst])
        times = {key: unit.of(value).item() for key, value in zip(times, values, strict=True)}
        place, spec = int(block[worst]), activity.source.spec
        where["worst_sm"] = int(activity.blocks.sm[place])
        where["worst_block"] = "{},{},{}".format(*spec.block_xyz(int(activity.blocks.block[place])))
        where["worst_index"] = int(number[worst])
    return found | times | where


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns of rows: arrays of numbers, NaN where there is no time, and lists of names."""
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    for name, values in columns.items():
        if name.endswith(("_ns", "_cyc")) and None in values:
            columns[name] = np.array(values, np.float64)
        elif all(isinstance(value, int | float) for value in values):
            columns[name] = np.array(values)
    return columns


def findings(table: Table) -> list[Diagnostic]:
    """MGT643 for each row of :func:`lags` where one region ends more often than the other in some blocks."""
    found = []
    for row in table.rows():
        if row["n_uneven"]:
            names = f"{clipped(row['a'])} and {clipped(row['b'])}"
            message = (
                f"{names} do not end equally often in {counted(row['n_uneven'], 'block')}: "
                f"{row['unpaired_a']} ends of the first and {row['unpaired_b']} of the second are left over"
            )
            hint = "--by unit counts the ends of each unit by itself" if table.facts["by"] != "unit" else ""
            found.append(Diagnostic(catalogue.UNEVEN_PAIR, message, hint=hint, count=row["n_uneven"]))
    return found
