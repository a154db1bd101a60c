from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from read.support import read, refused, refused_file, words

from mgpu_trace.diagnostics import catalogue
from mgpu_trace.layout import Scope, Word2, jax_release
from mgpu_trace.read.fields import merge
from mgpu_trace.read.resolve import Size, resolve, word2_of, words_per_profile_space
from mgpu_trace.spec import SpecOptions, TraceSpec


def solved(n_words: int, **said: Any) -> tuple[TraceSpec, list[str]]:
    spec, found = resolve(merge({}, SpecOptions(**said)), Size(n_words))
    return spec, [d.code.id for d in found]


def stopped(code: Any, n_words: int, **said: Any) -> str:
    found = refused(code, lambda: resolve(merge({}, SpecOptions(**said)), Size(n_words)))
    return f"{found.message}; {found.hint}"


@pytest.mark.parametrize(
    ("version", "word2", "factor"),
    [
        ("0.4.31", Word2.USED_PLUS_HEADER, 8),
        ("0.7.2", Word2.USED_PLUS_HEADER, 8),
        ("0.8", Word2.USED, 8),
        ("0.8.0", Word2.USED, 8),
        ("0.9.2", Word2.USED, 8),
        ("0.10.0", Word2.USED, 4),
        ("0.12.1", Word2.USED, 4),
        ("1.0", Word2.USED, 4),
        ("0.12.1+cuda13", Word2.USED, 4),
        ("0.8.0.dev20250930", Word2.AUTO, None),
        ("0.10.0rc1", Word2.AUTO, None),
        ("unknown", Word2.AUTO, None),
        ("", Word2.AUTO, None),
        ("9" * 5000, Word2.AUTO, None),
        ("\u0660.\u0667.\u0662", Word2.AUTO, None),
        (None, Word2.AUTO, None),
    ],
)
def test_what_a_jax_version_decides(version: str | None, word2: Word2, factor: int | None) -> None:
    assert word2_of(version) is word2
    assert words_per_profile_space(version) == factor
    assert (jax_release(version) is None) == (factor is None)
    spec, _ = solved(48, words_per_track=16, jax_version=version)
    assert spec.word2 is word2


def test_what_is_said_of_word2_wins_over_the_version() -> None:
    spec, _ = solved(48, words_per_track=16, jax_version="0.7.2", word2=Word2.USED)
    assert spec.word2 is Word2.USED
    spec, _ = solved(48, words_per_track=16, jax_version="0.7.2", word2=Word2.AUTO)
    assert spec.word2 is Word2.USED_PLUS_HEADER


def test_grid_and_block_give_the_words() -> None:
    spec, _ = solved(2 * 3 * 64, grid=(2, 1, 1), block=(384, 1, 1))
    assert spec.words_per_track == 64
    spec, _ = solved(2 * 12 * 17, grid=(2, 1, 1), block=(384, 1, 1), scope=Scope.WARP)
    assert spec.words_per_track == 17


@pytest.mark.parametrize("n_words", [2 * 3 * 64 + 1, 6 * 3, 5])
def test_words_that_the_tracks_cannot_share(n_words: int) -> None:
    text = stopped(catalogue.WRONG_SIZE, n_words, grid=(2, 1, 1), block=(384, 1, 1))
    assert "6 tracks" in text
    assert "multiple of 6" in text


def test_words_alone() -> None:
    spec, _ = solved(6 * 64, words_per_track=64)
    assert (spec.grid, spec.block) == ((6, 1, 1), (128, 1, 1))
    assert len(spec.assumed) == 1
    spec, _ = solved(6 * 64, words_per_track=64, scope=Scope.WARP)
    assert (spec.grid, spec.block) == ((6, 1, 1), (32, 1, 1))
    text = stopped(catalogue.WRONG_SIZE, 6 * 64 + 1, words_per_track=64)
    assert "384 or 448" in text


def test_words_and_one_of_grid_and_block() -> None:
    spec, _ = solved(6 * 64, words_per_track=64, grid=(2, 1, 1))
    assert (spec.n_blocks, spec.tracks_per_block) == (2, 3)
    assert "from the size" in spec.assumed[0]
    spec, _ = solved(6 * 64, words_per_track=64, block=(16, 16, 1))
    assert (spec.grid, spec.block) == ((3, 1, 1), (16, 16, 1))
    assert "from the size" in spec.assumed[0]
    stopped(catalogue.WRONG_SIZE, 6 * 64, words_per_track=64, grid=(4, 1, 1))
    stopped(catalogue.WRONG_SIZE, 6 * 64, words_per_track=64, grid=(7, 1, 1))
    stopped(catalogue.WRONG_SIZE, 6 * 64, words_per_track=64, block=(512, 1, 1))


def test_too_little_says_what_is_missing() -> None:
    text = stopped(catalogue.SPEC_INCOMPLETE, 384, grid=(2, 1, 1))
    assert "--block" in text
    assert "--entries" in text
    text = stopped(catalogue.SPEC_INCOMPLETE, 384, block=(128, 1, 1))
    assert "--grid" in text
    assert "--entries" in text


