"""--compat jax against the JAX that is installed: the same text, byte for byte, in its domain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax_dump import CLOSES_OPEN_REGIONS, JAX_VERSION, SCOPES, jax_text
from tracks_by_hand import compat, enter, launch, leave, track

from mgpu_trace.diagnostics import catalogue
from mgpu_trace.export import jax_compat
from mgpu_trace.export.jax_compat import closes_open_regions
from mgpu_trace.layout import Scope
from mgpu_trace.model import TraceBuffer
from mgpu_trace.read import read_trace
from mgpu_trace.spec import TraceSpec

EXIT = 2**31
TEXT = st.text(st.characters(exclude_categories=()), max_size=6)
NAMES = st.lists(TEXT, min_size=1, max_size=6, unique=True).map(tuple)


def same_text(buffer: TraceBuffer) -> None:
    """The domain holds (nothing is found), and the text is JAX's."""
    text, found = compat(buffer, close_open=CLOSES_OPEN_REGIONS)
    assert found == []
    assert text == jax_text(buffer.words, buffer.spec)


@st.composite
def specs(draw: st.DrawFn, words: int) -> TraceSpec:
    scope = draw(st.sampled_from(SCOPES))
    grid = tuple(draw(st.lists(st.integers(1, 2), min_size=3, max_size=3)))
    units = draw(st.integers(1, 3))
    return TraceSpec(
        grid=grid,
        block=(scope.value * units, 1, 1),
        words_per_track=words,
        scope=scope,
        names=draw(NAMES),
    )


def walk(steps: list[int], n_names: int) -> list[int]:
    """Tags of a walk: a step enters a region, or leaves the innermost one (negative, if there is one)."""
    tags, stack = [], []
    for step in steps:
        if step < 0 and stack:
            tags.append(stack.pop() | EXIT)
        elif step >= 0:
            stack.append(step % n_names)
            tags.append(stack[-1])
    return tags


def fill(
    spec: TraceSpec, draw: st.DrawFn, gaps: st.SearchStrategy[int], start: st.SearchStrategy[int]
) -> Any:
    """Words of a launch whose tracks walk at random, with stale words after the events."""
    shape = (spec.n_tracks, spec.words_per_track)
    words = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 2**32, shape, np.uint32)
    for row in words:
        tags = walk(draw(st.lists(st.integers(-3, 5), max_size=spec.capacity_events)), len(spec.names or ()))
        clock = draw(st.integers(0, 2**32 - 1))
        row[:3] = draw(start), draw(st.integers(0, 200)), 2 * len(tags)
        for i, tag in enumerate(tags):
            row[3 + 2 * i : 5 + 2 * i] = tag, clock % 2**32
            clock += draw(gaps)
    return words


@settings(deadline=None)
@given(st.data(), st.integers(4, 30))
def test_random_launches(data: st.DataObject, words: int) -> None:
    """Gaps of one cycle and more, clocks that wrap, regions left open, every kind of name."""
    spec = data.draw(specs(words))
    gaps = st.one_of(st.integers(1, 40), st.integers(13, 100_000), st.integers(1, 10_000_000))
    buffer = TraceBuffer.from_flat(fill(spec, data.draw, gaps, st.integers(0, 2**31)).reshape(-1), spec)
    same_text(buffer)


@settings(deadline=None)
@given(st.data(), st.integers(4, 24))
def test_what_is_not_reported_as_different_is_the_same(data: st.DataObject, words: int) -> None:
    """Any clocks at all: either the text is JAX's, or a finding says that it is not."""
    spec = data.draw(specs(words))
    gaps = st.one_of(st.integers(1, 100), st.integers(-20, 20), st.integers(0, 2**32 - 1))
    starts = st.one_of(st.integers(0, 2**32 - 1), st.integers(2**32 - 500, 2**32 - 1), st.just(0))
    buffer = TraceBuffer.from_flat(fill(spec, data.draw, gaps, starts).reshape(-1), spec)
    text, found = compat(buffer, close_open=CLOSES_OPEN_REGIONS)
    assert {d.code for d in found} <= {catalogue.COMPAT_DIFFERS}
    if not found:
        assert text == jax_text(buffer.words, spec)


