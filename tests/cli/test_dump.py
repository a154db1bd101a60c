"""What dump writes, where, and what it says about it."""

from __future__ import annotations

import gzip
import json
import os
import pty
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import command, environment, invoke, process


def trace_at(path: Path) -> Any:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def slices_of(trace: Any) -> list[Any]:
    """Those of regions."""
    return [e for e in trace["traceEvents"] if e["ph"] == "X" and "cat" not in e]


def test_every_way_to_write_gives_the_same_trace(good: Path, tmp_path: Path) -> None:
    for name in ("a.json", "a.json.gz"):
        assert invoke("dump", good, "-o", tmp_path / name).exit_code == 0
    plain = (tmp_path / "a.json").read_bytes()
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == plain
    assert process("dump", good).stdout == plain
    assert process("dump", good, "-o", "-").stdout == plain
    assert gzip.decompress(process("dump", good, "--format", "json.gz").stdout) == plain
    assert process("dump", good, "--strict").stdout == plain
    with good.open("rb") as buffer:
        piped = process("dump", "-", stdin=buffer).stdout
    assert str(good).encode() in plain
    assert piped == plain.replace(str(good).encode(), b"<stdin>")


def test_the_trace_has_every_slice_of_the_launch(tmp_path: Path) -> None:
    assert invoke("synth", "-o", tmp_path / "m.npy", "--grid", 6, "--seed", 3).exit_code == 0
    truth = json.loads((tmp_path / "m.truth.json").read_text())
    invoke("dump", tmp_path / "m.npy", "-o", tmp_path / "m.trace.json")
    names = json.loads((tmp_path / "m.json").read_text())["names"]
    at, name = truth["columns"].index("name"), truth["columns"].index("dur_cyc")
    expected = sorted((names[row[at]], round(row[name] * 1000 / 1980)) for row in truth["rows"])
    got = sorted((e["name"], round(e["dur"] * 1000)) for e in slices_of(trace_at(tmp_path / "m.trace.json")))
    assert len(got) == len(expected)
    # Both ends are rounded to whole nanoseconds, so a length may differ by one.
    for (name_a, dur_a), (name_b, dur_b) in zip(got, expected, strict=True):
        assert name_a == name_b
        assert abs(dur_a - dur_b) <= 1


def test_a_summary_is_always_said(good: Path, broken: Path, tmp_path: Path) -> None:
    result = invoke("dump", good, "-o", tmp_path / "a.json")
    assert result.stdout == ""
    summary, wrote = result.stderr.splitlines()
    n = len(slices_of(trace_at(tmp_path / "a.json")))
    assert summary.startswith(f"12 tracks, {n} slices, 0 dropped; ")
    assert "1980 MHz" in summary
    assert wrote == f"wrote {tmp_path / 'a.json'}"
    assert " dropped; " in invoke("dump", broken, "-o", tmp_path / "b.json").stderr


def test_quiet_says_errors_only(good: Path, broken: Path, tmp_path: Path) -> None:
    assert invoke("dump", "-q", good, "-o", tmp_path / "a.json").stderr == ""
    lines = invoke("dump", "-q", broken, "-o", tmp_path / "b.json").stderr.splitlines()
    assert [line[:12] for line in lines] == ["error[MGT301", "error[MGT302", "  more: mgpu"]


def test_errors_change_the_status_and_the_good_part_is_written(broken: Path, tmp_path: Path) -> None:
    result = invoke("dump", broken, "-o", tmp_path / "b.json")
    assert result.exit_code == 1
    *found, more, _, _ = result.stderr.splitlines()
    assert [line[6:12] for line in found] == ["MGT301", "MGT302"]
    assert more == "  more: mgpu-trace explain MGT301 MGT302"
    trace = trace_at(tmp_path / "b.json")
    assert {d["code"] for d in trace["metadata"]["diagnostics"]} == {"MGT301", "MGT302"}
    spoilt = {(e["pid"], e["tid"]) for e in slices_of(trace)}
    assert len(spoilt) == 12  # every track has slices, also the two that were hit


