"""``dump`` in Perfetto's own format: how it is asked for, and what goes only with it."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli_support import command, environment, invoke, process
from perfetto_packets import BLOCK, read

from mgpu_trace.diagnostics import MgpuTraceError
from mgpu_trace.export.output import write_trace
from mgpu_trace.pipeline import open_launch


@pytest.fixture
def timed(good: Path, tmp_path: Path) -> Path:
    """The same launch, with the host's time in its sidecar."""
    launch = open_launch(good)
    np.save(tmp_path / "timed.npy", launch.buffer.words)
    spec = launch.spec.to_dict() | {"host_time_before_ns": 10**18}
    (tmp_path / "timed.json").write_text(json.dumps(spec))
    return tmp_path / "timed.npy"


def test_every_way_to_ask_gives_the_same_trace(good: Path, tmp_path: Path) -> None:
    for name in ("a.pftrace", "a.pftrace.gz"):
        assert invoke("dump", good, "-o", tmp_path / name).exit_code == 0
    plain = (tmp_path / "a.pftrace").read_bytes()
    assert gzip.decompress((tmp_path / "a.pftrace.gz").read_bytes()) == plain
    assert process("dump", good, "--format", "pftrace").stdout == plain
    assert gzip.decompress(process("dump", good, "--format", "pftrace.gz").stdout) == plain
    (tmp_path / "out").mkdir()
    assert invoke("dump", good, "--format", "pftrace", "-o", tmp_path / "out").exit_code == 0
    assert (tmp_path / "out" / "good.trace.pftrace").read_bytes() == plain
    assert read(plain).slices


@pytest.mark.parametrize(
    ("name", "args", "packed"),
    [
        ("pipe", ["--format", "pftrace"], False),
        ("pipe", ["--format", "pftrace.gz"], True),
        ("pipe.pftrace", [], False),
        ("pipe.json", ["--format", "pftrace"], False),
    ],
)
def test_a_pipe_with_a_name_takes_what_is_asked_for(
    good: Path, tmp_path: Path, name: str, args: list[str], packed: bool
) -> None:
    assert invoke("dump", good, "-o", tmp_path / "a.pftrace").exit_code == 0
    os.mkfifo(tmp_path / name)
    run = command("dump", good, "-o", tmp_path / name, "-q", *args)
    with subprocess.Popen(run, env=environment()) as child:
        got = (tmp_path / name).read_bytes()
    assert child.returncode == 0
    plain = (tmp_path / "a.pftrace").read_bytes()
    assert (gzip.decompress(got) if packed else got) == plain


def test_a_stream_takes_what_is_asked_for(good: Path, tmp_path: Path) -> None:
    wanted = {}
    for suffix in (".json", ".pftrace"):
        write_trace(open_launch(good), tmp_path / f"a{suffix}")
        wanted[suffix] = (tmp_path / f"a{suffix}").read_bytes()
    for suffix in (None, ".json", ".json.gz", ".pftrace", ".pftrace.gz"):
        sink = io.BytesIO()
        write_trace(open_launch(good), sink, suffix=suffix)
        packed = (suffix or "").endswith(".gz")
        got = gzip.decompress(sink.getvalue()) if packed else sink.getvalue()
        assert got == wanted[(suffix or ".json").removesuffix(".gz")]
    write_trace(open_launch(good), tmp_path / "b.json", suffix=".pftrace")
    assert (tmp_path / "b.json").read_bytes() == wanted[".pftrace"]
    with pytest.raises(MgpuTraceError, match=r"\.xml"):
        write_trace(open_launch(good), tmp_path / "b.json", suffix=".xml")
    assert (tmp_path / "b.json").read_bytes() == wanted[".pftrace"]


