from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from cli_support import ROOT
from hypothesis import given
from hypothesis import strategies as st
from read.support import FULL, codes, read, refused, refused_file, words, write

from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.layout import Scope, Word2
from mgpu_trace.read.fields import CHECKS
from mgpu_trace.read.specfile import spec_from_dict, spec_from_json
from mgpu_trace.spec import SpecOptions, TraceSpec

SCHEMA = json.loads((ROOT / "docs" / "spec.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
GOOD: dict[str, Any] = {
    "schema": "mgpu-trace/spec",
    "version": 1,
    "grid": [3],
    "block": 256,
    "words_per_track": 16,
}


def buffer(folder: Path, spec: Any = None, name: str = "a.npy") -> Path:
    """A buffer with a sidecar of JSON, or of raw bytes."""
    path = folder / name
    if name.endswith(".npy"):
        np.save(path, words())
    else:
        path.write_bytes(words().tobytes())
    if spec is not None:
        data = spec if isinstance(spec, bytes) else json.dumps(spec).encode()
        path.with_suffix(".json").write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["a.npy", "a.bin", "a.u32", "b.c.npy"])
def test_the_sidecar_is_found(tmp_path: Path, name: str) -> None:
    spec = read(buffer(tmp_path, {**GOOD, "names": ["x"]}, name), SpecOptions()).buffer.spec
    assert spec == TraceSpec(grid=(3, 1, 1), block=(256, 1, 1), words_per_track=16, names=("x",))


def test_flags_win_field_by_field(tmp_path: Path) -> None:
    path = buffer(tmp_path, {**GOOD, "names": ["x"], "kernel": "k", "sm_clock_mhz": 1000})
    options = SpecOptions(grid=(6, 1, 1), block=(128, 1, 1), names=("y",), sm_clock_mhz=1980.0)
    spec = read(path, options).buffer.spec
    assert (spec.grid, spec.names, spec.kernel) == ((6, 1, 1), ("y",), "k")
    assert (spec.sm_clock_mhz, spec.sm_clock_source) == (1980.0, "flag")
    spec = read(path, SpecOptions()).buffer.spec
    assert (spec.sm_clock_mhz, spec.sm_clock_source) == (1000.0, "metadata")


def test_a_flag_replaces_any_word_for_the_size(tmp_path: Path) -> None:
    path = buffer(tmp_path, {"grid": [3], "block": [256], "profile_space": 99})
    assert read(path, SpecOptions(words_per_track=16)).buffer.spec.words_per_track == 16
    path = buffer(tmp_path, {"grid": [3], "block": [256], "entries_per_warpgroup": 99})
    assert read(path, SpecOptions(profile_space=2)).buffer.spec.words_per_track == 16


@pytest.mark.parametrize("value", [[2, 3, 1], [2, 3], [6], 6, 6.0])
def test_dimensions_of_one_to_three_numbers(value: Any) -> None:
    said, _ = spec_from_dict({"grid": value})
    assert len(said["grid"]) == 3
    assert np.prod(said["grid"]) == 6


@pytest.mark.parametrize("nothing", [b"{}", b'{"grid": null, "names": null}', b'{"version": 1}'])
def test_a_sidecar_that_says_nothing(tmp_path: Path, nothing: bytes) -> None:
    assert read(buffer(tmp_path, nothing)).buffer.spec.n_tracks == 6


@pytest.mark.parametrize(
    "trace",
    [
        b'{"traceEvents": [{"ph": "X"',
        b'{"displayTimeUnit": "ns",\n "traceEvents" : []}',
        b'[ {"ph": "X"}]',
    ],
)
def test_a_chrome_trace_beside_the_buffer_is_no_spec(tmp_path: Path, trace: bytes) -> None:
    result = read(buffer(tmp_path, trace))
    assert codes(result) == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b"[]", "object"),
        (b'["a"]', "object"),
        (b"3", "object"),
        (b'{"grid": NaN}', "NaN"),
        (b'{"sm_clock_mhz": 1e999}', "sm_clock_mhz"),
        (b'{"sm_clock_mhz": 1' + b"0" * 400 + b"}", "sm_clock_mhz"),
        (b'{"grid": 1' + b"0" * 5000 + b"}", "JSON"),
        (b'{"version": 1e999}', "version"),
        (b'{"grid": 2, "grid": 3}', "twice"),
        (b'{"a":' * 50_000, "deep"),
        (b'{"kernel": "\xff"}', "UTF-8"),
        (b'{"schema": "mgpu-trace/truth"}', "schema"),
        (b'{"schema": 7}', "schema"),
        (b'{"version": 0}', "version"),
        (b'{"version": true}', "version"),
        (b'{"version": "1"}', "version"),
        (b'{"words_per_track": 16, "profile_space": 4}', "both"),
        (b'{"words_per_track": 16, "entries_per_warpgroup": 16}', "both"),
    ],
)
def test_bad_specs_are_refused_with_the_sidecars_name(tmp_path: Path, text: bytes, word: str) -> None:
    path = buffer(tmp_path, text)
    found = refused(catalogue.SPEC_INVALID, read, path)
    assert found.file == str(path.with_suffix(".json"))
    assert word in found.message
    assert len(found.line()) < 400