def test_a_long_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """More words than one run of the writer holds (which is made small: JAX's own decoder is slow)."""
    monkeypatch.setattr(jax_compat, "_RUN_WORDS", 1 << 15)
    rng = np.random.default_rng(0)
    spec = TraceSpec(grid=(6, 2, 1), block=(384, 1, 1), words_per_track=2003, names=("Init", "a", "b"))
    n_events = spec.capacity_events
    words = np.empty((spec.n_tracks, spec.words_per_track), np.uint32)
    words[:, 0] = rng.integers(0, 2**31, spec.n_tracks)
    words[:, 1] = rng.integers(0, 132, spec.n_tracks)
    words[:, 2] = 2 * n_events
    names = np.repeat(rng.integers(0, 3, (spec.n_tracks, n_events // 2)), 2, axis=1)
    words[:, 3::2] = names + EXIT * (np.arange(n_events) % 2)
    clocks = np.cumsum(rng.integers(13, 3000, (spec.n_tracks, n_events)), axis=1)
    words[:, 4::2] = (clocks + rng.integers(0, 2**32, (spec.n_tracks, 1))) % 2**32
    same_text(TraceBuffer.from_flat(words.reshape(-1), spec))


@pytest.mark.parametrize(
    "events",
    [
        (),
        (enter(0, 5),),
        (enter(0, 0), leave(0, 1)),
        (enter(0, 2**32 - 60), enter(1, 2**32 - 20), leave(1, 30), leave(0, 90)),
        (enter(0, 0), enter(1, 100), leave(1, 98), leave(0, 200)),  # back, but not before the first
        (enter(0, 0), leave(0, 3_000_000_000)),  # further than 2**31, and JAX can hold it
        (enter(0, 0), leave(1, 50)),  # JAX does not look at the name of an exit
    ],
)
def test_edges(events: tuple[tuple[int, int], ...]) -> None:
    same_text(launch(track(1000, 3, *events), track(1000, 2, enter(1, 0), leave(1, 500))))


GOLDEN = sorted((Path(__file__).parents[2] / "fixtures" / "golden").glob("*.npy"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden_launches(path: Path) -> None:
    """The same text; where JAX's times wrap, the same but for those times."""
    buffer = read_trace(path).buffer
    if buffer.spec.scope not in SCOPES:
        pytest.skip(f"JAX {JAX_VERSION} has no {buffer.spec.scope.label} scope")
    words = buffer.words.copy()
    if (words[:, 2] % 2).all():
        words[:, 2] -= 3  # the count as this JAX has it
    text, found = compat(buffer, close_open=CLOSES_OPEN_REGIONS)
    theirs = jax_text(words, buffer.spec)
    assert (text == theirs) == (found == [])
    if found:
        (differs,) = found
        assert differs.code is catalogue.COMPAT_DIFFERS
        pairs = zip(json.loads(text)["traceEvents"], json.loads(theirs)["traceEvents"], strict=True)
        wrapped = {}
        for a, b in pairs:
            assert {**a, "ts": b["ts"]} == b
            if a != b:
                wrapped[a["tid"]] = round((a["ts"] - b["ts"]) * 1000)
        assert len(wrapped) == differs.count
        assert set(wrapped.values()) == {2**32}


@pytest.mark.skipif(len(SCOPES) == 1, reason=f"JAX {JAX_VERSION} has no warp scope")
def test_warp_scope() -> None:
    rows = [track(100 * i, i, enter(0, i), leave(0, 100 * i + 50)) for i in range(8)]
    same_text(launch(*rows, grid=(2, 1, 1), scope=Scope.WARP))


def test_the_version_of_the_spec_says_what_the_installed_jax_does() -> None:
    assert closes_open_regions(JAX_VERSION) is CLOSES_OPEN_REGIONS
    buffer = launch(track(0, 0, enter(0, 0), enter(1, 50), enter(2, 90)), jax_version=JAX_VERSION)
    assert compat(buffer)[0] == jax_text(buffer.words, buffer.spec)