@pytest.mark.parametrize("before", [None, b'{"traceEvents":[]}'])
def test_strict_writes_nothing(broken: Path, tmp_path: Path, before: bytes | None) -> None:
    out = tmp_path / "b.json"
    if before:
        out.write_bytes(before)
    result = invoke("dump", "--strict", broken, "-o", out)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "nothing was written (--strict)"
    assert (out.read_bytes() if out.exists() else None) == before
    assert sorted(os.listdir(tmp_path)) == sorted(["broken.npz", *(["b.json"] if before else [])])
    done = process("dump", "--strict", broken)
    assert (done.returncode, done.stdout) == (1, b"")


def test_an_empty_launch_is_an_error_unless_it_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "e.npz"
    invoke("synth", "-o", path, "--grid", 2, "--fault", "no-events")
    assert invoke("dump", path, "-o", tmp_path / "e.json").exit_code == 1
    allowed = invoke("dump", path, "--allow-empty", "--strict", "-o", tmp_path / "f.json")
    assert allowed.exit_code == 0
    assert "MGT305" not in allowed.stderr
    assert slices_of(trace_at(tmp_path / "f.json")) == []
    assert invoke("validate", path).exit_code == 1
    assert invoke("validate", "--allow-empty", path).exit_code == 0


def test_several_files_become_several_traces(good: Path, big: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    result = invoke("dump", good, big, "-o", out)
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(out)) == ["big.trace.json.gz", "good.trace.json.gz"]
    assert result.stderr.count(" dropped; ") == 2


