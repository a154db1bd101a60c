"""What is on the screen: which line each track is on, and what lines and their groups are called.

Both formats draw the same picture. Groups are SMs, blocks or units, each with lines of its own; on a
line are the regions of one track, or, with lanes, of blocks that come one after the other, each with a
slice of its own around them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from mgpu_trace.export import Source
from mgpu_trace.export.block_lanes import lanes_of_blocks
from mgpu_trace.export.presence import Presence, find_presence
from mgpu_trace.model import I64, Bool, Tracks
from mgpu_trace.spec import TraceSpec

GroupBy = Literal["sm", "block", "unit"]

# Perfetto shows 512 levels; what is deeper loses its place without a word (docs/perfetto.md).
MAX_DEPTH: Final = 512


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How to group and pack.

    Attributes
    ----------
    group_by
        What the groups are.
    lanes
        Whether blocks of an SM that do not overlap share lines. (Grouped by block, none ever do.)
    roles
        Names for units, such as ``{0: "tma"}``.
    """

    group_by: GroupBy = "sm"
    lanes: bool = True
    roles: Mapping[int, str] = field(default_factory=dict)

    @property
    def has_lanes(self) -> bool:
        return self.lanes and self.group_by != "block"


class Picture:
    """The lines of a launch.

    Parameters
    ----------
    source
        The launch.
    how
        How to arrange it.
    spell
        How to write a name that somebody gave, such as a role.

    Attributes
    ----------
    shown
        ``(n_tracks,)`` which tracks have a line.
    line
        ``(n_tracks,)`` the line of each that is shown: 0, 1, ... from the top of the picture down.
    first_track, group, rank
        ``(n_lines,)`` each line's first track, its group (an SM id, a block or a unit), and its place in
        that: 0, 1, ...
    groups
        The groups, ascending.
    presence
        When tracks and blocks were there.
    """

    def __init__(self, source: Source, how: Arrangement, spell: Callable[[str], str] = str) -> None:
        self.spec: TraceSpec = source.spec
        self.how = how
        self._sm = source.tracks.sm
        self._spell = spell
        self._units: dict[int, str] = {}
        self.presence: Presence = find_presence(source)
        self.shown = _shown(source, self.presence)
        rows = np.flatnonzero(self.shown)
        self._lane = np.zeros(len(self.shown), np.int64)
        if how.has_lanes:
            self._lane[rows] = _lanes(self.presence, rows)
        keys = self._keys(source.tracks, rows)
        order = np.lexsort(keys[::-1])
        rows = rows[order]
        starts = np.ones(len(rows), np.bool_)
        starts[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in keys])
        self.line: I64 = np.zeros(len(self.shown), np.int64)
        self.line[rows] = np.cumsum(starts) - 1
        self.first_track: I64 = rows[starts]
        self.group: I64 = keys[0][order][starts]
        first_of_group = np.flatnonzero(np.diff(self.group, prepend=-1))
        self.groups: I64 = self.group[first_of_group]
        sizes = np.diff(first_of_group, append=len(self.group))
        self.rank: I64 = np.arange(len(self.group)) - np.repeat(first_of_group, sizes)

    @property
    def has_blocks(self) -> bool:
        """Whether each block has a slice of its own."""
        return self.how.has_lanes

    @property
    def levels(self) -> int:
        """Levels that a line has for regions."""
        return MAX_DEPTH - self.has_blocks

    def block_span(self, tracks: I64) -> tuple[I64, I64]:
        """``(n,)`` begin and end of the stays of shown tracks."""
        stay = self.presence.stay[tracks]
        return self.presence.stay_begin[stay], self.presence.stay_end[stay]

    def _keys(self, tracks: Tracks, rows: I64) -> tuple[I64, ...]:
        """What tells the lines of these tracks apart, in the order in which they are shown."""
        block, unit = np.divmod(rows, tracks.tracks_per_block)
        sm = tracks.sm[rows].astype(np.int64)
        if self.how.group_by == "block":
            return block, unit
        if self.how.group_by == "unit":
            return unit, sm, self._lane[rows] if self.how.has_lanes else block
        return (sm, self._lane[rows], unit) if self.how.has_lanes else (sm, block, unit)

    def line_name(self, line: int) -> str:
        """Such as ``lane 1 · warpgroup 0``; what differs among the lines of one group."""
        track = int(self.first_track[line])
        block, unit = divmod(track, self.spec.tracks_per_block)
        sm = int(self._sm[track])
        if self.how.group_by == "block":
            return f"{self.unit_name(unit)} · SM {sm}"
        what = f"lane {self._lane[track] + 1}" if self.how.has_lanes else block_name(self.spec, block)
        return f"SM {sm} · {what}" if self.how.group_by == "unit" else f"{what} · {self.unit_name(unit)}"

    def group_name(self, group: int) -> str:
        """Such as ``SM 3``."""
        if self.how.group_by != "unit":
            return f"SM {group}" if self.how.group_by == "sm" else block_name(self.spec, group)
        role = self.how.roles.get(group)
        shared = sum(other == role for other in self.how.roles.values()) > 1
        return self.unit_name(group) + (f" · {self.spec.scope.label} {group}" if role and shared else "")

    def group_name_without_number(self, group: int) -> str:
        """The same for viewers that append the number: ``SM``."""
        if self.how.group_by != "unit":
            return "SM" if self.how.group_by == "sm" else block_name(self.spec, group)
        return self.unit_name(group) if self.how.roles.get(group) else self.spec.scope.label

    def unit_name(self, unit: int) -> str:
        """A unit's role, or what it is: ``warpgroup 1``."""
        if unit not in self._units:
            self._units[unit] = self._spell(self.how.roles.get(unit) or f"{self.spec.scope.label} {unit}")
        return self._units[unit]

    def to_dict(self) -> dict[str, Any]:
        """What the outputs' metadata says about the picture; JSON-ready."""
        facts: dict[str, Any] = {"group_by": self.how.group_by, "lanes": self.how.has_lanes}
        if self.has_blocks:
            facts["n_blocks"] = int(np.count_nonzero(np.bincount(self.presence.stay[self.shown])))
        return facts


