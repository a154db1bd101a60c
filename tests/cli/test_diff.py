"""``mgpu-trace diff`` as people and programs see it."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from cli_support import FIXTURES, command, environment, invoke, is_one_error, process
from documented import schema

import mgpu_trace
from mgpu_trace.synth import SynthConfig, synthesise

GEMM = FIXTURES / "golden" / "hopper_gemm.npy"


def write(path: Path, seed: int, **config: Any) -> Path:
    made = synthesise(SynthConfig(**config), seed)
    np.save(path, made.words.reshape(-1))
    path.with_suffix(".json").write_text(json.dumps(made.spec.to_dict()))
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    (tmp_path / "old").mkdir()
    return write(tmp_path / "old" / "1.npy", 1)


@pytest.fixture
def new(tmp_path: Path) -> Path:
    (tmp_path / "new").mkdir()
    return write(tmp_path / "new" / "1.npy", 2)


def answered(*args: object, status: int = 0) -> Any:
    result = invoke("diff", *args, "--json")
    assert result.exit_code == status, result.stderr
    found = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(name))
    jsonschema.validate(found, schema("mgpu-trace/diff"))
    return found


def test_a_table_in_a_pipe(old: Path, new: Path) -> None:
    result = invoke("diff", old, new)
    assert result.exit_code == 0
    assert result.stderr == ""
    was, now, noise, head, *rows = result.stdout.splitlines()
    assert was == f"old  {old}: {mgpu_trace.load(old).clock.describe()}"
    assert now.startswith(f"new  {new}: SM clock 1980 MHz")
    assert noise.startswith("95% intervals from 8 and 8 blocks, the same ones compared; noise from launch")
    assert head.split() == ["region", "mean_old_ns", "mean_new_ns", "change", "interval", "effect", "verdict"]
    table = mgpu_trace.diff(mgpu_trace.load(old), mgpu_trace.load(new)).rows()
    assert [line.split()[0] for line in rows] == [row["region"] for row in table]
    for line, row in zip(rows[1:], table[1:], strict=True):
        _, before, after, change, low, to, high, effect, verdict = line.split()
        cells = [float(cell.rstrip("%")) for cell in (before, after, change, low, high, effect)]
        shares = [100 * row[name] for name in ("mean_change", "mean_low", "mean_high", "effect")]
        assert cells == pytest.approx([row["mean_old_ns"], row["mean_new_ns"], *shares], abs=0.051, rel=0)
        assert (to, verdict) == ("to", row["verdict"])


def test_counts_are_shown_where_they_changed(tmp_path: Path, old: Path) -> None:
    more = write(tmp_path / "more.npy", 3, n_iterations=6)
    result = invoke("diff", old, more, "--fail-over", "5%")
    head = result.stdout.splitlines()[3]
    assert head.split()[:3] == ["region", "count_old", "count_new"]
    assert "noise, total slower" in result.stdout
    assert result.exit_code == 1
    assert is_one_error(result.stderr, "MGT652")


@pytest.mark.parametrize(
    "args", [(), ("--unit", "cyc"), ("--seed", "3", "--confidence", "80", "--resamples", "200")]
)
def test_json_and_csv_are_the_table_of_the_library(args: tuple[str, ...], old: Path, new: Path) -> None:
    found = answered(old, new, *args)
    terms: dict[str, Any] = {"seed": 3, "confidence": 0.8, "resamples": 200} if "--seed" in args else {}
    unit: Any = "cyc" if "cyc" in args else "auto"
    table = mgpu_trace.diff(mgpu_trace.open_launch(old), mgpu_trace.open_launch(new), unit=unit, **terms)
    assert found["rows"] == table.rows()
    assert {name: found[name] for name in table.facts} == json.loads(json.dumps(table.facts))
    assert [one["file"] for one in (*found["old"], *found["new"])] == [str(old), str(new)]
    rows = list(csv.DictReader(io.StringIO(invoke("diff", old, new, *args, "--csv").stdout)))
    assert rows == [{k: "" if v is None else str(v) for k, v in row.items()} for row in table.rows()]


def test_several_captures_in_every_way_to_say_them(old: Path, new: Path) -> None:
    a, b = write(old.with_name("2.npy"), 3), write(new.with_name("2.npy"), 4)
    ways = [
        ("--old", old, a, "--new", new, b),
        ("--new", new, b, "--old", old, a),
        ("--old", old, "--new", new, "--old", a, "--new", b),
        ("--old", old, a, "--unit", "ns", "--new", new, b),
        (old.parent, new.parent),
        ("--old", old.parent, "--new", new.parent),
        ("--old", old.parent, "--new", new, b),
    ]
    found = [answered(*way) for way in ways]
    assert all(one["rows"] == found[0]["rows"] for one in found)
    assert found[0]["resampled"] == "launches"
    assert [one["file"] for one in found[0]["old"]] == [str(old), str(a)]
    text = invoke("diff", old.parent, new.parent).stdout.splitlines()
    assert text[0].startswith("old  2 launches, 1.npy ...: SM clock")
    assert text[2] == "95% intervals from 2 and 2 launches"


def test_one_side_from_standard_input(old: Path, new: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.npz"
    assert invoke("synth", "-o", packed, "--grid", 8).exit_code == 0
    with packed.open("rb") as buffer:
        done = process("diff", "--old", "-", "--new", new, "--csv", stdin=buffer)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == invoke("diff", packed, new, "--csv").stdout


def test_a_launch_against_itself_does_not_fail() -> None:
    found = answered(GEMM, GEMM, "--fail-over", "0%")
    assert found["fail_over"] == 0
    assert {row["verdict"] for row in found["rows"][1:]} == {"same"}
    assert {row["mean_high"] for row in found["rows"][1:]} == {0}


def test_a_selection_is_of_both(old: Path, new: Path) -> None:
    found = answered(old, new, "--select", "name=wgmma", "--select", "unit=1")
    assert [row["region"] for row in found["rows"]] == ["(launch)", "(track)", "wgmma"]
    assert found["rows"][2]["count_old"] == found["rows"][2]["count_new"] == 32


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "give two FILEs: OLD NEW"),
        ([GEMM], "give two FILEs: OLD NEW"),
        ([GEMM, GEMM, GEMM], "--old FILE... --new FILE..."),
        (["--old", GEMM], "give the other side as well: --new FILE..."),
        (["--new", GEMM, GEMM], "give the other side as well: --old FILE..."),
        (["--old", "--new", GEMM], "--old takes at least one FILE"),
        (["--new", GEMM, "--old"], "--old takes at least one FILE"),
        (["--old", "--json", GEMM], "--old takes at least one FILE"),
        ([GEMM, "--old", GEMM, "--new", GEMM], "and not both"),
        (["-", "-"], "only one file can be standard input"),
        ([GEMM, GEMM, "--fail-over", "5"], "a share in per cent, such as 5%"),
        ([GEMM, GEMM, "--fail-over", "-5%"], "a share in per cent"),
        ([GEMM, GEMM, "--fail-over", "nan%"], "a share in per cent"),
        ([GEMM, GEMM, "--fail-over", "x%"], "a share in per cent"),
        ([GEMM, GEMM, "--confidence", "100"], "a number from 50 to 99.99"),
        ([GEMM, GEMM, "--confidence", "0.95"], "a number from 50 to 99.99"),
        ([GEMM, GEMM, "--resamples", "9"], "a whole number from 100 to 100000"),
        ([GEMM, GEMM, "--seed", "-1"], "a whole number from 0 on"),
        ([GEMM, GEMM, "--json", "--csv"], "--json and --csv are two forms"),
        ([GEMM, GEMM, "--role", "0=tma"], "No such option"),
    ],
)
def test_a_wrong_command_line(args: list[object], said: str) -> None:
    result = invoke("diff", *args)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_errors_are_one_line(old: Path, tmp_path: Path) -> None:
    result = invoke("diff", old, tmp_path / "none.npy")
    assert result.exit_code == 1
    assert is_one_error(result.stderr, "MGT101")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert invoke("diff", old, empty).exit_code == 1


def test_cycles_are_not_compared_with_nanoseconds(old: Path, tmp_path: Path) -> None:
    bare = write(tmp_path / "bare.npy", 5, state_clock=False, grid=(4, 1, 1))
    result = invoke("diff", old, bare)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "error[MGT650]" in result.stderr
    assert str(bare) in result.stderr
    assert answered(old, bare, "--unit", "cyc")["unit"] == "cyc"
    assert invoke("diff", old, bare, "--sm-clock-mhz", 1980).exit_code == 0


def test_sides_that_share_no_region(old: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.npy"
    shutil.copy(old, other)
    result = invoke("diff", old, other, "--grid", 8, "--block", 384)
    assert result.exit_code == 1
    assert (
        "error[MGT651]: no region is on both sides: old has Init, epilogue, mma, new region_0"
        in result.stderr
    )
    names = mgpu_trace.load(old).spec.names
    assert names is not None
    shared = invoke("diff", old, other, "--grid", 8, "--names", ",".join(names), "--unit", "cyc")
    assert "MGT651" not in shared.stderr


def test_a_side_without_slices_says_why(old: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.npy"
    words = np.load(old).reshape(24, -1)
    words[:, 2] = 2**31 + 7
    np.save(broken, words.reshape(-1))
    shutil.copy(old.with_suffix(".json"), broken.with_suffix(".json"))
    result = invoke("diff", old, broken)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "error[MGT651]: there are no slices on the new side" in result.stderr
    assert f"error[MGT304]: {broken}: " in result.stderr


def test_a_broken_track_is_said_and_the_rest_compared(old: Path, broken: Path) -> None:
    found = answered(old, broken, status=1)
    assert {"MGT301", "MGT302", "MGT653"} <= {one["code"] for one in found["diagnostics"]}
    assert found["rows"]


def test_what_makes_sides_hard_to_compare_is_a_warning(old: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.npy", 5, grid=(4, 1, 1), sm_clock_mhz=1500.0)
    spec = json.loads(other.with_suffix(".json").read_text())
    spec["names"][0] = "begin"
    other.with_suffix(".json").write_text(json.dumps(spec))
    found = answered(old, other)
    assert [one["code"] for one in found["diagnostics"]] == ["MGT653", "MGT654", "MGT655"]
    status = {row["region"]: row["status"] for row in found["rows"]}
    assert (status["Init"], status["begin"]) == ("went", "appeared")
    assert not found["has_same_shape"]
    assert not found["is_paired"]


def test_one_slice_on_each_side(tmp_path: Path) -> None:
    one = tmp_path / "one.npy"
    np.save(one, np.array([0, 0, 4, 0, 10, 2**31, 30], np.uint32))
    said = ("--grid", 1, "--block", 128, "--names", "a", "--sm-clock-mhz", 1000, "--no-bounds-checked")
    found = answered(one, one, *said)
    assert [row["mean_old_ns"] for row in found["rows"]] == [20, 20, 20]
    assert {row["mean_low"] for row in found["rows"]} == {None}
    assert "MGT656" in [one["code"] for one in found["diagnostics"]]


@pytest.mark.parametrize("columns", [40, 70, 120])
def test_on_a_terminal_no_number_is_cut(columns: int, old: Path, new: Path) -> None:
    leader, follower = pty.openpty()
    with subprocess.Popen(
        command("diff", old.name, os.path.relpath(new, old.parent)),
        cwd=old.parent,
        env=environment(COLUMNS=str(columns), TERM="dumb", NO_COLOR="1"),
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.DEVNULL,
    ) as child:
        os.close(follower)
        shown = b""
        try:
            while more := os.read(leader, 65536):
                shown += more
        except OSError:  # the other end is closed
            pass
        assert child.wait() == 0
    os.close(leader)
    text = shown.decode()
    table = mgpu_trace.diff(mgpu_trace.load(old), mgpu_trace.load(new)).rows()
    for row in table[1:]:
        assert f"{100 * row['mean_low']:+.1f} to {100 * row['mean_high']:+.1f}%" in text
    assert ("no room for mean_old_ns" in text) == (columns < 70)
    if columns >= 70:
        assert all(len(line) <= columns for line in text.splitlines())
