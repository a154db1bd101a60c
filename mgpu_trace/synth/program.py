"""A role's regions as the tags, gaps and slices of one track.

All tracks of a role have the same tags; only their gaps differ. So this runs once per role.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mgpu_trace.layout import EXIT_BIT
from mgpu_trace.model import I64, U32
from mgpu_trace.synth.config import Region, Role


@dataclass(frozen=True, slots=True)
class Program:
    """What a track of one role records.

    Attributes
    ----------
    tags
        ``(n_events,)`` tags.
    gap_cyc
        ``(n_events,)`` mean cycles from the event before; 0 for the first.
    name, depth, enter, leave
        ``(n_slices,)`` the regions, by enter: name id, nesting, and the numbers of their two events.
    """

    tags: U32
    gap_cyc: I64
    name: I64
    depth: I64
    enter: I64
    leave: I64


class _Builder:
    def __init__(self, ids: Mapping[str, int], n_iterations: int) -> None:
        self.ids, self.n_iterations = ids, n_iterations
        self.tags: list[int] = []
        self.gaps: list[int] = []
        self.slices: list[list[int]] = []

    def event(self, tag: int, gap: int) -> int:
        self.tags.append(tag)
        self.gaps.append(gap)
        return len(self.tags) - 1

    def run(self, region: Region, depth: int) -> None:
        name = self.ids[region.name]
        for _ in range(self.n_iterations if region.times is None else region.times):
            row = [name, depth, self.event(name, _BETWEEN_CYC), 0]
            self.slices.append(row)
            before = len(self.tags)
            for child in region.children:
                self.run(child, depth + 1)
                if len(self.tags) > before:
                    self.gaps[before] = region.cycles
                    before = len(self.tags)
            row[3] = self.event(name | EXIT_BIT, region.cycles)


_BETWEEN_CYC = 24


def compile_role(role: Role, ids: Mapping[str, int], n_iterations: int) -> Program:
    """Unroll ``role`` with the name ids ``ids``.

    Raises
    ------
    ValueError
        Where the table of names lacks one of the role's.
    """
    builder = _Builder(ids, n_iterations)
    try:
        for region in (*role.first, *role.repeat * n_iterations, *role.last):
            builder.run(region, 0)
    except KeyError as e:
        raise ValueError(f"role {role.name} uses the name {e}, which the table of names lacks") from None
    gaps = np.array(builder.gaps, np.int64)
    gaps[:1] = 0
    table = np.array(builder.slices, np.int64).reshape(-1, 4)
    return Program(np.array(builder.tags, np.uint32), gaps, *table.T)
