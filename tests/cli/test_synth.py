"""The flags of synth reach the launch; the launch itself is tested in tests/synth."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from cli_support import invoke


def test_it_writes_buffer_spec_and_truth(tmp_path: Path) -> None:
    result = invoke(
        "synth", "-o", tmp_path / "m.npy", "--grid", "2,3", "--entries", 200, "--sm-clock-mhz", 1755
    )
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert sorted(os.listdir(tmp_path)) == ["m.json", "m.npy", "m.truth.json"]
    spec = json.loads((tmp_path / "m.json").read_text())
    assert (spec["grid"], spec["words_per_track"], spec["sm_clock_mhz"]) == ([2, 3, 1], 200, 1755.0)
    assert np.load(tmp_path / "m.npy").size == 6 * 3 * 200
    assert json.loads((tmp_path / "m.truth.json").read_text())["schema"] == "mgpu-trace/truth"


def test_equal_seeds_make_equal_files(tmp_path: Path) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        invoke("synth", "-o", tmp_path / f"{name}.npy", "--seed", seed)
    a, b, c = ((tmp_path / f"{name}.npy").read_bytes() for name in "abc")
    assert a == b != c


def test_roles_faults_and_the_rest(tmp_path: Path) -> None:
    args = ["--role", "load=wait:200,copy:400", "--role", "mma=wgmma", "--iterations", 3, "--sms", 2]
    more = ["--word2", "used+3", "--hide-clock", "--step-ns", 1024, "--fault", "clock-step-back@4"]
    result = invoke("synth", "-o", tmp_path / "m.npz", "--grid", 4, "--block", 256, *args, *more)
    assert result.exit_code == 0, result.stderr
    said = json.loads(invoke("info", "--json", tmp_path / "m.npz").stdout)
    assert {n["name"]: n["n_slices"] for n in said["names"]} == {
        "Init": 8,
        "wait": 12,
        "copy": 12,
        "wgmma": 12,
    }
    assert "sm_clock_mhz" not in said["spec"]
    assert len(said["tracks"]["sms"]) == 2
    found = {d["code"]: (d["block"], d["unit"]) for d in said["diagnostics"]}
    assert "MGT309" in found
    assert found["MGT501"] == ([2, 0, 0], 0)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--fault", "nonsense"], "overfull-track"),
        (["--fault", "odd-count@999"], "no track 999"),
        (["--role", "load"], "load=wait:200,copy:400"),
        (["--role", "load=wait:x"], "load=wait:200,copy:400"),
        (["--sms", "0"], "1 to 1024"),
        (["--start-ns", "9" * 20], "2**62"),
    ],
)
def test_a_refusal_says_what_is_taken(args: list[str], says: str, tmp_path: Path) -> None:
    result = invoke("synth", "-o", tmp_path / "m.npy", *args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("m.bin", [], "MGT603"),
        ("no/m.npy", [], "MGT601"),
        ("m.npy", ["--block", "100"], "MGT207"),
    ],
)
def test_an_error_leaves_nothing_behind(name: str, args: list[str], code: str, tmp_path: Path) -> None:
    result = invoke("synth", "-o", tmp_path / name, *args)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error[{code}]: ")
    assert os.listdir(tmp_path) == []