def _shown(source: Source, presence: Presence) -> Bool:
    """Which tracks have a line: those that recorded something and are selected.

    A track whose events are all lost is among them where others of its block say when it was there.
    """
    touches = source.touches(presence.stay_begin, presence.stay_end)
    shown: Bool = source.kept_tracks & (presence.stay >= 0)
    shown[shown] = touches[presence.stay[shown]]
    return shown


def _lanes(presence: Presence, rows: I64) -> I64:
    """The lanes of shown tracks: of their stays, among those that are shown."""
    here = np.zeros(len(presence.block), np.bool_)
    here[presence.stay[rows]] = True
    lane = np.zeros(len(here), np.int64)
    lane[here] = lanes_of_blocks(presence.sm[here], presence.stay_begin[here], presence.stay_end[here])
    found: I64 = lane[presence.stay[rows]]
    return found


def line_label(lane: int, floor: int) -> str:
    """What is added to the name of a further line: of crossing regions, or of deep ones."""
    return (f" · overlap {lane + 1}" if lane else "") + (f" · deep {floor + 1}" if floor else "")


def block_name(spec: TraceSpec, block: int) -> str:
    """Such as ``block (3,0,0)``."""
    return "block ({},{},{})".format(*spec.block_xyz(block))


def device_name(spec: TraceSpec) -> str:
    """Such as ``NVIDIA H100 80GB HBM3 · device 3``."""
    return (spec.device or "GPU") + ("" if spec.device_id is None else f" · device {spec.device_id}")


def launch_name(spec: TraceSpec) -> str:
    """Such as ``gemm · launch 12``."""
    name = spec.kernel or "kernel"
    name += "" if spec.launch is None else f" · launch {spec.launch}"
    several = spec.n_partitions or 1
    return name + (f" · partition {spec.partition} of {several}" if several > 1 else "")
