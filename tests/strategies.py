"""Hypothesis strategies: specs, sound launches with the slices they must give, and corruptions.

Nothing here decodes: a sound launch knows its slices because it was built from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mgpu_trace.layout import Scope, Word2
from mgpu_trace.spec import TraceSpec

EXIT = 2**31
WORD = st.integers(0, 2**32 - 1)
# Values at the edges of what headers, tags and clocks may be.
EDGES = st.sampled_from(
    (
        0,
        1,
        2,
        3,
        4,
        5,
        2**20 - 1,
        2**20,
        EXIT - 1,
        EXIT,
        EXIT | 1,
        EXIT | 2**20,
        0xDEADBEEF,
        2**32 - 2,
        2**32 - 1,
    )
)


@dataclass
class Made:
    """A launch: rows of words, its spec, and what its tracks hold.

    ``events`` are (tag, clock) by track; ``slices`` the rows (track, name, depth, start_cyc, dur_cyc)
    that a sound launch must give, by enter.
    """

    words: np.ndarray
    spec: TraceSpec
    events: list[list[tuple[int, int]]]
    slices: list[tuple[int, int, int, int, int]]


# A track's walk: each step enters a region (its name) or leaves the innermost one (-1).
_STEP = st.integers(-1, 4)
_WALKS = st.one_of(
    st.lists(_STEP, max_size=12),
    st.lists(st.sampled_from((-1, 0)), max_size=12),
    st.integers(1, 40).flatmap(lambda n: st.lists(st.integers(0, 2), min_size=n, max_size=n)),
    st.lists(_STEP, min_size=30, max_size=60),
)
_GAPS = st.one_of(
    st.just([0]),
    st.lists(st.integers(0, 60), min_size=1, max_size=8),
    st.lists(st.sampled_from((0, 1, 100, 2**31 - 1, 2**30)), min_size=1, max_size=5),
)
_FIRST_CLOCKS = st.one_of(WORD, st.sampled_from((0, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 50)))
TRACKS = st.tuples(_WALKS, _GAPS, _FIRST_CLOCKS)


def play(track: int, walk: list[int], gaps: list[int], first_clock: int) -> tuple[list[Any], list[Any]]:
    """Events and slices of a balanced walk: exits at the outermost level are dropped, the rest added."""
    events: list[tuple[int, int]] = []
    slices: list[list[int]] = []
    stack: list[int] = []
    time = 0
    for step in [*walk, *[-1] * len(walk)]:
        if step < 0 and not stack:
            continue
        if events:
            time += gaps[len(events) % len(gaps)]
        clock = (first_clock + time) % 2**32
        if step >= 0:
            stack.append(len(slices))
            slices.append([track, step, len(stack) - 1, time, 0])
            events.append((step, clock))
        else:
            row = slices[stack.pop()]
            row[4] = time - row[3]
            events.append((row[1] | EXIT, clock))
    return events, [tuple(row) for row in slices]


@st.composite
def shapes(draw: Any) -> dict[str, Any]:
    """Grid, block and scope: 1 to 60 tracks."""
    scope = draw(st.sampled_from(Scope))
    units = draw(st.integers(1, 4))
    grid = draw(st.sampled_from(((1, 1, 1), (2, 1, 1), (1, 3, 1), (2, 1, 2), (15, 1, 1))))
    return {"grid": grid, "block": (units * scope.value, 1, 1), "scope": scope}


@st.composite
def sound_launches(draw: Any) -> Made:
    """Balanced regions in every track, room for all of them, either variant of word 2."""
    shape = draw(shapes())
    n_tracks = int(np.prod(shape["grid"])) * shape["block"][0] // shape["scope"].value
    pool = draw(st.lists(TRACKS, min_size=1, max_size=4))
    picks = draw(st.lists(st.integers(0, len(pool) - 1), min_size=n_tracks, max_size=n_tracks))
    played = [play(i, *pool[pick]) for i, pick in enumerate(picks)]
    events = [e for e, _ in played]
    longest = max(map(len, events))
    spec = TraceSpec(
        **shape,
        words_per_track=max(4, 3 + 2 * longest + draw(st.integers(0, 5))),  # 0 and 1: exactly full
        names=draw(st.sampled_from((None, ("a", "b", "c", "d", "e")))),
        bounds_checked=draw(st.sampled_from((None, True, False))),
    )
    old = draw(st.booleans())
    if draw(st.booleans()):
        spec = replace(spec, word2=Word2.USED_PLUS_HEADER if old else Word2.USED)
    words = lay(events, spec, old, draw(st.lists(WORD, min_size=1, max_size=7)))
    return Made(words, spec, events, [row for _, rows in played for row in rows])


def lay(events: list[list[tuple[int, int]]], spec: TraceSpec, old: bool, fill: list[int]) -> np.ndarray:
    """Rows of words: the events of each track, ``fill`` after them."""
    words = np.resize(np.array(fill, np.uint32), (spec.n_tracks, spec.words_per_track))
    for i, track in enumerate(events):
        block = i // spec.tracks_per_block
        words[i, :3] = (1000 + 32 * block, block % 4, 2 * len(track) + 3 * old)
        flat = np.array(track, np.uint32).reshape(-1)[: spec.capacity_words]
        words[i, 3 : 3 + flat.size] = flat
    return words


_KINDS = st.sampled_from(("word", "header", "used", "tag", "clock", "swap", "drop"))
_TAG = st.one_of(st.integers(0, 3), st.integers(EXIT, EXIT + 3))
_STEPS_BACK = st.one_of(st.sampled_from((-1, -64, -65, 2**31 - 1, 2**31, 2**31 + 1)), st.integers(-300, 300))


@st.composite
def corrupted_launches(draw: Any) -> Made:
    """A sound launch, and then anything: events lost or swapped, words and headers overwritten."""
    made = draw(sound_launches())
    for kind in draw(st.lists(_KINDS, max_size=8)):
        _corrupt(draw, made.words[draw(st.integers(0, len(made.words) - 1))], kind)
    return made


def _corrupt(draw: Any, row: np.ndarray, kind: str) -> None:
    """Break one track in place; nothing happens where ``kind`` needs an event and there is none."""
    size = len(row)
    n = max(0, min(int(row[2]), size - 3) // 2)
    if kind == "word":
        row[draw(st.integers(0, size - 1))] = draw(st.one_of(WORD, EDGES))
    elif kind == "header":
        row[draw(st.integers(0, 2))] = draw(st.one_of(EDGES, st.integers(0, 1100)))
    elif kind == "used":  # around the capacity, beyond it, and far beyond
        near = st.integers(-6, 20).map(lambda d: max(0, size + d))
        far = st.sampled_from((size + 65535, size + 65536, size + 65537))
        row[2] = draw(st.one_of(near, st.integers(0, 4 * size), far))
    elif n:
        _corrupt_event(draw, row, 3 + 2 * draw(st.integers(0, n - 1)), kind)


def _corrupt_event(draw: Any, row: np.ndarray, at: int, kind: str) -> None:
    if kind == "tag":
        row[at] = draw(st.one_of(EDGES, _TAG))
    elif kind == "clock":
        row[at + 1] = (int(row[at + 1]) + draw(_STEPS_BACK)) % 2**32
    elif kind == "swap" and at + 3 < len(row):
        row[[at, at + 2]] = row[[at + 2, at]]
    elif kind == "drop":
        row[at : len(row) - 2] = row[at + 2 :].copy()
        row[2] -= min(2, int(row[2]))


@st.composite
def random_launches(draw: Any) -> Made:
    """Few names, tags and clocks at random: mostly crossing, orphaned and unclosed regions."""
    shape = draw(shapes())
    size, checked = draw(st.integers(4, 40)), draw(st.sampled_from((None, False)))
    spec = TraceSpec(**shape, words_per_track=size, bounds_checked=checked)
    event = st.tuples(_TAG, st.one_of(st.integers(0, 400), WORD))
    pool = draw(st.lists(st.lists(event, max_size=spec.capacity_events), min_size=1, max_size=4))
    events = [pool[i % len(pool)] for i in range(spec.n_tracks)]
    words = lay(events, spec, False, draw(st.lists(WORD, min_size=1, max_size=3)))
    return Made(words, spec, events, [])