@pytest.mark.parametrize(
    ("field", "value"),
    [(f, {"a": 1}) for f in CHECKS]
    + [(f, 1.5) for f in CHECKS if f != "sm_clock_mhz"]
    + [
        ("grid", []),
        ("grid", [1, 1, 1, 1]),
        ("grid", [0]),
        ("grid", [True]),
        ("grid", ["2"]),
        ("block", [-128]),
        ("block", [2**31]),
        ("words_per_track", 3),
        ("profile_space", 0),
        ("scope", "WARP"),
        ("scope", "thread"),
        ("names", "a,b"),
        ("names", ["a", 1]),
        ("word2", "used + 3"),
        ("bounds_checked", 1),
        ("sm_clock_mhz", 0.5),
        ("sm_clock_mhz", "1980"),
        ("sm_clock_mhz", True),
        ("sm_clock_source", "data"),
        ("host_time_ns", -1),
        ("assumed", "x"),
    ],
)
def test_a_wrong_type_names_its_field(field: str, value: Any) -> None:
    found = refused(catalogue.SPEC_INVALID, spec_from_dict, {field: value})
    assert found.message.startswith(f"{field} must be ")
    assert not VALIDATOR.is_valid({field: value})


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = buffer(tmp_path, {**GOOD, "version": 2, "tracks": "sideways"})
    assert refused(catalogue.SPEC_NEWER, read, path).file == str(path.with_suffix(".json"))


@pytest.mark.parametrize(
    ("name", "near"), [("gird", "grid"), ("Block", "block"), ("word_per_track", "words_per_track")]
)
def test_unknown_fields_are_said_with_the_nearest(tmp_path: Path, name: str, near: str) -> None:
    path = buffer(tmp_path, {**GOOD, name: 1})
    (found,) = read(path).diagnostics
    assert found.code is catalogue.SPEC_UNKNOWN_FIELD
    assert f"{name} (did you mean {near}?)" in found.message
    assert found.file == str(path.with_suffix(".json"))


def test_many_unknown_fields_are_one_line() -> None:
    _, (found,) = spec_from_dict({f"\n{i}" + "x" * 999: i for i in range(50)})
    assert found.count == 50
    assert "45 more" in found.message
    assert len(found.line()) < 1000
    assert "\n" not in found.line()


def test_an_unreadable_sidecar(tmp_path: Path) -> None:
    path = buffer(tmp_path)
    path.with_suffix(".json").mkdir()
    found = refused(catalogue.FILE_UNREADABLE, read, path)
    assert found.file == str(path.with_suffix(".json"))


def test_the_sidecar_of_a_json_file_is_not_itself(tmp_path: Path) -> None:
    refused_file(catalogue.NOT_A_BUFFER, write(tmp_path / "a.json", json.dumps(GOOD).encode()), FULL)


texts = st.text(st.characters(), max_size=8)
dims = st.tuples(*[st.integers(1, 2**31 - 1)] * 3)
specs = st.builds(
    TraceSpec,
    grid=dims,
    block=st.tuples(st.integers(1, 8).map(lambda n: 128 * n), st.integers(1, 4), st.just(1)),
    words_per_track=st.integers(4, 2**31 - 1),
    scope=st.sampled_from(Scope),
    names=st.none() | st.lists(texts, min_size=1, max_size=4).map(tuple),
    word2=st.sampled_from(Word2),
    bounds_checked=st.none() | st.booleans(),
    kernel=st.none() | texts,
    device=st.none() | texts,
    jax_version=st.none() | texts,
    sm_clock_mhz=st.none() | st.floats(1, 100_000),
    host_time_ns=st.none() | st.integers(0, 2**63 - 1),
    assumed=st.lists(texts, max_size=2).map(tuple),
)


@given(specs)
def test_the_parser_and_the_schema_take_what_to_dict_writes(spec: TraceSpec) -> None:
    written = json.loads(json.dumps(spec.to_dict()))
    VALIDATOR.validate(written)
    said, found = spec_from_json(json.dumps(spec.to_dict()))
    assert found == ()
    assert TraceSpec(**said) == spec


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 300)
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["warp", "warpgroup", "used", "used+3", "auto", "flag", "metadata", "mgpu-trace/spec", "x"]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=6,
)


@given(specs, st.sampled_from([*CHECKS, "schema", "version"]), values)
def test_the_schema_refuses_what_the_parser_refuses(spec: TraceSpec, field: str, value: Any) -> None:
    """And takes what the parser takes: the two say the same about every field."""
    mutated = {**spec.to_dict(), field: value}
    try:
        spec_from_json(json.dumps(mutated))
        parsed = True
    except MgpuTraceError:
        parsed = False
    assert VALIDATOR.is_valid(json.loads(json.dumps(mutated))) == parsed


def test_the_schema_is_one_and_knows_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == {*CHECKS, "schema", "version"}
    assert not VALIDATOR.is_valid({"gird": [1]})


def test_the_page_names_every_field_and_its_example_is_valid() -> None:
    page = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    for field in (*CHECKS, "schema", "version"):
        assert f"`{field}`" in page, field
    example = page.split("```json\n")[1].split("```")[0]
    VALIDATOR.validate(json.loads(example))
    assert spec_from_json(example)[1] == ()
