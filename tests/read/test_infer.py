"""The layout of a bare buffer: a thousand random launches, the fixtures, and what is no buffer."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from cli_support import FIXTURES
from hypothesis import given, settings
from hypothesis import strategies as st
from read.launches import TAILS, make
from read.support import refused

from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.layout import Word2
from mgpu_trace.read.infer import infer_layout
from mgpu_trace.spec import SpecOptions

N_LAUNCHES = 1000
N_PARTS = 10
NOTHING = SpecOptions()


@pytest.mark.parametrize("part", range(N_PARTS))
def test_random_launches(part: int) -> None:
    """Words per track and the variant are right on every one; what is claimed of blocks is right."""
    seen: Counter[object] = Counter()
    for seed in range(part * N_LAUNCHES // N_PARTS, (part + 1) * N_LAUNCHES // N_PARTS):
        made = make(seed)
        found = infer_layout(made.words)
        assert found.words_per_track == made.words_per_track, seed
        assert (found.word2 is Word2.USED_PLUS_HEADER) == made.old, seed
        assert found.tracks_per_block in (1, made.tracks_per_block), seed
        seen.update([made.tail, ("old", made.old), ("faults", made.faults > 0), found.sureness])
        seen.update([("grouped", found.tracks_per_block > 1), ("one", made.n_tracks == 1)])
    # The launches are as varied as they claim to be.
    assert all(seen[tail] for tail in TAILS)
    for what in ("old", "faults", "grouped", "one"):
        assert seen[what, True]
        assert seen[what, False]
    assert seen["sure"] > N_LAUNCHES / N_PARTS / 2


def test_every_golden_fixture() -> None:
    pairs = [p for p in sorted((FIXTURES / "golden").glob("*.npy")) if p.with_suffix(".json").exists()]
    assert len(pairs) >= 6
    for path in pairs:
        spec = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        found = infer_layout(np.load(path).reshape(-1))
        assert found.words_per_track == spec["words_per_track"], path.name
        if spec.get("word2", "auto") != "auto":
            assert found.word2.value == spec["word2"], path.name


@settings(deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6000))
def test_random_words_are_no_buffer(seed: int, n: int) -> None:
    words = np.random.default_rng(seed).integers(0, 2**32, n, dtype=np.uint32)
    refused(catalogue.NO_LAYOUT, infer_layout, words)


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**32), st.integers(1, 3000), st.sampled_from([2, 16, 256, 2**16, 2**24]))
def test_small_random_words_are_never_sure(seed: int, n: int, below: int) -> None:
    words = np.random.default_rng(seed).integers(0, below, n, dtype=np.uint32)
    try:
        assert infer_layout(words).sureness != "sure"
    except MgpuTraceError as error:
        code = error.diagnostic.code
        assert code in (catalogue.NO_LAYOUT, catalogue.AMBIGUOUS_LAYOUT)


@pytest.mark.parametrize(
    "words",
    [
        np.zeros(4096, np.uint32),
        np.full(4096, 0xDEADBEEF, np.uint32),
        np.ones(4096, np.uint32),
        np.arange(4096, dtype=np.uint32),
        np.arange(4096, dtype=np.uint32)[::-1].copy(),
        np.arange(1, 4, dtype=np.uint32),
        np.zeros(1, np.uint32),
        np.linspace(0, 1, 4096, dtype=np.float32).view(np.uint32),
        np.frombuffer(b"The quick brown fox jumps over the lazy dog." * 100, np.uint32),
    ],
    ids=["zeros", "poison", "ones", "up", "down", "three", "one", "floats", "text"],
)
def test_what_is_no_buffer(words: np.ndarray) -> None:
    found = refused(catalogue.NO_LAYOUT, infer_layout, words)
    assert f"{words.size} words" in found.message