def test_a_bad_file_does_not_cost_the_others(good: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    missing = [tmp_path / "no.npy", tmp_path / "nor.npy"]
    result = invoke("dump", missing[0], good, missing[1], "-o", out)
    assert result.exit_code == 1
    assert os.listdir(out) == ["good.trace.json.gz"]
    assert [line for line in result.stderr.splitlines() if line.startswith("error[")] == [
        line for line in result.stderr.splitlines() if "MGT101]" in line
    ]
    assert all(str(path) in result.stderr for path in missing)


def test_two_files_of_one_name_are_refused(good: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    twin = shutil.copy(good, tmp_path / "other" / "good.npz")
    result = invoke("dump", good, twin, "-o", tmp_path / "other")
    assert result.exit_code == 2
    assert "would both become" in result.stderr
    assert os.listdir(tmp_path / "other") == ["good.npz"]


def test_the_spec_beside_a_buffer_is_not_overwritten(tmp_path: Path) -> None:
    invoke("synth", "-o", tmp_path / "m.npy")
    spec = (tmp_path / "m.json").read_bytes()
    result = invoke("dump", tmp_path / "m.npy", "-o", tmp_path / "m.json")
    assert result.exit_code == 2
    assert f"but the spec of {tmp_path / 'm.npy'}" in result.stderr
    assert (tmp_path / "m.json").read_bytes() == spec


def test_nothing_but_a_trace_is_overwritten_whatever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    invoke("synth", "-o", "m.npy")
    shutil.copy("m.npy", "buffer.json")
    Path("names.json").write_text('["Init", "a"]')
    Path("other").symlink_to(".")
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}
    for file, output, *more in (
        ("m.npy", "./m.json"),
        ("./m.npy", "m.json"),
        (tmp_path / "m.npy", "m.json"),
        ("m.npy", "other/m.json"),
        ("buffer.json", "./buffer.json"),
        ("m.npy", "names.json", "--names", "names.json"),
        ("m.npy", "buffer.json"),
    ):
        result = invoke("dump", file, "-o", output, *more)
        assert result.exit_code == 2, (file, output)
        assert "is there and is not a trace" in result.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.json")} == before


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_traces_and_empty_files_are_written_again(good: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    for compat in ([], [], ["--compat", "jax"], []):
        assert invoke("dump", good, "-o", tmp_path / name, *compat).exit_code == 0


def test_a_trace_beside_a_bare_buffer_may_be_written_again(tmp_path: Path) -> None:
    invoke("synth", "-o", tmp_path / "m.npy")
    (tmp_path / "m.json").unlink()
    for _ in range(2):
        result = invoke("dump", tmp_path / "m.npy", "-o", tmp_path / "m.json")
        assert result.exit_code == 0, result.stderr
    assert slices_of(trace_at(tmp_path / "m.json"))


def test_the_format_and_the_name_must_agree(good: Path, tmp_path: Path) -> None:
    assert invoke("dump", good, "--format", "json.gz", "-o", tmp_path / "a.json").exit_code == 2
    assert invoke("dump", good, "--format", "json", "-o", tmp_path).exit_code == 0
    assert trace_at(tmp_path / "good.trace.json")


def test_select_role_and_args(good: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    args = ["--select", "sm=0", "--select", "unit=0", "--role", "0=tma", "--role", "1,2=mma"]
    result = invoke("dump", good, "-o", out, *args, "--args", "cycles,index")
    assert result.exit_code == 0, result.stderr
    trace = trace_at(out)
    assert slices_of(trace)
    assert {e["pid"] for e in slices_of(trace)} == {0}
    assert all({"cycles", "index"} <= set(e["args"]) for e in slices_of(trace))
    threads = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"]
    assert threads
    assert all("tma" in name for name in threads)


def test_a_selection_that_matches_nothing_is_said(good: Path, tmp_path: Path) -> None:
    result = invoke("dump", good, "-o", tmp_path / "a.json", "--select", "name=nothing")
    assert result.exit_code == 0
    assert "warning[MGT605]" in result.stderr
    assert slices_of(trace_at(tmp_path / "a.json")) == []


def test_compat_jax_writes_begin_and_end_events(good: Path, tmp_path: Path) -> None:
    """(tests/export compares them with JAX's own; this is the flag.)"""
    result = invoke("dump", good, "--compat", "jax", "-o", tmp_path / "a.json")
    assert result.exit_code == 0, result.stderr
    ours = process("dump", good).stdout
    events = trace_at(tmp_path / "a.json")["traceEvents"]
    assert [e["ph"] for e in events].count("B") == len(slices_of(json.loads(ours)))
    assert {e["ph"] for e in events} == {"B", "E"}
    assert "12 tracks, 156 slices, 0 dropped" in result.stderr


def test_overhead_is_said_where_it_is_taken_off(good: Path, tmp_path: Path) -> None:
    for overhead, code in (("none", False), ("0", True), ("5", True), ("auto", True)):
        result = invoke("dump", good, "-o", tmp_path / "a.json", "--overhead", overhead)
        assert result.exit_code == 0
        assert ("MGT509" in result.stderr) is code, overhead


def test_flags_win_over_the_files(tmp_path: Path) -> None:
    np.save(tmp_path / "b.npy", np.array([5, 1, 4, 0, 100, 1 << 31, 1855, 9] * 2, np.uint32))
    args = ["--grid", 2, "--block", 128, "--entries", 8, "--names", "load", "--sm-clock-mhz", 1755]
    result = invoke("dump", tmp_path / "b.npy", "-o", tmp_path / "b.trace.json", *args)
    assert result.exit_code == 0, result.stderr
    durations = [(e["name"], e["dur"]) for e in slices_of(trace_at(tmp_path / "b.trace.json"))]
    assert durations == [("load", 1.0)] * 2


def on_a_terminal(*args: object, cwd: Path) -> tuple[int, str]:
    """Run with standard output and error on a terminal; the status, and what it showed."""
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        command(*args), cwd=cwd, env=environment(TERM="xterm"), stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 1 << 16):
            shown += part
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(ours)
    return run.wait(60), shown.decode()


def test_on_a_terminal_it_writes_a_file_and_says_what_to_do_next(good: Path, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    status, shown = on_a_terminal("dump", good, cwd=folder)
    assert status == 0
    assert os.listdir(folder) == ["good.trace.json.gz"]
    assert slices_of(trace_at(folder / "good.trace.json.gz"))
    assert "wrote good.trace.json.gz: open https://ui.perfetto.dev and drop the file there" in shown


@pytest.mark.parametrize(
    ("roles", "says"),
    [(["--role", "3=x"], "units 0 to 2"), (["--role", "0=a", "--role", "0,1=b"], "two names")],
)
def test_roles_that_cannot_be(good: Path, roles: list[str], says: str) -> None:
    result = invoke("dump", good, "-o", good.parent / "t.json", *roles)
    assert result.exit_code == 2
    assert says in result.stderr
    assert not (good.parent / "t.json").exists()


def test_compat_says_what_its_times_are(good: Path) -> None:
    result = invoke("dump", good, "-o", good.parent / "t.json", "--compat", "jax")
    assert result.exit_code == 0
    assert "cycles added to nanoseconds" in result.stderr
