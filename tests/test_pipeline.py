"""The one path, from a file to a trace that says what it is."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

import mgpu_trace
from mgpu_trace.analyse.select import parse_selection
from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.export.output import open_output, write_trace
from mgpu_trace.files import Reserving
from mgpu_trace.synth import SynthConfig, synthesise, write_synthetic


@pytest.fixture
def path(tmp_path):
    out = tmp_path / "made.npy"
    write_synthetic(out, synthesise(SynthConfig(grid=(4, 1, 1)), 3))
    return out


def test_every_public_name_is_there():
    for name in mgpu_trace.__all__:
        assert getattr(mgpu_trace, name) is not None
        # capture is the package, which can be called (tests/capture)
        assert name in ("__version__", "capture") or getattr(mgpu_trace, name).__name__ == name
    with pytest.raises(AttributeError):
        mgpu_trace.nothing  # noqa: B018


def test_load_and_open_launch_give_the_same(path):
    timeline = mgpu_trace.load(path)
    launch = mgpu_trace.open_launch(path)
    assert sum(len(run) for run in launch.runs()) == launch.n_slices == len(timeline.slices) > 0
    assert launch.summary().startswith(f"12 tracks, {launch.n_slices} slices, 0 dropped; SM clock 1980 MHz")
    assert launch.source == str(path)


def test_a_trace_says_where_it_came_from_and_what_was_selected(path, tmp_path):
    launch = mgpu_trace.open_launch(path, overhead=3)
    launch.selection = parse_selection(["sm=0-1", "time=1us:"])
    write_trace(launch, tmp_path / "t.json.gz")
    metadata = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))["metadata"]
    assert metadata["source"] == str(path)
    assert metadata["selection"] == {"sm": [[0, 1]], "time_ns": [[1000.0, None]]}
    assert set(metadata["overhead_removed_cyc"]) <= set(launch.spec.names)
    assert metadata["clock"]["overhead_cyc_per_event"] == 3
    assert [d["code"] for d in metadata["diagnostics"]] == ["MGT509"]


def test_a_timeline_is_written_as_the_launch_is(path, tmp_path):
    write_trace(mgpu_trace.open_launch(path), tmp_path / "launch.json")
    write_trace(mgpu_trace.load(path), tmp_path / "timeline.json")
    launch, timeline = (json.loads((tmp_path / f"{n}.json").read_bytes()) for n in ("launch", "timeline"))
    assert launch["traceEvents"] == timeline["traceEvents"]


def test_equal_traces_are_equal_files(path, tmp_path):
    for name in ("a.json.gz", "b.json.gz"):
        write_trace(mgpu_trace.open_launch(path), tmp_path / name)
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


def _write_half(out):
    with open_output(out) as sink:
        sink.write(b"half")
        raise RuntimeError


def test_an_output_appears_whole_or_not_at_all(tmp_path):
    out = tmp_path / "t.json"
    out.write_text("before")
    out.chmod(0o640)
    with pytest.raises(RuntimeError):
        _write_half(out)
    assert out.read_text() == "before"
    with open_output(out) as sink:
        sink.write(b"whole")
    assert out.read_text() == "whole"
    assert out.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["t.json"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("missing/t.json", catalogue.OUTPUT_FOLDER),
        ("t.xyz", catalogue.UNKNOWN_FORMAT),
        ("nosuffix", catalogue.UNKNOWN_FORMAT),
        ("folder.json", catalogue.CANNOT_WRITE),
    ],
)
def test_outputs_that_cannot_be(path, tmp_path, name, code):
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(MgpuTraceError) as caught:
        write_trace(mgpu_trace.open_launch(path), tmp_path / name)
    assert caught.value.diagnostic.code is code
    assert not list(tmp_path.glob("**/*.part"))


def test_a_full_disk_is_one_line():
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(MgpuTraceError, match="No space left") as caught, open_output("/dev/full") as sink:
        sink.write(b"x")
    assert caught.value.diagnostic.code is catalogue.CANNOT_WRITE


@pytest.mark.parametrize("refused_after", [None, 0, 1])
def test_room_that_is_reserved_and_not_used_is_given_back(tmp_path, monkeypatch, refused_after):
    """With and without a file system that reserves; the file is what was written, to the byte."""
    monkeypatch.setattr(Reserving, "_FIRST_BYTES", 1000)
    reserve, calls = os.posix_fallocate, []

    def sometimes(*args):
        calls.append(args)
        if refused_after is not None and len(calls) > refused_after:
            raise OSError(28, "No space left on device")
        reserve(*args)

    monkeypatch.setattr("os.posix_fallocate", sometimes)
    parts = [bytes([i]) * (700 * i) for i in range(1, 9)]
    with open_output(tmp_path / "t.json") as sink:
        for part in parts:
            sink.write(memoryview(part))
    assert (tmp_path / "t.json").read_bytes() == b"".join(parts)
    assert calls
    assert len(calls) == {None: len(calls), 0: 1, 1: 2}[refused_after]
