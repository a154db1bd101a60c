"""What ran beside what, the slow way, written from docs/analysis.md alone: one piece of time at a time.

Nothing changes within a piece: it lies between two neighbouring begins or ends of any slice of its place.
Shares nothing with mgpu_trace.analyse. Times are cycles on one axis.
"""

from __future__ import annotations

import fnmatch
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

import numpy as np
from reference import BROKEN, FULL, OVERFULL, OVERWRITTEN, TRUNCATED, UNREADABLE
from slow_stats import Row

from mgpu_trace.spec import TraceSpec

Place = tuple[int, int]  # block (-1: the whole SM) and SM


@dataclass
class World:
    """A launch whose slices are on one axis of time."""

    spec: TraceSpec
    rows: list[Row]
    sm: dict[int, int]
    flags: dict[int, int] = field(default_factory=dict)
    wait: Sequence[str] = ("*wait*",)
    keeps: Callable[[int], bool] = lambda track: True
    selects: Callable[[int], bool] = lambda row: True  # by the number of the row

    def waits(self, name: int) -> bool:
        text = self.spec.name_of(name)
        return any(fnmatch.fnmatchcase(text, pattern) for pattern in self.wait)

    def is_selected(self, row: int) -> bool:
        return self.keeps(self.rows[row].track) and self.selects(row)

    def unit(self, track: int) -> int:
        return track % self.spec.tracks_per_block

    def block_of(self, track: int) -> Place:
        return track // self.spec.tracks_per_block, self.sm[track]

    def places(self, on: str) -> dict[Place, list[int]]:
        """The tracks with slices of each place."""
        found: dict[Place, list[int]] = defaultdict(list)
        for track in sorted({row.track for row in self.rows}):
            block, sm = self.block_of(track)
            found[(block if on == "block" else -1, sm)].append(track)
        return dict(sorted(found.items()))

    def window(self, tracks: Sequence[int]) -> tuple[int, int]:
        mine = [row for row in self.rows if row.track in tracks]
        return min(row.start for row in mine), max(row.start + row.dur for row in mine)


@dataclass
class Piece:
    """A piece of time, and which rows are open in each track of the place, in the order of their enters."""

    begin: int
    end: int
    open: dict[int, list[int]]

    @property
    def dur(self) -> int:
        return self.end - self.begin


def pieces(world: World, tracks: Sequence[int], more: Sequence[int] = ()) -> Iterator[Piece]:
    """The pieces of a place's window; ``more`` are further times at which to cut."""
    mine = [i for i, row in enumerate(world.rows) if row.track in tracks]
    begin, end = world.window(tracks)
    cuts = {cyc for i in mine for cyc in (world.rows[i].start, world.rows[i].start + world.rows[i].dur)}
    for t, until in pairwise(sorted({cyc for cyc in (*cuts, *more) if begin <= cyc <= end})):
        opened: dict[int, list[int]] = {track: [] for track in tracks}
        for i in mine:
            if world.rows[i].start <= t and world.rows[i].start + world.rows[i].dur >= until:
                opened[world.rows[i].track].append(i)
        yield Piece(t, until, opened)


def things(world: World, piece: Piece, track: int, by: str, kind: Any, selected: bool) -> set[Any]:
    """What a track is in: regions, or its unit or role while it is busy."""
    opened = piece.open[track]
    if by == "region":
        return {world.rows[i].name for i in opened if not selected or world.is_selected(i)}
    if not opened or world.waits(world.rows[opened[-1]].name):
        return set()
    return set() if selected and not world.is_selected(opened[-1]) else {kind(world.unit(track))}


def overlaps(
    world: World, by: str, on: str, kind: Any = None
) -> tuple[Counter[Any], Counter[Any], Counter[tuple[Any, Any]]]:
    """Times of A (selected), of B (all), and of A while another track of the place is in B."""
    of_a: Counter[Any] = Counter()
    of_b: Counter[Any] = Counter()
    both: Counter[tuple[Any, Any]] = Counter()
    for tracks in world.places(on).values():
        for piece in pieces(world, tracks):
            beside = {track: things(world, piece, track, by, kind, False) for track in tracks}
            for track in tracks:
                of_b.update(dict.fromkeys(beside[track], piece.dur))
                others = {b for other in tracks if other != track for b in beside[other]}
                for a in things(world, piece, track, by, kind, True):
                    of_a[a] += piece.dur
                    both.update(dict.fromkeys(((a, b) for b in others), piece.dur))
    return of_a, of_b, both


def unread(world: World) -> list[int]:
    """Tracks without slices that should have some, in blocks that have slices."""
    active = {row.track for row in world.rows}
    blocks = {world.block_of(track)[0] for track in active}
    lost = BROKEN | UNREADABLE | OVERWRITTEN | OVERFULL | TRUNCATED
    return [
        track
        for track in range(world.spec.n_tracks)
        if track not in active and world.flags.get(track, 0) & lost and world.block_of(track)[0] in blocks
    ]


