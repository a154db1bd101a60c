"""Every byte is hostile: whatever the files hold, only an MgpuTraceError comes out, as one line."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from read.launches import make
from read.support import FULL, npy, words

from mgpu_trace.diagnostics import MgpuTraceError
from mgpu_trace.read import read_trace, write_npz
from mgpu_trace.read.names import parse_names
from mgpu_trace.spec import SpecOptions, TraceSpec

relaxed = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
OPTIONS = st.sampled_from(
    [FULL, SpecOptions(), SpecOptions(words_per_track=16), SpecOptions(profile_space=2)]
)
SUFFIXES = st.sampled_from(["npy", "npz", "bin", "u32", "json", ""])
SPEC = TraceSpec(grid=(3, 1, 1), block=(256, 1, 1), words_per_track=16, names=("a", "b"))


def attempt(path: Path, options: SpecOptions) -> None:
    try:
        result = read_trace(path, options)
    except MgpuTraceError as error:
        line = str(error)
        assert line.startswith("error[MGT")
        assert line.isprintable()
        assert len(line) < 2000
        assert error.diagnostic.file in (str(path), str(path.with_suffix(".json")))  # noqa: PT017
    else:
        spec = result.buffer.spec
        assert result.buffer.words.shape == (spec.n_tracks, spec.words_per_track)
        assert result.buffer.words.dtype.str[1:] == "u4"
        for found in result.diagnostics:
            assert found.line().isprintable()


@st.composite
def mutated(draw: Any, whole: bytes) -> bytes:
    """``whole`` with bytes changed, cut or inserted."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data) - 1)) if data else 0
        kind = draw(st.integers(0, 3))
        if kind == 0 and data:
            data[at] = draw(st.integers(0, 255))
        elif kind == 1:
            data[at:at] = draw(st.binary(max_size=8))
        elif kind == 2:
            del data[at : at + draw(st.integers(1, 12))]
        elif kind == 3 and data:
            data[at : at + 4] = draw(st.sampled_from([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff"]))
    return bytes(data)


def containers() -> dict[str, bytes]:
    out = io.BytesIO()
    np.savez_compressed(out, words=words(), spec=np.array(json.dumps(SPEC.to_dict())))
    return {
        "npy": npy(words()),
        "npy-3d": npy(np.asfortranarray(words().reshape(3, 2, 16).astype(">i8"))),
        "npz": out.getvalue(),
    }


@relaxed
@given(
    data=st.binary(max_size=400),
    suffix=SUFFIXES,
    options=OPTIONS,
)
def test_random_bytes(tmp_path: Path, data: bytes, suffix: str, options: SpecOptions) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(data)
    attempt(path, options)


@pytest.mark.parametrize("kind", containers())
@relaxed
@given(data=st.data(), options=OPTIONS)
def test_mutated_containers(tmp_path: Path, kind: str, data: Any, options: SpecOptions) -> None:
    path = tmp_path / f"a.{kind[:3]}"
    path.write_bytes(data.draw(mutated(containers()[kind])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attempt(path, options)


@relaxed
@given(data=st.data(), options=OPTIONS)
def test_our_container_mutated(tmp_path: Path, data: Any, options: SpecOptions) -> None:
    write_npz(tmp_path / "whole.npz", words(), SPEC)
    path = tmp_path / "a.npz"
    path.write_bytes(data.draw(mutated((tmp_path / "whole.npz").read_bytes())))
    attempt(path, options)


@relaxed
@given(data=st.data(), options=OPTIONS)
def test_mutated_sidecars(tmp_path: Path, data: Any, options: SpecOptions) -> None:
    path = tmp_path / "a.npy"
    np.save(path, words())
    text = json.dumps(SPEC.to_dict()).encode()
    path.with_suffix(".json").write_bytes(data.draw(mutated(text) | st.binary(max_size=60)))
    attempt(path, options)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=8,
)
fields = st.sampled_from([*sorted(SPEC.to_dict()), "profile_space", "entries_per_warpgroup", "assumed"])


@relaxed
@given(given_=st.dictionaries(fields, json_values | st.integers(1, 2**40), max_size=6), options=OPTIONS)
def test_sidecars_of_any_json(tmp_path: Path, given_: dict[str, Any], options: SpecOptions) -> None:
    path = tmp_path / "a.npy"
    np.save(path, words())
    path.with_suffix(".json").write_text(json.dumps(given_), encoding="utf-8")
    attempt(path, options)


@relaxed
@given(seed=st.integers(0, 10_000), data=st.data())
def test_mutated_launches_are_inferred_or_refused(tmp_path: Path, seed: int, data: Any) -> None:
    made = make(seed, max_tracks=12, max_words=40)
    path = tmp_path / "a.u32"
    path.write_bytes(data.draw(mutated(made.words.tobytes())))
    attempt(path, SpecOptions())


@relaxed
@given(data=st.binary(max_size=60))
def test_names_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "names"
    path.write_bytes(data)
    try:
        names = parse_names(str(path))
    except MgpuTraceError as error:
        assert str(error).startswith("error[MGT208]")  # noqa: PT017
        assert str(error).isprintable()  # noqa: PT017
    else:
        assert names
        assert all(isinstance(name, str) for name in names)


@relaxed
@given(text=st.text(st.characters()))
def test_names_texts(text: str) -> None:
    try:
        names = parse_names(text)
    except MgpuTraceError as error:
        assert str(error).isprintable()  # noqa: PT017
    else:
        assert ",".join(names) == text
