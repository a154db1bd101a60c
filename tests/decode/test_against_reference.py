"""Every decode equals the slow decoder that was written from docs/format.md alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Made, corrupted_launches, random_launches, sound_launches

from mgpu_trace.decode import RUN_EVENTS, Decoder, decode
from mgpu_trace.model import Slices, TraceBuffer, Tracks
from mgpu_trace.spec import TraceSpec


def slice_rows(slices: Slices) -> list[reference.Slice]:
    columns = (getattr(slices, name).tolist() for name in reference.Slice._fields)
    return [reference.Slice(*row) for row in zip(*columns, strict=True)]


def track_rows(tracks: Tracks | list[reference.Track]) -> list[tuple[int, ...]]:
    names = ("block", "unit", "sm", "start_ns", "n_events", "n_skipped", "first_clock", "flags")
    if isinstance(tracks, list):
        return [tuple(getattr(t, name) for name in names) for t in tracks]
    return list(zip(*(getattr(tracks, name).tolist() for name in names), strict=True))


def codes(report: Any, spec: TraceSpec) -> dict[str, tuple[int, int]]:
    """How often each code was found, and the first track."""
    blocks = {spec.block_xyz(b): b for b in range(spec.n_blocks)}
    return {d.code.id: (d.count, blocks[d.block] * spec.tracks_per_block + d.unit) for d in report}


def check(words: Any, spec: TraceSpec, overhead_cyc: int = 0) -> reference.Answer:
    """Decode whole, in tiny runs and in the other byte order; all must equal the reference."""
    wanted = reference.decode(words, spec, overhead_cyc)
    for order, run_events in (("<u4", None), (">u4", None), ("<u4", 1), (">u4", 7)):
        buffer = TraceBuffer(spec, words.astype(order))
        if run_events is None:
            whole = decode(buffer, overhead_cyc=overhead_cyc, with_index=True)
            tracks, slices, report = whole.tracks, whole.slices, whole.report
        else:
            decoder = Decoder(buffer, overhead_cyc=overhead_cyc, with_index=True, run_events=run_events)
            slices = Slices.collect(decoder.runs(), decoder.n_events)
            tracks, report = decoder.tracks, decoder.report()
        fresh = Decoder(buffer, overhead_cyc=overhead_cyc, run_events=run_events or RUN_EVENTS)
        assert fresh.track_extents().tolist() == [t.extent for t in wanted.tracks]
        assert slice_rows(slices) == wanted.slices
        assert track_rows(tracks) == track_rows(wanted.tracks)
        assert codes(report, spec) == wanted.codes
        if len(slices):
            assert slices.index is not None
            assert slices.index.tolist() == [i for t in wanted.tracks for i in t.indices]
    return wanted


@given(sound_launches())
def test_sound_launches(made: Made) -> None:
    answer = check(made.words, made.spec)
    rows = [(s.track, s.name, s.depth, s.start_cyc, s.dur_cyc) for s in answer.slices]
    assert rows == made.slices
    assert all(s.closed and s.lane == 0 for s in answer.slices)
    harmless = {"MGT305", "MGT306", "MGT309", "MGT402"}
    assert set(answer.codes) <= harmless


@settings(max_examples=200)
@given(corrupted_launches())
def test_corrupted_launches(made: Made) -> None:
    check(made.words, made.spec)


@settings(max_examples=200)
@given(random_launches())
def test_random_tags_and_clocks(made: Made) -> None:
    check(made.words, made.spec)


@given(st.data())
def test_random_words(data: st.DataObject) -> None:
    spec = TraceSpec(grid=(3, 1, 1), block=(256, 1, 1), words_per_track=data.draw(st.integers(4, 12)))
    small = st.integers(0, 2 * spec.words_per_track)
    words = st.one_of(small, st.integers(0, 2**32 - 1))
    flat = data.draw(st.lists(words, min_size=spec.n_words, max_size=spec.n_words))
    check(np.array(flat, np.uint32).reshape(spec.n_tracks, -1), spec)


@given(corrupted_launches(), st.integers(1, 100))
def test_overhead(made: Made, overhead_cyc: int) -> None:
    answer = check(made.words, made.spec, overhead_cyc)
    raw = reference.decode(made.words, made.spec)
    removed = [r.dur_cyc - s.dur_cyc for r, s in zip(raw.slices, answer.slices, strict=True)]
    slices = decode(TraceBuffer(made.spec, made.words), overhead_cyc=overhead_cyc).slices
    if len(slices):
        assert slices.removed_cyc is not None
        assert slices.removed_cyc.tolist() == removed


@pytest.mark.parametrize("n_names", [2, 63, 64, 65, 70])
def test_many_names_that_cross(n_names: int) -> None:
    """Up to 64 names share lanes; above that each has its own."""
    exits = 1 << 31
    pairs = [(a, a + 1, a | exits, (a + 1) | exits) for a in range(0, n_names - 1, 2)]
    tags = [tag for group in pairs for tag in group]
    tags += [n_names - 1, n_names - 1 | exits] if n_names % 2 else []
    spec = TraceSpec(grid=(1, 1, 1), block=(256, 1, 1), words_per_track=3 + 2 * len(tags) + 4)
    words = np.zeros((2, spec.words_per_track), np.uint32)
    words[:, :3] = (1000, 1, 2 * len(tags))
    words[0, 3 : 3 + 2 * len(tags) : 2] = tags
    words[1, 3 : 3 + 2 * len(tags) : 2] = np.array(tags) % 2**31 % 2 + np.array(tags) // 2**31 * 2**31
    words[:, 4 : 4 + 2 * len(tags) : 2] = np.arange(len(tags))
    answer = check(words, spec)
    lanes = {s.lane for s in answer.slices if s.track == 0}
    assert len(lanes) == (2 if n_names <= 64 else n_names)
    assert {s.lane for s in answer.slices if s.track == 1} == {0, 1}
