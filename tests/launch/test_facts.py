"""What follows from a launch, against counting it out."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mgpu_trace import LaunchConfig, TraceSpec
from mgpu_trace.layout import Scope

LIMIT_BYTES = 4096


def occupied(block: int, scope: Scope, words: int, kernel_bytes: int) -> int:
    """Shared memory of a block, counted byte by byte as it is laid out."""
    end = kernel_bytes
    while end % 8:
        end += 1
    for _ in range(0, block, scope.value):
        end += sum(4 for _ in range(words))
    return end


@given(st.integers(1, 12), st.sampled_from(Scope), st.integers(11, 80), st.integers(0, 1024))
def test_shared_memory(units: int, scope: Scope, words: int, kernel_bytes: int) -> None:
    block = units * scope.value
    assume(block <= 1024)
    config = LaunchConfig(
        block=(block,),
        scope=scope,
        words_per_track=words,
        smem_bytes=kernel_bytes,
        smem_limit_bytes=LIMIT_BYTES,
    )
    total = occupied(block, scope, words, kernel_bytes)
    assert config.facts.smem_total_bytes == total
    assert config.facts.smem_left_bytes == LIMIT_BYTES - total
    assert (config.check().of_code(_smem()) is not None) == (total > LIMIT_BYTES)


@given(st.integers(1, 8), st.sampled_from(Scope), st.integers(0, 4096), st.sampled_from(["0.9.2", "0.10.2"]))
def test_the_most_that_fits_fits_and_more_does_not(units: int, scope: Scope, own: int, jax: str) -> None:
    block = units * scope.value
    base = LaunchConfig(
        block=(block,), scope=scope, smem_bytes=own, smem_limit_bytes=LIMIT_BYTES, jax_version=jax
    )
    words, space = base.facts.most_words_per_track, base.facts.most_profile_space
    assert words is not None
    assert space is not None
    if words:
        assert base.with_(words_per_track=words).check().of_code(_smem()) is None
    assert base.with_(words_per_track=words + 2).check().of_code(_smem()) is not None
    if space:
        assert base.with_(profile_space=space, profile_dir="d").check().of_code(_smem()) is None
    assert base.with_(profile_space=space + 1, profile_dir="d").check().of_code(_smem()) is not None


@given(st.integers(4, 400), st.integers(0, 120))
def test_ranges_fit_when_writing_them_one_by_one_does(words: int, ranges: int) -> None:
    free, written = words - 3, 0
    for _ in range(1 + ranges):  # Init comes first
        for _ in ("enter", "exit"):
            free -= 2
            written += free >= 0
    config = LaunchConfig(words_per_track=words, n_ranges=ranges)
    overflows = config.check().of_code(_code("MGT228"))
    assert (overflows is None) == (free >= 0)
    assert config.with_(words_per_track=config.facts.needed_words).check().of_code(_code("MGT228")) is None
    if overflows is not None:
        assert f"{2 * (1 + ranges) - written} event" in overflows.message


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.integers(1, 32),
    st.sampled_from(Scope),
    st.integers(4, 4096),
)
def test_the_buffer_is_that_of_the_spec(grid: list[int], warps: int, scope: Scope, words: int) -> None:
    block = warps * 32
    assume(block % scope.value == 0)
    padded: Any = (*grid, *(1,) * (3 - len(grid)))
    spec = TraceSpec(grid=padded, block=(block, 1, 1), words_per_track=words, scope=scope)
    for config in (
        LaunchConfig.from_spec(spec),
        LaunchConfig(grid=tuple(grid), block=(block,), words_per_track=words, scope=scope),
    ):
        facts = config.facts
        assert facts.n_blocks == math.prod(grid) == spec.n_blocks
        assert (facts.n_tracks, facts.n_words) == (spec.n_tracks, spec.n_words)
        assert facts.buffer_bytes == 4 * spec.n_words
        assert facts.capacity_events == spec.capacity_events


@pytest.mark.parametrize(
    ("entries", "ranges", "own", "unused"), [(12, 2, 1, 1), (11, 2, 1, 0), (256, 63, 62, 1), (4, 0, 0, 1)]
)
def test_one_range_is_init(entries: int, ranges: int, own: int, unused: int) -> None:
    facts = LaunchConfig(words_per_track=entries).facts
    assert (facts.ranges, facts.own_ranges, facts.unused_words) == (ranges, own, unused)


def test_what_was_not_said_does_not_follow_and_what_was_assumed_is_said() -> None:
    facts = LaunchConfig(block=(128,)).facts
    assert facts.n_tracks is facts.n_words is facts.words_per_track is facts.smem_total_bytes is None
    assert facts.tracks_per_block == 1
    assert len(facts.assumed) == 2
    told = LaunchConfig(block=(128,), arch="sm_90", smem_bytes=0).facts
    assert told.assumed == ()


@pytest.mark.parametrize(
    ("arch", "kib"),
    [("80", 163), ("86", 99), ("89", 99), ("90", 227), ("100", 227), ("103", 227), ("120", 99)],
)
def test_limits_of_the_architectures(arch: str, kib: int) -> None:
    """The table of compute capabilities in NVIDIA's CUDA C++ programming guide."""
    assert LaunchConfig(arch=f"sm_{arch}").facts.smem_limit_bytes == kib * 1024


def _code(code_id: str) -> Any:
    from mgpu_trace.diagnostics import catalogue

    return catalogue.find(code_id)


def _smem() -> Any:
    return _code("MGT223")
