"""The files of the C++ host part, and what it says where it cannot write them. It runs over the shim."""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cuda.scripted import Program, Script, Step
from hypothesis import example, given, settings
from hypothesis import strategies as st

SCRIPT = Script("warp", (2, 1, 1), (32, 1, 1), 8, [Program(i, i, (Step("+", 0, 5),)) for i in range(2)])
TEXT = st.binary(max_size=40) | st.text(max_size=40).map(lambda t: t.encode("utf-8", "surrogatepass"))


@given(TEXT, TEXT, st.integers(1000, 5_000_000) | st.integers(-(2**31), 2**31 - 1))
@example(b"k", b"d", 1_980_005)
@settings(max_examples=60)
def test_the_sidecar_is_what_docs_spec_says(run_script: Path, kernel: bytes, device: bytes, khz: int) -> None:
    """Whatever bytes the names are: quotes, control characters, broken UTF-8."""
    device = device.replace(b"\0", b"")
    script = replace(SCRIPT, kernel=kernel, device=device, khz=khz)
    before = time.time_ns()
    with tempfile.TemporaryDirectory() as folder:
        done = script.run(run_script, Path(folder))
        assert done.returncode == 0, done.stderr
        spec = json.loads((Path(folder) / "out.json").read_text(encoding="utf-8"))
    assert before <= spec.pop("host_time_ns") <= time.time_ns()
    assert spec == script.sidecar_expected()


def test_every_way_in_which_utf_8_can_be_broken(run_script: Path, tmp_path: Path) -> None:
    """Every first byte, with second ones at the edges: overlong, surrogates, beyond the last character."""
    edges = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
    tails = (b"", b"\x80", b"\xbf\xbf", b"\x80\x80\x80")
    kernel = b"".join(
        bytes((first, second)) + t + b"," for first in range(256) for second in edges for t in tails
    )
    script = replace(SCRIPT, kernel=kernel)
    assert script.run(run_script, tmp_path).returncode == 0
    spec = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert spec["kernel"] == script.sidecar_expected()["kernel"]


@pytest.mark.parametrize("n_words", [6, 98, 100, 998, 1000, 16_000])
def test_the_npy_is_byte_for_byte_numpys(run_script: Path, tmp_path: Path, n_words: int) -> None:
    script = Script("warp", (1, 1, 1), (32, 1, 1), n_words, [Program(1, 2, ())])
    assert script.run(run_script, tmp_path).returncode == 0
    words = np.load(tmp_path / "out.npy")
    np.save(tmp_path / "numpy.npy", words)
    assert (tmp_path / "out.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()


@pytest.mark.parametrize(
    ("call", "place"),
    [
        ("cudaGetDevice", "Trace::open: "),
        ("cudaMalloc", "cudaMalloc of 64 bytes for the trace: "),
        ("cudaMemset", "clearing the trace: "),
        ("cudaMemcpy", "copying the trace back: "),
        ("cudaDeviceSynchronize", "clearing the trace: "),
        ("launch", "the launch: "),
        ("kernel", "the kernel: "),
        ("before", "before Trace::open: "),
    ],
)
def test_a_call_that_fails_is_said(run_script: Path, tmp_path: Path, call: str, place: str) -> None:
    """The runner also checks that the memory was given back, and that no error is left behind."""
    done = replace(SCRIPT, environment={"SHIM_FAIL": call}).run(run_script, tmp_path)
    assert (done.returncode, done.stderr) == (1, f"{place}made to fail\n")
    assert [path.name for path in tmp_path.iterdir()] == ["script"]


@pytest.mark.parametrize("call", ["cudaGetDeviceProperties", "cudaDeviceGetAttribute"])
def test_what_the_device_does_not_say_is_left_out(run_script: Path, tmp_path: Path, call: str) -> None:
    assert replace(SCRIPT, environment={"SHIM_FAIL": call}).run(run_script, tmp_path).returncode == 0
    spec = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert "sm_clock_mhz" not in spec
    assert ("device" in spec) is (call == "cudaDeviceGetAttribute")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"words": 4}, "Trace::open: words_per_track 4 is below 6: no event fits"),
        ({"words": 9}, "Trace::open: words_per_track 9 is odd: events are stored as pairs"),
        ({"block": (48, 1, 1)}, "Trace::open: block [48, 1, 1] is not a multiple of 32 threads"),
        ({"grid": (2, 0, 1)}, "Trace::open: grid or block has a size of 0"),
        ({"grid": (2**31, 2**31, 4)}, "Trace::open: the trace is too large"),
    ],
)
def test_a_launch_that_cannot_be_is_refused(
    run_script: Path, tmp_path: Path, change: dict[str, object], said: str
) -> None:
    script = replace(SCRIPT, programs=[], **change)  # type: ignore[arg-type]
    done = script.run(run_script, tmp_path)
    assert (done.returncode, done.stderr) == (1, f"{said}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["script"]


@pytest.mark.parametrize("taken", ["out.npy", "out.json"])
def test_a_name_that_is_a_folder_leaves_nothing(run_script: Path, tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).mkdir()
    done = SCRIPT.run(run_script, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path / taken}: cannot replace: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([taken, "script"])


def test_a_buffer_that_cannot_be_replaced_keeps_its_sidecar(run_script: Path, tmp_path: Path) -> None:
    """A folder stands for a file that may not be replaced; the sidecar had been replaced by then."""
    assert replace(SCRIPT, kernel=b"before").run(run_script, tmp_path).returncode == 0
    before = (tmp_path / "out.json").read_bytes()
    (tmp_path / "out.npy").unlink()
    (tmp_path / "out.npy").mkdir()
    done = SCRIPT.run(run_script, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path / 'out.npy'}: cannot replace: ")
    assert (tmp_path / "out.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "out.npy", "script"]


@pytest.mark.parametrize("name", ["missing/out", "out/", ".npy"])
def test_a_name_that_cannot_be_a_file(run_script: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "script").write_text(SCRIPT.text)
    done = subprocess.run([run_script, "script", name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    said = {"missing/out": "missing/out.npy: cannot create: "}.get(name, f"{name.removesuffix('.npy')}.npy: ")
    assert done.stderr.startswith(said)
    assert [path.name for path in tmp_path.iterdir()] == ["script"]


def test_a_disk_that_is_full_leaves_what_was_there(run_script: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk; the second launch does not fit."""
    small = replace(SCRIPT, kernel=b"before")
    assert small.run(run_script, tmp_path).returncode == 0
    before = {path.name: path.read_bytes() for path in tmp_path.glob("out.*")}
    (tmp_path / "script").write_text(replace(SCRIPT, words=4000).text)
    done = subprocess.run(
        [run_script, tmp_path / "script", tmp_path / "out"],
        capture_output=True,
        text=True,
        restore_signals=False,  # Python ignores the signal of that limit, and so must the program
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"{tmp_path / 'out.npy'}: cannot write: ")
    assert {path.name: path.read_bytes() for path in tmp_path.glob("out.*")} == before