@pytest.mark.parametrize(("n_words", "words_"), [(512, 256), (256, 128)])
def test_profile_space_by_the_size(n_words: int, words_: int) -> None:
    spec, found = solved(n_words, profile_space=32, grid=(2, 1, 1), block=(128, 1, 1))
    assert spec.words_per_track == words_
    assert found == ["MGT212"]


def test_profile_space_that_fits_neither_lists_both() -> None:
    text = stopped(catalogue.WRONG_SIZE, 300, profile_space=32, grid=(2, 1, 1), block=(128, 1, 1))
    assert "128 words" in text
    assert "256 (before)" in text


def test_profile_space_by_the_version() -> None:
    said: dict[str, Any] = {"profile_space": 32, "grid": (2, 1, 1), "block": (128, 1, 1)}
    spec, found = solved(512, jax_version="0.9.2", **said)
    assert (spec.words_per_track, found) == (256, [])
    spec, found = solved(256, jax_version="0.10.0", **said)
    assert (spec.words_per_track, found) == (128, [])


def test_profile_space_with_less(tmp_path: Any) -> None:
    spec, found = solved(6 * 36, profile_space=9, block=(256, 1, 1))
    assert (spec.words_per_track, spec.n_blocks, found) == (36, 3, ["MGT212"])
    spec, found = solved(5 * 36, profile_space=9)
    assert (spec.words_per_track, found) == (36, ["MGT212"])
    stopped(catalogue.SPEC_INCOMPLETE, 6 * 72, profile_space=9)
    stopped(catalogue.WRONG_SIZE, 6 * 36 + 1, profile_space=9)
    # A version says the factor, and then the size must follow.
    np.save(tmp_path / "a.npy", words())
    options = SpecOptions(profile_space=2, grid=(3, 1, 1), block=(256, 1, 1), jax_version="0.10.0")
    found_ = refused_file(catalogue.WRONG_SIZE, tmp_path / "a.npy", options)
    assert "--entries 16" in found_.hint


@pytest.mark.parametrize(
    ("block", "scope", "units"),
    [
        ((96, 1, 1), Scope.WARPGROUP, None),
        ((96, 1, 1), Scope.WARP, 3),
        ((64, 2, 1), Scope.WARPGROUP, 1),
        ((128, 1, 1), Scope.WARP, 4),
        ((33, 1, 1), Scope.WARP, None),
    ],
)
@pytest.mark.parametrize("with_words", [True, False])
def test_blocks_are_whole_units(block: Any, scope: Scope, units: int | None, with_words: bool) -> None:
    said: dict[str, Any] = {"grid": (2, 1, 1), "block": block, "scope": scope}
    if with_words:
        said["words_per_track"] = 16
    if units is None:
        text = stopped(catalogue.BLOCK_NOT_MULTIPLE, 96, **said)
        assert f"Block size is not a multiple of {scope.value}" in text
        if block == (96, 1, 1):
            assert "--scope warp" in text
    else:
        assert solved(2 * units * 16, **said)[0].tracks_per_block == units


@pytest.mark.parametrize("with_words", [{}, {"words_per_track": 16}, {"profile_space": 4}])
def test_huge_grids_allocate_nothing(tmp_path: Any, with_words: dict[str, int]) -> None:
    np.save(tmp_path / "a.npy", words())
    options = SpecOptions(grid=(2**20, 2**20, 1), block=(128, 1, 1), **with_words)  # type: ignore[arg-type]
    found = refused_file(catalogue.WRONG_SIZE, tmp_path / "a.npy", options)
    if "words_per_track" in with_words:
        assert str(2**44) in found.message


@pytest.mark.parametrize(
    "options",
    [
        SpecOptions(grid=(0, 1, 1)),
        SpecOptions(grid=(2**31, 1, 1)),
        SpecOptions(block=(128, -1, 1)),
        SpecOptions(words_per_track=0),
        SpecOptions(words_per_track=-4),
        SpecOptions(profile_space=0),
        SpecOptions(words_per_track=16, profile_space=4),
        SpecOptions(sm_clock_mhz=float("nan")),
        SpecOptions(sm_clock_mhz=0.0),
    ],
)
def test_flags_are_checked_as_fields_are(tmp_path: Any, options: SpecOptions) -> None:
    np.save(tmp_path / "a.npy", words())
    refused_file(catalogue.SPEC_INVALID, tmp_path / "a.npy", options)


def test_a_full_spec_of_another_size_says_what_fits(tmp_path: Any) -> None:
    np.save(tmp_path / "a.npy", words())
    found = refused_file(
        catalogue.WRONG_SIZE,
        tmp_path / "a.npy",
        SpecOptions(grid=(2, 1, 1), block=(256, 1, 1), words_per_track=16),
    )
    assert "96 words" in found.message
    assert "--entries 24" in found.hint
    assert "--grid 3" in found.hint


def test_warp_scope_of_the_same_words(tmp_path: Any) -> None:
    np.save(tmp_path / "a.npy", words(4, 16))
    spec = read(
        tmp_path / "a.npy",
        SpecOptions(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=16, scope=Scope.WARP),
    ).buffer.spec
    assert spec.n_tracks == 4