def not_known(world: World) -> list[tuple[Place, int, int, int]]:
    """The block, the track, and from when to when."""
    found = []
    late = {world.block_of(track)[0]: track for track in unread(world)}
    ends_early = OVERFULL | TRUNCATED | (0 if world.spec.bounds_checked is False else FULL)
    for place, tracks in world.places("block").items():
        begin, end = world.window(tracks)
        if place[0] in late:
            found.append((place, late[place[0]], begin, end))
        for track in tracks:
            first, last = world.window([track])
            if world.flags.get(track, 0) & OVERWRITTEN:
                found.append((place, track, begin, first))
            if world.flags.get(track, 0) & ends_early:
                found.append((place, track, last, end))
    return found


def states(world: World) -> dict[int, Counter[str]]:
    """How long each kept track was busy, waiting, idle and unknown, and the window of its block."""
    found: dict[int, Counter[str]] = {}
    lost = not_known(world)
    for place, tracks in world.places("block").items():
        cuts = [cyc for where, _, *both in lost if where == place for cyc in both]
        for track in tracks:
            mine: Counter[str] = Counter()
            for piece in pieces(world, tracks, cuts):
                opened = piece.open[track]
                if opened:
                    state = "waiting" if world.waits(world.rows[opened[-1]].name) else "busy"
                elif any(t == track and b <= piece.begin and e >= piece.end for _, t, b, e in lost):
                    state = "unknown"
                else:
                    state = "idle"
                mine[state] += piece.dur
            mine["window"] = sum(mine.values())
            if world.keeps(track):
                found[track] = mine
    return found


@dataclass
class Bubble:
    place: Place
    begin: int
    end: int
    before: tuple[int, int] | None  # name and unit
    after: tuple[int, int] | None


def bubbles(world: World, on: str) -> list[Bubble]:
    """All bubbles of places with a kept track, the longest first."""
    found = []
    lost = not_known(world)
    for place, tracks in world.places(on).items():
        if not any(world.keeps(track) for track in tracks):
            continue
        mine = [(b, e) for (block, sm), _, b, e in lost if (block if on == "block" else -1, sm) == place]
        last: tuple[int, int] | None = None
        bubble: Bubble | None = None
        for piece in pieces(world, tracks, [cyc for both in mine for cyc in both]):
            busy = _busy(world, piece)
            if busy is None and not any(b <= piece.begin and e >= piece.end for b, e in mine):
                if bubble is None:
                    bubble = Bubble(place, piece.begin, piece.end, last, None)
                    found.append(bubble)
                bubble.end = piece.end
            elif bubble is not None:
                bubble.after, bubble = busy, None
            last = busy
    return sorted(found, key=lambda b: (b.begin - b.end, b.place, b.begin))


def _busy(world: World, piece: Piece) -> tuple[int, int] | None:
    for track, opened in sorted(piece.open.items()):
        if opened and not world.waits(world.rows[opened[-1]].name):
            return world.rows[opened[-1]].name, world.unit(track)
    return None


def lags(
    world: World, a: Callable[[str], bool], b: Callable[[str], bool], kind: Callable[[int], Any]
) -> dict[tuple[Any, Any], dict[str, Any]]:
    """By kinds of unit of A and B: lags, where they are, and what has no partner."""
    ends: dict[str, dict[Any, dict[Place, list[tuple[int, bool]]]]] = {"a": {}, "b": {}}
    for i, row in enumerate(world.rows):
        if not row.closed or world.flags.get(row.track, 0) & OVERWRITTEN:
            continue
        for which, matches in (("a", a), ("b", b)):
            if matches(world.spec.name_of(row.name)):
                of_kind = ends[which].setdefault(kind(world.unit(row.track)), defaultdict(list))
                of_kind[world.block_of(row.track)].append((row.start + row.dur, world.is_selected(i)))
    found = {}
    for one, other in product(sorted(ends["a"]), sorted(ends["b"])):
        lag: list[tuple[int, Place, int, int]] = []
        left = [0, 0]
        uneven = 0
        for place in sorted({*ends["a"][one], *ends["b"][other]}):
            # Of equal ends the selection is ambiguous only in which of two equal times is told.
            mine = sorted(ends["a"][one].get(place, []), key=lambda end: end[0])
            theirs = sorted(end for end, _ in ends["b"][other].get(place, []))
            n = min(len(mine), len(theirs))
            left = [left[0] + len(mine) - n, left[1] + len(theirs) - n]
            uneven += len(mine) != len(theirs)
            lag += [(theirs[i] - mine[i][0], place, i, mine[i][0]) for i in range(n) if mine[i][1]]
        found[one, other] = {"lag": lag, "left": left, "uneven": uneven}
    return found


def statistics(found: dict[str, Any]) -> dict[str, Any]:
    """A row of the answer."""
    lag = [one for one, *_ in found["lag"]]
    want: dict[str, Any] = {
        "n_blocks": len({place for _, place, _, _ in found["lag"]}),
        "count": len(lag),
        "n_negative": sum(one < 0 for one in lag),
        "unpaired_a": found["left"][0],
        "unpaired_b": found["left"][1],
        "n_uneven": found["uneven"],
    }
    if lag:
        worst = max(found["lag"], key=lambda one: one[0])  # of equal ones the first
        want |= {
            "mean_cyc": sum(lag) / len(lag),
            "p50_cyc": float(np.percentile(lag, 50)),
            "p99_cyc": float(np.percentile(lag, 99)),
            "min_cyc": min(lag),
            "worst_cyc": worst[0],
            "worst_at_cyc": worst[3],
            "worst_sm": worst[1][1],
            "worst_index": worst[2],
        }
    return want
