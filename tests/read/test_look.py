"""Looks at a large buffer see the same words, and let go of its pages in between."""

from __future__ import annotations

import numpy as np
import pytest

import mgpu_trace.read.look
from mgpu_trace.read.infer import infer_layout
from mgpu_trace.read.look import Look
from mgpu_trace.synth import SynthConfig, synthesise


@pytest.mark.parametrize("per_place", [1, 7])
def test_batches_see_the_same_words(monkeypatch, per_place):
    monkeypatch.setattr(mgpu_trace.read.look, "_LARGE_WORDS", 1)
    flat = np.random.default_rng(0).integers(0, 2**32, 5000, dtype=np.uint32)
    index = np.random.default_rng(1).integers(0, 5000, 1000)
    let_go = []
    look = Look(flat, lambda: let_go.append(1))
    assert look.is_large
    assert look.at(index, per_place).tolist() == flat[index].tolist()
    assert len(let_go) == -(-1000 // (128 * per_place))
    assert look.between(3, 9).tolist() == flat[3:9].tolist()


def test_a_large_buffer_is_inferred_as_a_small_one(monkeypatch):
    words = synthesise(SynthConfig(grid=(40, 1, 1)), 5).words.reshape(-1)
    small = infer_layout(words)
    monkeypatch.setattr(mgpu_trace.read.look, "_LARGE_WORDS", 1)
    let_go = []
    assert infer_layout(words, lambda: let_go.append(1)) == small
    assert let_go