def test_the_base(timed: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.pftrace"
    for args, least in (([], 10**18), (["--base", "host"], 10**18), (["--base", "zero"], 0)):
        assert invoke("dump", timed, "-o", out, *args).exit_code == 0
        assert min(d.ts for d in read(out.read_bytes()).slices) == least


def test_what_slices_carry_and_counters(good: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.pftrace"
    assert invoke("dump", good, "-o", out, "--args", "cycles,index,block", "--counters", "sm").exit_code == 0
    found = read(out.read_bytes())
    carried = {tuple(key for key, _ in d.args) for d in found.slices if BLOCK not in d.args}
    assert carried == {("block", "cycles", "index")}
    assert {path[-1] for path in found.counters} == {"resident blocks", "active warpgroups"}


LINES = {
    "": r"SM \d+/lane 1 · warpgroup [012]",
    "--lanes": r"SM \d+/lane 1 · warpgroup [012]",
    "--group-by sm --no-lanes": r"SM \d+/block \(\d,\d,\d\) · warpgroup [012]",
    "--group-by block": r"block \(\d,\d,\d\)/warpgroup [012] · SM \d+",
    "--group-by block --no-lanes": r"block \(\d,\d,\d\)/warpgroup [012] · SM \d+",
    "--group-by unit": r"warpgroup [012]/SM \d+ · lane 1",
    "--group-by unit --no-lanes": r"warpgroup [012]/SM \d+ · block \(\d,\d,\d\)",
    "--group-by unit --role 0=tma": r"(tma|warpgroup [12])/SM \d+ · lane 1",
    "--group-by unit --role 1,2=mma": r"(warpgroup 0|mma · warpgroup [12])/SM \d+ · lane 1",
}


@pytest.mark.parametrize("args", LINES)
def test_every_picture_in_both_formats(good: Path, tmp_path: Path, args: str) -> None:
    native, chrome = tmp_path / "a.pftrace", tmp_path / "a.json"
    for out in (native, chrome):
        assert invoke("dump", good, "-o", out, *args.split()).exit_code == 0
    lines = {path[2:] for path in read(native.read_bytes()).lines() if len(path) == 4}
    assert all(re.fullmatch(LINES[args], "/".join(line)) for line in lines)
    assert len(lines) == open_launch(good).spec.n_tracks
    metas = [e for e in json.loads(chrome.read_text())["traceEvents"] if e["ph"] == "M"]
    processes = {e["pid"]: e["args"]["name"] for e in metas if e["name"] == "process_name"}
    threads = [(e["pid"], e["args"]["name"]) for e in metas if e["name"] == "thread_name"]
    shown = [
        (processes[pid] + ("" if "block" in processes[pid] else f" {pid}"), name) for pid, name in threads
    ]
    if "role" not in args:  # there the role's name stands without the unit's
        assert sorted(shown) == sorted(lines)
    assert sorted(name for _, name in shown) == sorted(name for _, name in lines)


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["--base", "zero", "-o", "a.json"], "--base"),
        (["--counters", "none", "-o", "a.json.gz"], "--counters"),
        (["--args", "cycles,block", "-o", "a.json"], "--args block"),
        (["--lanes", "--group-by", "block", "-o", "a.json"], "--lanes"),
        (["--lanes", "--group-by", "block", "-o", "a.pftrace"], "--lanes"),
        (["--group-by", "lane", "-o", "a.json"], "lane"),
        (["--compat", "jax", "--no-lanes", "-o", "a.json"], "--lanes"),
        (["--compat", "jax", "--group-by", "sm", "-o", "a.json"], "--group-by"),
        (["--base", "zero", "-o", "-"], "--base"),
        (["--compat", "jax", "-o", "a.pftrace"], "--compat jax"),
        (["--compat", "jax", "--format", "pftrace", "-o", "-"], "--compat jax"),
        (["--base", "epoch", "-o", "a.pftrace"], "epoch"),
        (["--format", "pftrace", "-o", "a.json"], "contradict"),
    ],
)
def test_what_does_not_go_together(
    good: Path, args: list[str], word: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = invoke("dump", good, *args)
    assert result.exit_code == 2
    assert word in result.stderr
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["out.pftrace", "out.pftrace.gz"])
def test_the_disk_is_full(good: Path, tmp_path: Path, name: str) -> None:
    """A limit on the size of files makes the same refusal: one line, and nothing is left."""
    before = sorted(tmp_path.iterdir())
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    limited += " resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64));"
    limited += " from mgpu_trace_cli.main import main; main()"
    args = [command()[0], "-P", "-c", limited, "dump", str(good), "-o", str(tmp_path / name)]
    done = subprocess.run(args, env=environment(PYTHONDONTWRITEBYTECODE="1"), capture_output=True)
    assert done.returncode == 1
    assert b"MGT602" in done.stderr
    assert b"Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before
