"""Traces are known by their bytes, and what the viewer would not open is refused."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from cli_support import FIXTURES
from hypothesis import assume, given
from hypothesis import strategies as st
from perfetto_engine import load_trace, needs_engine
from view.opened import GEMM, JSON, packets

import mgpu_trace
from mgpu_trace import MgpuTraceError
from mgpu_trace.view.made import trace_suffix
from mgpu_trace.view.page import page_name
from mgpu_trace.view.whole import NotWhole, check_whole


def suffix_of(path: Path, content: bytes) -> str | None:
    path.write_bytes(content)
    with open(path, "rb", buffering=0) as file:
        return trace_suffix(file, str(path))


TRACES = {
    "object": (JSON, ".json"),
    "indented": (json.dumps(json.loads(JSON), indent=2).encode(), ".json"),
    "other fields first": (b'{"schemaVersion": 1, "x": [' + b"1," * 30_000 + b"1]," + JSON[1:], ".json"),
    "array": (b'[{"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"a"}]', ".json"),
    "array that is cut": (b' [\n {"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"a"},\n {"ph"', ".json"),
    "with more behind it": (JSON + b"}]\n", ".json"),
    "with room behind it": (JSON + bytes(100), ".json"),
    "with brackets in a name": (JSON.replace(b'"a"', rb'"\"]}]}\\ "'), ".json"),
    "packets": (packets(), ".pftrace"),
    "few packets": (packets(2), ".pftrace"),
    "large packets": (packets(3, "S" * 900_000), ".pftrace"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("key", TRACES)
@pytest.mark.parametrize("name", ["trace", "trace.npy", "trace.json", "trace.bin"])
def test_traces_by_their_bytes(key: str, packed: bool, name: str, tmp_path: Path) -> None:
    content, suffix = TRACES[key]
    if not packed:
        assert suffix_of(tmp_path / name, content) == suffix
    elif name != "trace.bin":  # raw words may be anything
        assert suffix_of(tmp_path / name, gzip.compress(content)) == f"{suffix}.gz"


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_what_we_write_ourselves(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    mgpu_trace.write_trace(mgpu_trace.load(GEMM), path)
    assert suffix_of(tmp_path / "copy", path.read_bytes()) == suffix


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("golden/*.npy")), ids=lambda p: p.stem)
def test_buffers_are_none(path: Path, tmp_path: Path) -> None:
    assert suffix_of(tmp_path / "copy.npy", path.read_bytes()) is None
    words = np.load(path).reshape(-1)
    for first in (0x0A, 0x7B, 0x5B):  # the first byte of a trace
        words[0] = words[0] & ~np.uint32(0xFF) | np.uint32(first)
        assert suffix_of(tmp_path / "copy.bin", words.tobytes()) is None


def test_a_spec_is_none(tmp_path: Path) -> None:
    assert suffix_of(tmp_path / "gemm.json", GEMM.with_suffix(".json").read_bytes()) is None


REFUSED = {
    "cut.json": JSON[:-5],
    "cut-before-its-end.json": JSON[:-2],
    "cut-after-an-event.json": JSON[:-3],
    "cut-after-metadata.json": JSON[:-2] + b',"metadata":{"a":{}}\n',
    "cut-in-a-name.json": JSON.replace(b'"a"}]}', b'"]}]}'),
    "cut-after-an-event.json.gz": gzip.compress(JSON[:-3]),
    "cut.pftrace.gz": gzip.compress(packets())[:-1],
    "cut-array.json.gz": gzip.compress(JSON[15:-1])[:-9],
    "checksum.json.gz": gzip.compress(JSON)[:-8] + bytes(8),
    "more.json.gz": gzip.compress(JSON) + b"more",
    "room.json.gz": gzip.compress(JSON) + bytes(100),
    "second-cut.json.gz": gzip.compress(JSON) + gzip.compress(JSON)[:-4],
    "empty.json": b"",
    "empty.pftrace": b"",
    "cut.json.gz": gzip.compress(b"nothing"),
    "damaged.json.gz": gzip.compress(JSON)[:5] + b"\xff" * 40,
    "buffer.npy.gz": gzip.compress(GEMM.read_bytes()),
    "other.json": b'{"a": 1}',
    "empty-object.json": b"{}",
    "bom.json": b"\xef\xbb\xbf" + JSON,
    "text.pftrace": b"this is no trace\n",
    "zeros.pftrace": bytes(1000),
    "almost.pftrace": packets(10)[:-1],
    "lengths.pftrace": b"\x0a" + b"\xff" * 30,
    "longer.pftrace": b"\x0a\x7f",
    "words.perfetto-trace": np.arange(10, 400, dtype="<u4").tobytes(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_only_called_a_trace_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(MgpuTraceError, match=f"MGT612.*{re.escape(name)}"):
        suffix_of(tmp_path / name, REFUSED[name])


ENDS = [
    "with more behind it", "with room behind it", "with brackets in a name", "array that is cut",
    "cut-before-its-end.json", "cut-after-an-event.json", "cut-after-metadata.json", "cut-in-a-name.json",
    "cut-after-an-event.json.gz", "cut.pftrace.gz", "cut-array.json.gz", "checksum.json.gz", "more.json.gz",
    "room.json.gz", "second-cut.json.gz",
]  # fmt: skip


@needs_engine
@pytest.mark.parametrize("name", ENDS)
def test_the_engine_refuses_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(TRACES[name][0] if name in TRACES else REFUSED[name])
    assert bool(load_trace(path).errors) == (name in REFUSED)


values = st.recursive(
    st.none() | st.integers() | st.text('\\"{}[]a', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('\\"{}[]a', max_size=3), inner),
)


@given(st.dictionaries(st.text("ab{"), values), st.data(), st.integers(1, 9), st.booleans())
def test_an_object_ends_where_json_says(
    value: dict[str, object], data: st.DataObject, chunk_bytes: int, is_packed: bool
) -> None:
    """Cut anywhere, or with anything behind it, and read in chunks of any size."""
    text = json.dumps(value).encode()
    text = text[: data.draw(st.integers(1, len(text)))] + data.draw(st.sampled_from([b"", b" ", b"{", b"\\"]))
    try:
        json.JSONDecoder().raw_decode(text.decode())
        is_whole = True
    except json.JSONDecodeError:
        is_whole = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mgpu_trace.view.whole._CHUNK_BYTES", chunk_bytes)
        try:
            file = io.BytesIO(gzip.compress(text) if is_packed else text)
            check_whole(file, is_packed=is_packed, is_object=True)
        except NotWhole:
            assert not is_whole
        else:
            assert is_whole


@given(st.binary(max_size=300))
def test_what_is_taken_for_packets_is_a_row_of_them(tail: bytes) -> None:
    """Whatever is taken for a row of packets is one to its end, or for as many as are looked at."""
    content = b"\x0a" + tail
    assume(not tail.lstrip().startswith((b"{", b"[")))  # a line feed before JSON
    if trace_suffix(io.BytesIO(content), "x") == ".pftrace":
        at = n = 0
        while at < len(content) and n < 64:
            n += 1
            assert content[at] == 0x0A
            length = shift = 0
            while True:
                at += 1
                length |= (content[at] & 0x7F) << shift
                shift += 7
                if content[at] < 0x80:
                    break
            at += 1 + length
        assert at == len(content) or (n == 64 and at < len(content))


@given(st.text(min_size=1, max_size=200), st.sampled_from([".json", ".trace.json.gz", ".pftrace"]))
def test_names_need_no_quoting_and_differ(name: str, suffix: str) -> None:
    first = page_name(name, suffix)
    second = page_name(name, suffix, [first])
    third = page_name(name, suffix, [first, second])
    assert len({first, second, third}) == 3
    for made in (first, second, third):
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,110}", made)
        assert made.endswith(suffix)


@pytest.mark.parametrize(
    ("file", "suffix", "name"),
    [
        ("traces/gemm-p0.npz", ".trace.json.gz", "gemm-p0.trace.json.gz"),
        ("/tmp/gemm.trace.json.gz", ".json.gz", "gemm.trace.json.gz"),
        ("a.perfetto-trace", ".pftrace", "a.pftrace"),
        ("-", ".json", "stdin.json"),
        ("Ünïcode name\n.npy", ".trace.json.gz", "n_code_name.trace.json.gz"),
        ("...", ".json", "trace.json"),
    ],
)
def test_names_tell_which_file_it_was(file: str, suffix: str, name: str) -> None:
    assert page_name(file, suffix) == name
