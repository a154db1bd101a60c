"""A slow decoder, written from docs/format.md alone: plain integers, one event at a time.

It shares nothing with mgpu_trace.decode. Section names in the comments are those of the page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mgpu_trace.layout import Word2
from mgpu_trace.spec import TraceSpec

EXIT = 2**31
OVERFULL, OVERWRITTEN, BROKEN, FULL, TRUNCATED, UNREADABLE = 1, 2, 4, 8, 16, 32


class Slice(NamedTuple):
    track: int
    name: int
    depth: int
    lane: int
    start_cyc: int
    dur_cyc: int
    closed: bool


@dataclass
class Track:
    number: int
    block: int
    unit: int
    sm: int
    start_ns: int
    used: int
    n_events: int = 0
    n_skipped: int = 0
    first_clock: int = 0
    extent: int = -1  # time of the last event
    flags: int = 0
    slices: list[Slice] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)


# For each code, the number of the track of every finding.
Found = defaultdict[str, list[int]]


@dataclass
class Answer:
    tracks: list[Track]
    found: Found

    @property
    def codes(self) -> dict[str, tuple[int, int]]:
        """How often each code was found, and the first track."""
        return {code: (len(tracks), min(tracks)) for code, tracks in self.found.items() if tracks}

    @property
    def slices(self) -> list[Slice]:
        return [s for track in self.tracks for s in track.slices]


def decode(words: Any, spec: TraceSpec, overhead_cyc: int = 0) -> Answer:
    """``words``: rows of integers, one row a track."""
    rows = [[int(w) for w in row] for row in words]
    found: Found = defaultdict(list)
    voted = vote(rows, spec)
    tracks = read_headers(rows, spec, voted, found)
    check_headers(tracks, voted, found)
    for row, track in zip(rows, tracks, strict=True):
        decode_track(row, track, spec, found, overhead_cyc)
    return Answer(tracks, found)


# Headers


def is_garbage(row: list[int], spec: TraceSpec) -> bool:
    return row[2] > spec.words_per_track + 65536


def vote(rows: list[list[int]], spec: TraceSpec) -> bool:
    if spec.word2 is not Word2.AUTO:
        return False
    votes = [row[2] % 2 for row in rows if row[2] and not is_garbage(row, spec)]
    return bool(votes) and all(votes)


def read_headers(rows: list[list[int]], spec: TraceSpec, voted: bool, found: Found) -> list[Track]:
    per_block, capacity = spec.tracks_per_block, spec.words_per_track - 3
    usable = 2 * (capacity // 2)
    old = voted or spec.word2 is Word2.USED_PLUS_HEADER
    tracks = []
    for i, row in enumerate(rows):
        used = row[2] - 3 if old and row[2] else row[2]
        track = Track(i, i // per_block, i % per_block, row[1], row[0], used)
        if is_garbage(row, spec) or used < 0:
            track.flags |= BROKEN
            found["MGT304"].append(i)
        elif used % 2:
            track.flags |= BROKEN
            found["MGT303"].append(i)
        else:
            track.n_events = min(used, usable) // 2
            if used > capacity:
                track.flags |= OVERFULL
                found["MGT301"].append(i)
            elif used == usable and used:
                track.flags |= FULL
        tracks.append(track)
    for track in tracks:
        skip_overwritten(track, tracks, spec, found)
    return tracks


def skip_overwritten(track: Track, tracks: list[Track], spec: TraceSpec, found: Found) -> None:
    over = 0
    for d in range(1, track.unit + 1):
        before = tracks[track.number - d]
        if before.flags & OVERFULL:
            over = max(over, before.used - d * spec.words_per_track)
    if over:
        track.flags |= OVERWRITTEN
        track.n_skipped = min((over + 1) // 2, track.n_events)
        found["MGT302"].append(track.number)


def check_headers(tracks: list[Track], voted: bool, found: Found) -> None:
    sound = [t for t in tracks if not t.flags & BROKEN]
    empty = [t.number for t in sound if t.used == 0]
    live = [t for t in sound if t.used]
    if empty:
        found["MGT305" if len(empty) == len(tracks) else "MGT306"] = empty
    blocks: dict[int, list[Track]] = {}
    for t in live:
        if t.sm >= 1024:
            found["MGT307"].append(t.number)
        blocks.setdefault(t.block, []).append(t)
    for members in blocks.values():
        differing = [t.number for t in members if t.sm != members[0].sm]
        found["MGT308"] += differing[:1]
    if live and voted:
        found["MGT309"] = [t.number for t in live]
    if len(live) >= 2 and all(t.start_ns == 0 and t.sm == 0 for t in live):
        found["MGT310"] = [t.number for t in live]


# Events


def decode_track(row: list[int], track: Track, spec: TraceSpec, found: Found, overhead: int) -> None:
    events = []
    for i in range(track.n_skipped, track.n_events):
        tag, clock = row[3 + 2 * i], row[4 + 2 * i]
        if tag % EXIT >= 2**20:
            found["MGT407"].append(track.number)
        else:
            events.append((tag % EXIT, tag >= EXIT, clock))
    if events:
        track.first_clock = events[0][2]
    elif track.n_events > track.n_skipped:
        track.flags |= UNREADABLE
    times = read_times([clock for _, _, clock in events])
    times = take_off(level(times, track, found), overhead)
    track.extent = times[-1] if times else -1
    regions = pair(events, track, found)
    lanes = assign_lanes(regions)
    seen: Counter[int] = Counter()
    for j, (name, s, e, closed) in enumerate(regions):
        depth = sum(lanes[n] == lanes[name] and s_i < s and e_i >= e for n, s_i, e_i, _ in regions[:j])
        start, end = times[s], times[e]
        track.slices.append(Slice(track.number, name, depth, lanes[name], start, end - start, closed))
        track.indices.append(seen[name])
        seen[name] += 1
    if any(lanes.values()):
        found["MGT405"].append(track.number)
    for name, *_ in regions:
        if spec.names is not None and name >= len(spec.names):
            found["MGT406"].append(track.number)
    check_losses(track, spec, found)


def read_times(clocks: list[int]) -> list[int]:
    times: list[int] = []
    for i, clock in enumerate(clocks):
        if i == 0:
            times.append(0)
            continue
        d = (clock - clocks[i - 1]) % 2**32
        times.append(times[-1] + (d if d < 2**31 else d - 2**32))
    return times


def level(times: list[int], track: Track, found: Found) -> list[int]:
    up: list[int] = []
    for t in times:
        up.append(max(t, up[-1]) if up else t)
    down: list[int] = []
    for t in reversed(times):
        down.append(min(t, down[-1]) if down else t)
    down = [max(0, t) for t in reversed(down)]
    drop = max((u - t for u, t in zip(up, times, strict=True)), default=0)
    if drop == 0:
        return times
    found["MGT501" if drop <= 64 else "MGT502"].append(track.number)
    changed_up = sum(u != t for u, t in zip(up, times, strict=True))
    changed_down = sum(d != t for d, t in zip(down, times, strict=True))
    return up if changed_up <= changed_down else down


def take_off(times: list[int], overhead: int) -> list[int]:
    out: list[int] = []
    for i, t in enumerate(times):
        t -= overhead * i
        out.append(max(t, out[-1]) if out else t)
    return out


# Pairing, and Crossing regions


def pair(events: list[tuple[int, bool, int]], track: Track, found: Found) -> list[tuple[int, int, int, bool]]:
    """Rows of (name, number of the enter, number of the end, closed), by enter."""
    regions: list[list[Any]] = []
    for number, (name, leaves, _) in enumerate(events):
        if not leaves:
            regions.append([name, number, len(events) - 1, False])
            continue
        mine = [r for r in regions if r[0] == name and not r[3]]
        if mine:
            mine[-1][2:] = [number, True]
        elif not track.flags & OVERWRITTEN:
            found["MGT404"].append(track.number)
    return [(name, s, e, closed) for name, s, e, closed in regions]


def assign_lanes(regions: list[tuple[int, int, int, bool]]) -> dict[int, int]:
    conflicts: set[tuple[int, int]] = set()
    for i, (a, s_i, e_i, _) in enumerate(regions):
        for b, s_j, e_j, _ in regions[i + 1 :]:
            if s_i < s_j < e_i < e_j:
                conflicts |= {(a, b), (b, a)}
    lanes: dict[int, int] = {}
    packed = not conflicts or len({name for name, *_ in regions}) <= 64
    for name, *_ in regions:
        if name not in lanes and not packed:
            lanes[name] = len(lanes)
        elif name not in lanes:
            taken = {lanes[other] for other in lanes if (name, other) in conflicts}
            lanes[name] = next(lane for lane in range(len(lanes) + 1) if lane not in taken)
    return lanes


# Losses


def check_losses(track: Track, spec: TraceSpec, found: Found) -> None:
    n_open = sum(not s.closed for s in track.slices)
    if track.flags & FULL and spec.bounds_checked is not False:
        if n_open:
            track.flags |= TRUNCATED
        found["MGT401" if n_open else "MGT402"].append(track.number)
    if not track.flags & (TRUNCATED | OVERFULL):
        found["MGT403"] += [track.number] * n_open
