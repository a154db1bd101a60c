"""What ran beside what: how much of the time of each region, unit or role another track was in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.analyse.activity import Activity, activity_of
from mgpu_trace.analyse.groups import role_of
from mgpu_trace.analyse.overlap_sweep import shared_cyc
from mgpu_trace.analyse.places import On, Places, has_starts
from mgpu_trace.analyse.source import Source
from mgpu_trace.analyse.stretches import Spans
from mgpu_trace.analyse.table import Table
from mgpu_trace.analyse.units import Asked, TimeUnit, time_unit
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.model import I64
from mgpu_trace.spec import TraceSpec

By = Literal["region", "unit", "role"]
BY: Final = ("region", "unit", "role")
TOP: Final = 32


@dataclass(frozen=True, slots=True)
class Kinds:
    """Units of a block, numbered by what an answer calls them.

    Attributes
    ----------
    of_unit
        ``(tracks_per_block,)`` each unit's number.
    names
        By number: the unit's index, or a role's name.
    """

    of_unit: I64
    names: list[Any]

    @classmethod
    def of(cls, by: By, spec: TraceSpec, roles: Mapping[int, str] | None) -> Kinds:
        """Units as they are; or by role, where those of one name are one."""
        units = range(spec.tracks_per_block)
        if by == "unit":
            return cls(np.arange(spec.tracks_per_block), list(units))
        names: dict[str, int] = {}
        numbers = [names.setdefault(role_of(spec, roles or {}, unit), len(names)) for unit in units]
        return cls(np.array(numbers, np.int64), list(names))


def overlap(
    source: Source,
    *,
    by: By = "region",
    on: On = "block",
    wait: Sequence[str] | None = None,
    top: int = TOP,
    unit: Asked = "auto",
    roles: Mapping[int, str] | None = None,
) -> Table:
    """For each pair of regions, units or roles: how long tracks were in one while others were in the other.

    Parameters
    ----------
    source
        A Timeline or a Launch.
    by
        ``"region"``; or ``"unit"`` or ``"role"``, whose time is the time in which they were busy.
    on
        Which other tracks: those of the same ``"block"`` or ``"sm"``.
    wait
        Patterns of the regions that are no work; None: ``*wait*``.
    top
        How many regions at most, those with the largest times.
    unit
        ``"ns"``, ``"cyc"``, or ``"auto"``: nanoseconds where a rate is known.
    roles
        Names for units, such as ``{0: "tma"}``.

    Returns
    -------
    Table
        One row for each pair; see docs/analysis.md.

    Raises
    ------
    MgpuTraceError
        MGT640 for nanoseconds without a rate, MGT641 where ``wait`` matches no region, MGT644 for SMs
        where no track says on which it was.
    """
    if by not in BY:
        raise ValueError(f"no key {by!r}; known keys: {', '.join(BY)}")
    in_unit = time_unit(source.clock, unit)
    return overlap_of(activity_of(source, wait), by=by, on=on, top=top, unit=in_unit, roles=roles)


def overlap_of(
    activity: Activity, *, by: By, on: On, top: int, unit: TimeUnit, roles: Mapping[int, str] | None
) -> Table:
    """The same of what was read."""
    places = places_of(activity, on)
    of, beside, names = _things(activity, by, roles)
    totals, n = of.totals(len(names)), len(names)
    rows = _largest(totals, top)
    columns = rows if of is beside else _largest(beside.totals(n), top)
    counted = of.renumbered(_numbers(rows, n))
    others = counted if of is beside else beside.renumbered(_numbers(columns, n))
    cyc = shared_cyc(counted, others, places.of_track, len(rows), len(columns))
    left_out = np.count_nonzero(totals) - len(rows)
    facts = {
        "unit": unit.suffix,
        "by": by,
        "on": on,
        "waiting": activity.waiting,
        "n_places": int(np.count_nonzero(places.kept(activity.source.kept_tracks))),
        "n_a": len(rows),
        "n_b": len(columns),
        "n_left_out": int(left_out),
        **{k: v.item() for k, v in unit.named(left_out=totals.sum() - totals[rows].sum()).items()},
    }
    return _table([names[i] for i in rows], [names[i] for i in columns], totals[rows], cyc, unit, facts)


def places_of(activity: Activity, on: On) -> Places:
    """Blocks or SMs.

    Raises
    ------
    MgpuTraceError
        MGT644 for SMs, where no track says on which it was.
    """
    if on == "block":
        return activity.blocks
    if not has_starts(activity.source):
        message = "what ran on one SM was asked for, and the tracks carry no SM ids"
        raise MgpuTraceError(Diagnostic(catalogue.NO_SM_IDS, message, hint="ask for blocks (--on block)"))
    tracks = activity.source.tracks
    return Places.of(on, tracks, activity.is_active, activity.begin_cyc, activity.end_cyc)


def _things(activity: Activity, by: By, roles: Mapping[int, str] | None) -> tuple[Spans, Spans, list[Any]]:
    """Whose time is counted, what runs beside it, and the names of what they are in."""
    if by == "region":
        names = activity.names
        ids = np.array(list(names), np.int64)
        number = np.full(len(activity.waits), -1, np.int64)
        number[ids] = np.arange(len(ids))
        beside = activity.regions.renumbered(number)
        is_same = activity.kept_regions is activity.regions
        return beside if is_same else activity.kept_regions.renumbered(number), beside, list(names.values())
    kinds = Kinds.of(by, activity.source.spec, roles)
    of_track = np.resize(kinds.of_unit, len(activity.source.tracks))
    beside = activity.busy_spans(of_track)
    is_same = activity.kept_busy is activity.busy
    return beside if is_same else activity.kept_busy_spans(of_track), beside, kinds.names


def _largest(totals: I64, top: int) -> I64:
    """The numbers of those with the largest times, the largest first; none of those without time."""
    order = np.argsort(-totals, kind="stable")
    return order[: min(top, int(np.count_nonzero(totals)))]


def _numbers(rows: I64, n: int) -> I64:
    """New numbers by old ones; -1 for those that are not among the rows."""
    found = np.full(n, -1, np.int64)
    found[rows] = np.arange(len(rows))
    return found


def _table(
    rows: list[Any], columns: list[Any], totals: I64, cyc: I64, unit: TimeUnit, facts: dict[str, Any]
) -> Table:
    n = len(columns)
    total = np.repeat(totals, n)
    share: NDArray[Any] = cyc.reshape(-1) / total  # there is none without time
    return Table(
        "overlap",
        {
            "a": _named([name for name in rows for _ in columns]),
            "b": _named(columns * len(rows)),
            **unit.named(total=total, overlap=cyc.reshape(-1)),
            "share": share,
        },
        facts,
    )


def _named(names: list[Any]) -> Any:
    """Names as they are; units are numbers."""
    return np.array(names, np.int64) if names and isinstance(names[0], int) else names
