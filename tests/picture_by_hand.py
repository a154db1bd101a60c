"""The picture of a launch, slowly: which line each track is on, and the slices of blocks.

Written from docs/perfetto.md; times of events are those of the slow decoder in reference.py.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import reference

from mgpu_trace.pipeline import Launch

OVERFULL, OVERWRITTEN, BROKEN, FULL, TRUNCATED = 1, 2, 4, 8, 16
HOWS = [("sm", True), ("sm", False), ("block", False), ("unit", True), ("unit", False)]


class Outer(NamedTuple):
    """The slice of a block on one line."""

    line: tuple[str, str]
    name: str
    begin: int
    end: int


class Mark(NamedTuple):
    """A mark on a line, where events were lost."""

    line: tuple[str, str]
    name: str
    at: int
    n_events: int | None


@dataclass
class Picture:
    """``line_of`` a track: the names of its group and of its line; ``lines`` from the top down."""

    line_of: dict[int, tuple[str, str]] = field(default_factory=dict)
    lines: list[tuple[str, str]] = field(default_factory=list)
    outer: list[Outer] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)


def picture(launch: Launch, group_by: str, lanes: bool, overhead_cyc: int = 0) -> Picture:
    """The picture of all of a launch."""
    spec = launch.spec
    tracks = reference.decode(launch.buffer.words, spec, overhead_cyc).tracks
    spans = {}
    for track in tracks:
        if track.extent >= 0:
            both = np.array([track.number] * 2)
            spans[track.number] = launch.clock.to_ns(both, np.array([0, track.extent])).tolist()
    stays = defaultdict(list)
    for track in tracks:
        if track.number in spans:
            stays[track.block, track.sm].append(spans[track.number])
    stay = {key: (min(b for b, _ in times), max(e for _, e in times)) for key, times in stays.items()}
    lane_of = assign(stay)
    found, keys = Picture(), {}
    for track in tracks:
        here = track.block, track.sm
        if not track.n_events or track.flags & BROKEN or here not in stay:
            continue
        x, y, z = spec.block_xyz(track.block)
        block, unit, sm = f"block ({x},{y},{z})", f"{spec.scope.label} {track.unit}", f"SM {track.sm}"
        place = lane_of[here] if lanes else track.block
        what = f"lane {lane_of[here]}" if lanes else block
        key, line = {
            "sm": ((track.sm, place, track.unit), (sm, f"{what} · {unit}")),
            "block": ((track.block, track.unit), (block, f"{unit} · {sm}")),
            "unit": ((track.unit, track.sm, place), (unit, f"{sm} · {what}")),
        }[group_by]
        assert keys.setdefault(line, key) == key
        found.line_of[track.number] = line
        if lanes:
            found.outer.append(Outer(line, block, *stay[here]))
        found.marks += marks_of(track, line, spans.get(track.number), stay[here])
    found.lines = sorted(keys, key=keys.__getitem__)
    return found


def marks_of(
    track: reference.Track, line: tuple[str, str], span: list[int] | None, stay: tuple[int, int]
) -> list[Mark]:
    if span is None:
        return [Mark(line, "all events lost", stay[0], track.n_events)]
    found = []
    if track.flags & OVERWRITTEN:
        found.append(Mark(line, "events overwritten before here", span[0], track.n_skipped))
    if track.flags & (TRUNCATED | OVERFULL):
        found.append(Mark(line, "events lost here", span[1], None))
    return found


def assign(stay: dict[tuple[int, int], tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The lane of each block on its SM, from 1: the lowest where nothing is at any time of its own."""
    lane_of: dict[tuple[int, int], int] = {}
    for key in sorted(stay, key=lambda key: (*stay[key], key)):
        begin = stay[key][0]
        taken = {lane for other, lane in lane_of.items() if other[1] == key[1] and stay[other][1] >= begin}
        lane_of[key] = min(set(range(1, len(taken) + 2)) - taken)
    return lane_of
