"""Buffers without their unused words come back with zeros there, and every other word as it was.

The reference packs and unpacks track by track, in plain Python.
"""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from capture.support import used_words
from hypothesis import given
from hypothesis import strategies as st

import mgpu_trace
from mgpu_trace.read import read_trace
from mgpu_trace.read.packed import kept_words, pack, unpack
from mgpu_trace.spec import SpecOptions

WORD = st.integers(0, 2**32 - 1)
NOTHING = SpecOptions()


@st.composite
def buffers(draw: Any) -> np.ndarray[Any, Any]:
    """``(tracks, words)`` with counts of used words of every kind: sound, odd, too large, garbage."""
    n_tracks, words = draw(st.integers(1, 12)), draw(st.integers(4, 40))
    seed = draw(st.integers(0, 2**32 - 1))
    buffer = np.random.default_rng(seed).integers(1, 2**32, (n_tracks, words), np.uint32)
    counts = st.one_of(
        st.integers(0, words - 3),
        st.integers(0, words + 4),
        st.sampled_from((0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 1 << 31, words - 3, words - 2, words)),
        WORD,
    )
    buffer[:, 2] = draw(st.lists(counts, min_size=n_tracks, max_size=n_tracks))
    return buffer


def reference(buffer: np.ndarray[Any, Any]) -> tuple[list[int], list[int]]:
    """The kept words, and how many of each track: no fewer than a reader may look at."""
    packed, kept = [], []
    for row, needed in zip(buffer.tolist(), used_words(buffer).sum(axis=1).tolist(), strict=True):
        packed += row[:needed]
        kept.append(needed)
    return packed, kept


@given(buffers())
def test_kept_is_enough_and_no_more_than_the_track(buffer):
    kept = kept_words(buffer)
    _, needed = reference(buffer)
    assert kept.dtype == np.uint32
    assert all(need <= keep <= buffer.shape[1] for need, keep in zip(needed, kept.tolist(), strict=True))
    # A sound count is taken at its word: nothing of what is stale is kept.
    for row, keep in zip(buffer.tolist(), kept.tolist(), strict=True):
        if row[2] + 3 <= len(row):
            assert keep == row[2] + 3


@given(buffers())
def test_packing_is_the_references(buffer):
    packed, kept = reference(buffer)
    assert pack(buffer, np.array(kept, np.uint32)).tolist() == packed


@given(buffers(), st.integers(1, 50))
def test_unpacking_undoes_packing_in_chunks_of_any_size(buffer, chunk):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mgpu_trace.read.packed._CHUNK_WORDS", chunk)
        kept = kept_words(buffer)
        back = unpack(pack(buffer, kept), kept, buffer.shape[1]).reshape(buffer.shape)
    within = np.arange(buffer.shape[1]) < kept[:, None]
    assert np.array_equal(back, np.where(within, buffer, 0))


@given(buffers())
def test_files_give_the_buffer_back(tmp_path_factory, buffer):
    """Both ways to store it: the reader sees the same used words, and the rest as it was or zero."""
    folder = tmp_path_factory.getbasetemp()
    n_tracks, words = buffer.shape
    spec = mgpu_trace.TraceSpec(grid=(n_tracks, 1, 1), block=(128, 1, 1), words_per_track=words)
    whole, small = folder / "whole.npz", folder / "small.npz"
    mgpu_trace.write_npz(whole, buffer, spec)
    mgpu_trace.write_npz(small, buffer, spec, pack=True)
    assert np.array_equal(read_trace(str(whole), NOTHING).buffer.words, buffer)
    back = read_trace(str(small), NOTHING).buffer.words
    needed = used_words(buffer)
    assert np.array_equal(back[needed], buffer[needed])
    assert np.all((back == buffer) | (back == 0))


def sound(n_tracks: int = 3, words: int = 64) -> np.ndarray[Any, Any]:
    buffer = np.full((n_tracks, words), 7, np.uint32)
    buffer[:, 2] = 2
    return buffer


def damaged(path: Any, **arrays: Any) -> None:
    """A packed container with other arrays in it."""
    spec = mgpu_trace.TraceSpec(grid=(3, 1, 1), block=(128, 1, 1), words_per_track=64)
    whole = {
        "packed": np.full(15, 7, np.uint32),
        "kept": np.full(3, 5, np.uint32),
        "shape": np.array([3, 64], np.uint32),
        "spec": np.array(json.dumps(spec.to_dict())),
    }
    np.savez(path, **{name: value for name, value in (whole | arrays).items() if value is not None})


def test_the_damaged_container_is_sound_to_begin_with(tmp_path):
    damaged(tmp_path / "x.npz")
    assert read_trace(str(tmp_path / "x.npz"), NOTHING).buffer.words.shape == (3, 64)


@pytest.mark.parametrize(
    "arrays",
    [
        {"kept": np.array([5, 5, 6], np.uint32)},
        {"kept": np.array([5, 5], np.uint32)},
        {"kept": np.array([65, 5, 5], np.uint32)},
        {"kept": np.array([0xFFFFFFFF] * 3, np.uint32)},
        {
            "kept": np.zeros(0, np.uint32),
            "shape": np.array([0, 64], np.uint32),
            "packed": np.zeros(0, np.uint32),
        },
        {"kept": np.array([-1, 8, 8], np.int32)},
        {"shape": np.array([3], np.uint32)},
        {"shape": np.array([3, 0], np.uint32)},
        {"shape": np.array([3, 4], np.uint32)},
        {"shape": np.array([3, 0xFFFFFFFF], np.uint32)},
        {"shape": np.array([0xFFFFFFFF, 0xFFFFFFFF], np.uint32)},
        {"packed": np.zeros(14, np.uint32)},
        {"packed": np.zeros(15, np.float64)},
        {"packed": None},
        {"shape": None},
    ],
    ids=str,
)
def test_damaged_containers_are_refused(tmp_path, arrays):
    """With a code for files, and not with whatever NumPy says."""
    damaged(tmp_path / "x.npz", **arrays)
    with pytest.raises(mgpu_trace.MgpuTraceError) as refused:
        read_trace(str(tmp_path / "x.npz"), NOTHING)
    assert refused.value.diagnostic.code.id.startswith(("MGT1", "MGT2", "MGT902"))  # 902: too large


def test_a_small_file_with_long_tracks_takes_no_memory(tmp_path):
    """A gigabyte of unused words is not made to be looked at."""
    kept, shape = np.array([5], np.uint32), np.array([1, 1 << 28], np.uint32)
    tracemalloc.start()
    try:
        back = unpack(np.full(5, 7, np.uint32), kept, int(shape[1]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert back[:6].tolist() == [7, 7, 7, 7, 7, 0]
    assert peak < 1.01 * back.nbytes  # which the kernel gives when it is touched


def test_packed_arrays_are_the_ones_that_the_docs_name(tmp_path):
    spec = mgpu_trace.TraceSpec(grid=(3, 1, 1), block=(128, 1, 1), words_per_track=64)
    mgpu_trace.write_npz(tmp_path / "x.npz", sound(), spec, pack=True)
    with np.load(tmp_path / "x.npz") as file:
        assert file["shape"].tolist() == [3, 64]
        assert file["kept"].tolist() == [5, 5, 5]
        assert file["packed"].tolist() == [7, 7, 2, 7, 7] * 3
        assert json.loads(str(file["spec"]))["grid"] == [3, 1, 1]
