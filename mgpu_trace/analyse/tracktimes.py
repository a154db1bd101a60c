"""How long each track was busy, waiting and idle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from mgpu_trace.analyse.activity import Activity, activity_of
from mgpu_trace.analyse.groups import role_of
from mgpu_trace.analyse.overlap import Kinds
from mgpu_trace.analyse.source import Source
from mgpu_trace.analyse.sums import exact_sums
from mgpu_trace.analyse.table import Table, Values
from mgpu_trace.analyse.units import Asked, TimeUnit, time_unit
from mgpu_trace.analyse.unknown import Unknown
from mgpu_trace.model import I64

STATES: Final = ("busy", "waiting", "idle", "unknown")
Per = Literal["track", "unit", "role"]
PER: Final = ("track", "unit", "role")


def track_times(
    source: Source,
    *,
    per: Per = "track",
    wait: Sequence[str] | None = None,
    unit: Asked = "auto",
    roles: Mapping[int, str] | None = None,
) -> Table:
    """How long tracks were busy, waiting and idle while their block ran.

    Parameters
    ----------
    source
        A Timeline or a Launch; its kept tracks are looked at.
    per
        What a row is: a ``"track"``, or all tracks of a ``"unit"`` or ``"role"``.
    wait, unit, roles
        As :func:`~mgpu_trace.analyse.overlap.overlap` takes them.

    Returns
    -------
    Table
        ``busy + waiting + idle + unknown`` is ``window``, exactly in cycles; see docs/analysis.md.

    Raises
    ------
    MgpuTraceError
        MGT640 for nanoseconds without a rate, MGT641 where ``wait`` matches no region.
    """
    if per not in PER:
        raise ValueError(f"no key {per!r}; known keys: {', '.join(PER)}")
    in_unit = time_unit(source.clock, unit)
    return track_times_of(activity_of(source, wait), per=per, unit=in_unit, roles=roles)


def track_times_of(activity: Activity, *, per: Per, unit: TimeUnit, roles: Mapping[int, str] | None) -> Table:
    """The same of what was read."""
    unknown = Unknown.of(activity)
    rows = np.flatnonzero(activity.is_active & activity.source.kept_tracks)
    cyc = _states(activity, unknown, rows)
    keys: dict[str, Values]
    if per == "track":
        keys = _keys(activity, rows, unit, roles)
    else:
        kinds = Kinds.of(per, activity.source.spec, roles)
        code = kinds.of_unit[activity.source.tracks.unit[rows]]
        n = np.bincount(code, minlength=len(kinds.names))
        there = np.flatnonzero(n)
        cyc = {name: exact_sums(code, column, len(n))[there] for name, column in cyc.items()}
        names: Any = [kinds.names[i] for i in there]
        keys = {per: np.array(names, np.int64) if per == "unit" else names, "n_tracks": n[there]}
    columns = keys | unit.named(**cyc)
    for state in STATES:
        window = cyc["window"]
        share = np.full(len(window), np.nan)
        columns[f"{state}_share"] = np.divide(cyc[state], window, out=share, where=window > 0)
    facts = {"unit": unit.suffix, "per": per, "waiting": activity.waiting, "n_unread": len(unknown.unread)}
    return Table("overlap-tracks", columns, facts)


def _states(activity: Activity, unknown: Unknown, rows: I64) -> dict[str, I64]:
    """The window of each track, and how long it was in each of :data:`STATES`."""
    blocks = activity.blocks
    window = blocks.dur_cyc[blocks.of_track[rows]]
    busy, waiting = activity.busy_cyc[rows], activity.waiting_cyc[rows]
    lost = unknown.before_cyc[rows] + unknown.after_cyc[rows]
    idle = window - busy - waiting - lost
    return {"window": window, "busy": busy, "waiting": waiting, "idle": idle, "unknown": lost}


def _keys(
    activity: Activity, rows: I64, unit: TimeUnit, roles: Mapping[int, str] | None
) -> dict[str, Values]:
    """Which track it is, and when its block began."""
    spec, tracks, blocks = activity.source.spec, activity.source.tracks, activity.blocks
    begin = blocks.begin_cyc[blocks.of_track[rows]]
    return {
        "block": ["{},{},{}".format(*spec.block_xyz(block)) for block in tracks.block[rows].tolist()],
        "unit": tracks.unit[rows],
        "role": [role_of(spec, roles or {}, i) for i in tracks.unit[rows].tolist()],
        "sm": tracks.sm[rows].astype(np.int64),
        **unit.named(begin=begin),
    }
