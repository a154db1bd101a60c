"""Bubbles: stretches in which no track of a block, or of an SM, was busy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mgpu_trace.analyse.activity import Activity, activity_of
from mgpu_trace.analyse.groups import role_of
from mgpu_trace.analyse.overlap import places_of
from mgpu_trace.analyse.places import On, Places
from mgpu_trace.analyse.source import Source
from mgpu_trace.analyse.stretches import Changes
from mgpu_trace.analyse.table import Table
from mgpu_trace.analyse.units import Asked, TimeUnit, time_unit
from mgpu_trace.analyse.unknown import Unknown
from mgpu_trace.model import I64, Bool

LONGEST: Final = 5


def bubbles(
    source: Source,
    *,
    on: On = "block",
    wait: Sequence[str] | None = None,
    n: int = LONGEST,
    unit: Asked = "auto",
    roles: Mapping[int, str] | None = None,
) -> Table:
    """The longest bubbles of a launch: times in which every track of a block or SM waited or did nothing.

    Parameters
    ----------
    source
        A Timeline or a Launch. Bubbles are those of whole blocks or SMs of which any track is kept, where
        they touch a selected window of time.
    on
        Whose bubbles: of each ``"block"`` or each ``"sm"``.
    n
        How many rows at most.
    wait, unit, roles
        As :func:`~mgpu_trace.analyse.overlap.overlap` takes them.

    Returns
    -------
    Table
        The longest first; of equal ones the first. See docs/analysis.md.

    Raises
    ------
    MgpuTraceError
        MGT640 for nanoseconds without a rate, MGT641 where ``wait`` matches no region, MGT644 for SMs
        where no track says on which it was.
    """
    in_unit = time_unit(source.clock, unit)
    return bubbles_of(activity_of(source, wait), on=on, n=n, unit=in_unit, roles=roles)


def bubbles_of(
    activity: Activity, *, on: On, n: int, unit: TimeUnit, roles: Mapping[int, str] | None
) -> Table:
    """The same of what was read."""
    places = places_of(activity, on)
    is_kept = places.kept(activity.source.kept_tracks)
    place, begin, end = _all(activity, places, is_kept)
    ns = activity.source.clock.ns_per_cyc
    touches = activity.source.touches(
        np.rint(begin * ns).astype(np.int64), np.rint(end * ns).astype(np.int64)
    )
    place, begin, end = place[touches], begin[touches], end[touches]
    longest = np.lexsort((begin, place, begin - end))[:n]
    facts = {
        "unit": unit.suffix,
        "on": on,
        "waiting": activity.waiting,
        "n_bubbles": len(place),
        "n_places": int(np.count_nonzero(is_kept)),
        **_times(unit, bubbles=(end - begin).sum(), places=places.dur_cyc[is_kept].sum()),
    }
    rows = place[longest], begin[longest], end[longest]
    return _table(activity, places, rows, unit, facts, roles or {})


def _times(unit: TimeUnit, **cyc: Any) -> dict[str, Any]:
    return {name: value.item() for name, value in unit.named(**cyc).items()}


def _all(activity: Activity, places: Places, is_kept: Bool) -> tuple[I64, I64, I64]:
    """Places, begins and ends of all bubbles."""
    rows = np.flatnonzero(is_kept & (places.end_cyc > places.begin_cyc))
    here = np.full(len(places) + 1, -1, np.int64)
    here[rows] = rows
    of_track = here[places.of_track]  # the last one is that of tracks without a place
    changes = [
        Changes.of_spans(rows, places.begin_cyc[rows], places.end_cyc[rows]),
        activity.busy.moved(of_track),
        _not_known(activity, of_track),
    ]
    # The place runs, and nothing in it: what is not known might be work.
    return Changes.joined(changes).stretches(lambda count: count == 1)


def _not_known(activity: Activity, of_track: I64) -> Changes:
    unknown, blocks = Unknown.of(activity), activity.blocks
    # Each block is on one SM: any of its tracks tells which place it is in.
    of_block = np.full(len(blocks), -1, np.int64)
    active = np.flatnonzero(activity.is_active)
    of_block[blocks.of_track[active]] = of_track[active]
    late, early = np.flatnonzero(unknown.before_cyc), np.flatnonzero(unknown.after_cyc)
    whole = unknown.blocks
    place = np.concatenate((of_track[late], of_track[early], of_block[whole]))
    begin = activity.begin_cyc[late] - unknown.before_cyc[late], activity.end_cyc[early]
    end = activity.begin_cyc[late], activity.end_cyc[early] + unknown.after_cyc[early]
    keep = place >= 0
    return Changes.of_spans(
        place[keep],
        np.concatenate((*begin, blocks.begin_cyc[whole]))[keep],
        np.concatenate((*end, blocks.end_cyc[whole]))[keep],
    )


def _table(
    activity: Activity,
    places: Places,
    rows: tuple[I64, I64, I64],
    unit: TimeUnit,
    facts: dict[str, Any],
    roles: Mapping[int, str],
) -> Table:
    spec, (place, begin, end) = activity.source.spec, rows
    busy = _BusyAt.of(activity, places)
    before = [busy.at(p, cyc - 1) for p, cyc in zip(place.tolist(), begin.tolist(), strict=True)]
    after = [busy.at(p, cyc) for p, cyc in zip(place.tolist(), end.tolist(), strict=True)]
    block = [None if i < 0 else "{},{},{}".format(*spec.block_xyz(i)) for i in places.block[place].tolist()]
    columns: dict[str, Any] = {"sm": places.sm[place], "block": block}
    columns |= unit.named(begin=begin, dur=end - begin)
    for name, found in (("before", before), ("after", after)):
        columns[name] = [None if one is None else spec.name_of(one[0]) for one in found]
        columns[f"role_{name}"] = [None if one is None else role_of(spec, roles, one[1]) for one in found]
    return Table("overlap-bubbles", columns, facts)


@dataclass(frozen=True, slots=True)
class _BusyAt:
    """Looks up what a place was busy with in a cycle.

    Attributes
    ----------
    by_place
        Tracks by place.
    first
        ``(n_places + 1,)`` where each place's tracks begin among them.
    rows
        ``(n_tracks + 1,)`` where each track's slices begin.
    """

    activity: Activity
    by_place: I64
    first: I64
    rows: I64

    @classmethod
    def of(cls, activity: Activity, places: Places) -> _BusyAt:
        order = np.argsort(places.of_track, kind="stable")
        first = np.searchsorted(places.of_track[order], np.arange(len(places) + 1))
        n = np.bincount(activity.slices.track, minlength=len(places.of_track))
        return cls(activity, order, first, np.concatenate(([0], np.cumsum(n))))

    def at(self, place: int, cyc: int) -> tuple[int, int] | None:
        """Name id and unit of what the first busy track was in from ``cyc`` to ``cyc + 1``, if any was."""
        activity, slices = self.activity, self.activity.slices
        tracks = self.by_place[self.first[place] : self.first[place + 1]]
        tracks = tracks[(activity.begin_cyc[tracks] <= cyc) & (activity.end_cyc[tracks] > cyc)]
        for track in tracks.tolist():
            rows = slice(self.rows[track], self.rows[track + 1])
            is_open = (slices.begin_cyc[rows] <= cyc) & (slices.end_cyc[rows] > cyc)
            if is_open.any():
                # The last row is the slice that was entered last.
                row = self.rows[track] + len(is_open) - 1 - int(np.argmax(is_open[::-1]))
                name = int(slices.thing[row])
                if not activity.waits[name]:
                    return name, track % activity.source.tracks.tracks_per_block
        return None
