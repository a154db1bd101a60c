"""JAX's ``ProfilerSpec`` and the lowering of Mosaic GPU kernels: numbers and sentences, against ours."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax_launch import (
    JAX_VERSION,
    SCOPES,
    mgpu,
    mosaic_refusal,
    n_tracks,
    needs_scopes,
    profiler,
    profiler_spec,
    refusal,
)

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.launch import LaunchConfig
from mgpu_trace.layout import Scope

SMEM_LIMIT_BYTES = 227 * 1024  # what JAX takes where it sees no device
LOWERED_WORDS = 4  # a track of fewer words is a header alone, and does not lower
GRIDS = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)
SCOPE = st.sampled_from(SCOPES)


def config_of(**fields: Any) -> LaunchConfig:
    return LaunchConfig(**fields, jax_version=JAX_VERSION)


def message(config: LaunchConfig, code: Code) -> str | None:
    finding = config.check().of_code(code)
    return None if finding is None else finding.message


@st.composite
def blocks(draw: st.DrawFn) -> tuple[int, ...]:
    """Blocks that CUDA takes, most of them whole warps or warpgroups."""
    unit = draw(st.sampled_from((1, 32, 128)))
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=3))
    return (sizes[0] * unit, *sizes[1:])


@settings(max_examples=300)
@given(GRIDS, blocks(), SCOPE, st.integers(1, 600))
def test_sizes_of_buffers(
    grid: tuple[int, ...], block: tuple[int, ...], scope: Scope, words_per_track: int
) -> None:
    spec = profiler_spec(words_per_track, scope)
    config = config_of(grid=grid, block=block, scope=scope, words_per_track=words_per_track)
    facts = config.facts
    sentence = refusal(lambda: spec.jax_buffer_type(grid, block))
    ours = message(config, catalogue.BLOCK_NOT_MULTIPLE)
    if sentence is None:
        buffer = spec.jax_buffer_type(grid, block)
        assert ours is None
        assert buffer.shape == (facts.n_words,)
        assert buffer.size * buffer.dtype.itemsize == facts.buffer_bytes
        assert spec.smem_bytes(block) == facts.smem_profile_bytes
        assert n_tracks(spec, grid, block) == facts.n_tracks
        assert n_tracks(spec, (), block) == facts.tracks_per_block
    else:
        assert ours is not None
        assert ours.partition(":")[0] == sentence
        assert facts.tracks_per_block is facts.n_tracks is facts.n_words is facts.smem_profile_bytes is None


def refused_scope(scope: object) -> str | None:
    return refusal(lambda: profiler.ProfilerSpec(64, dump_path=".", trace_scope=scope))


@needs_scopes
@given(st.text(max_size=12))
def test_scopes_that_are_other_text(text: str) -> None:
    """JAX takes members of an enum, ours names: all other text is refused alike."""
    if text.strip().upper() in Scope.__members__:
        return
    assert message(config_of(scope=text), catalogue.UNSUPPORTED_SCOPE) == refused_scope(text)


@needs_scopes
def test_the_scope_of_a_whole_block() -> None:
    """A member of JAX's enum reads as its number there, and would by its name here.

    ``ThreadSubset`` is an IntEnum, which a format string shows as the number since Python 3.11.
    """
    block = mgpu.ThreadSubset.BLOCK
    sentence = refused_scope(block)
    assert sentence == f"Unsupported trace scope: {int(block)}"
    assert message(config_of(scope="block"), catalogue.UNSUPPORTED_SCOPE) == sentence.replace(
        str(int(block)), "block"
    )
    assert message(config_of(scope=f"{block}"), catalogue.UNSUPPORTED_SCOPE) == sentence


class _Full(dict[str, int]):
    """A table of names that says how many it has."""

    def __init__(self, n_names: int) -> None:
        super().__init__()
        self.n_names = n_names

    def __len__(self) -> int:
        return self.n_names


@pytest.mark.parametrize("n_before", [0, 1, 2**31 - 2, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1])
def test_names_that_collide_with_the_exit_bit(n_before: int) -> None:
    """One name more than ``n_before``. (From 2**32 on JAX counts as if from 0 again, and says nothing.)"""
    spec = profiler_spec(64)
    spec.interned_names = _Full(n_before)
    sentence = refusal(lambda: spec.intern_name("one more"))
    config = config_of(n_names=n_before + 1)
    ours = message(config, catalogue.TOO_MANY_NAMES)
    assert (sentence is None) == (ours is None) == (n_before < 2**31)
    assert sentence is None or ours is None or ours.startswith(sentence)
    left = config.facts.name_ids_left
    assert left is not None
    assert (left < 0) == (sentence is not None)


@pytest.mark.parametrize("iterations", [-3, 0, 1, 2])
def test_iterations(iterations: int) -> None:
    sentence = refusal(lambda: profiler.measure(lambda: None, iterations=iterations))
    assert message(config_of(iterations=iterations), catalogue.ITERATIONS_NOT_POSITIVE) == sentence


# ---- kernels that are lowered


@st.composite
def profiles(draw: st.DrawFn) -> tuple[tuple[int, ...], Scope, int, int]:
    """A block, a scope, words of a track, and a kernel's own shared memory: about at the limit."""
    scope = draw(SCOPE)
    block = (128 * draw(st.integers(1, 8)), 1, 1)
    tracks = block[0] // scope.value
    words = draw(
        st.integers(LOWERED_WORDS, 2000) | st.integers(LOWERED_WORDS, SMEM_LIMIT_BYTES // 4 // tracks + 8)
    )
    left = SMEM_LIMIT_BYTES - 4 * tracks * words
    smem_bytes = draw(st.integers(0, SMEM_LIMIT_BYTES + 64) | st.integers(left - 17, left + 17))
    return block, scope, words, max(0, smem_bytes)


@settings(max_examples=150)
@given(profiles())
def test_shared_memory(profile: tuple[tuple[int, ...], Scope, int, int]) -> None:
    block, scope, words, smem_bytes = profile
    sentence = mosaic_refusal((1, 1, 1), block, (1, 1, 1), smem_bytes, profiler_spec(words, scope))
    config = config_of(grid=(1, 1, 1), block=block, scope=scope, words_per_track=words, smem_bytes=smem_bytes)
    ours = message(config, catalogue.SMEM_EXCEEDED)
    assert (sentence is None) == (ours is None)
    if sentence is not None and ours is not None:
        total, limit = map(int, re.findall(r"=(\d+)", sentence))
        assert (total, limit) == (config.facts.smem_total_bytes, config.facts.smem_limit_bytes)
        assert re.match(re.escape(sentence) + r"(?!\d)", ours)


@settings(max_examples=60)
@given(profiles())
def test_the_largest_profile_that_fits(profile: tuple[tuple[int, ...], Scope, int, int]) -> None:
    """The hint's numbers: JAX lowers a kernel with that many words, and refuses two more."""
    block, scope, _, smem_bytes = profile
    most = config_of(block=block, scope=scope, smem_bytes=smem_bytes).facts.most_words_per_track
    assert most is not None

    def refused(words: int) -> bool:
        spec = profiler_spec(words, scope)
        return mosaic_refusal((1, 1, 1), block, (1, 1, 1), smem_bytes, spec) is not None

    assert most % 2 == 0
    assert most < LOWERED_WORDS or not refused(most)
    assert most + 2 < LOWERED_WORDS or refused(most + 2)


@pytest.mark.parametrize("words_per_track", [1, 2, 3])
def test_tracks_without_room_for_a_word(words_per_track: int) -> None:
    """JAX's lowering breaks on a header alone, in words about vectors; ours says what is wrong."""
    spec = profiler_spec(words_per_track)
    with pytest.raises(Exception, match="vector types must have positive constant sizes"):
        mosaic_refusal((1, 1, 1), (128, 1, 1), (1, 1, 1), 64, spec)
    config = config_of(block=(128, 1, 1), words_per_track=words_per_track)
    assert message(config, catalogue.TOO_FEW_RANGES) is not None


@settings(max_examples=60)
@given(st.integers(0, 64) | st.integers(SMEM_LIMIT_BYTES - 9, SMEM_LIMIT_BYTES + 9))
def test_shared_memory_without_a_profile(smem_bytes: int) -> None:
    """A kernel that is not profiled is not rounded up."""
    sentence = mosaic_refusal((1, 1, 1), (128, 1, 1), (1, 1, 1), smem_bytes, None)
    ours = message(config_of(smem_bytes=smem_bytes), catalogue.SMEM_EXCEEDED)
    assert (sentence is None) == (ours is None)
    assert sentence is None or re.match(re.escape(sentence) + r"(?!\d)", str(ours))


SIZE = st.integers(1, 6)
TRIPLES = st.tuples(SIZE, SIZE, SIZE)
CLUSTERS = st.tuples(st.integers(1, 4), st.integers(1, 2), st.integers(1, 2))


@settings(max_examples=150)
@given(TRIPLES, CLUSTERS, st.booleans())
def test_clusters_that_do_not_divide_the_grid(
    grid: tuple[int, ...], cluster: tuple[int, ...], divides: bool
) -> None:
    if divides:
        grid = tuple(g * c for g, c in zip(grid, cluster, strict=True))
    sentence = mosaic_refusal(grid, (128, 1, 1), cluster, 64, profiler_spec(64))
    ours = message(config_of(grid=grid, block=(128, 1, 1), cluster=cluster), catalogue.CLUSTER_NOT_DIVIDING)
    assert not (divides and sentence)
    assert ours == sentence


def test_clusters_of_four_dimensions() -> None:
    """Mosaic GPU says it in words of its own, Pallas in those that ours has (test_jax_mesh.py)."""
    cluster = (2, 1, 1, 1)
    sentence = mosaic_refusal((2, 1, 1), (128, 1, 1), cluster, 64, profiler_spec(64))
    assert sentence is not None
    assert sentence.startswith("Clusters must be 3D")
    assert message(config_of(cluster=cluster), catalogue.CLUSTER_DIMENSIONS) is not None
