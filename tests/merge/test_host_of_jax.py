"""A host trace as JAX's own profiler writes it, of a program whose launches are captured at the same time."""

import gzip
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import invoke

HERE = Path(__file__).parent
TESTS = HERE.parent
N_PROFILED = 5

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="JAX is not installed (mgpu-trace[jax])"
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder of launches and the profiler's trace."""
    folder = tmp_path_factory.mktemp("profiled")
    path = [p for p in sys.path if p] + [str(TESTS), str(TESTS / "capture" / "programs")]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MGPU_TRACE")}
    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "", "PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(
        [sys.executable, HERE / "programs" / "profiled.py", folder],
        capture_output=True,
        text=True,
        timeout=120,
        env=kept | flags,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    traces = sorted(folder.glob("profile/**/perfetto_trace.json.gz"))
    if not traces:
        pytest.skip("the profiler of this JAX writes no perfetto_trace.json.gz")
    return folder / "traces", traces[0]


def merged(recorded, out, *args):
    folder, trace = recorded
    result = invoke(
        *("merge", folder, "-o", out, "--host-trace", trace, "--sm-clock-mhz", 1000, "--json"), *args
    )
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout), json.loads(out.read_text())["traceEvents"]


def test_launches_lie_inside_the_slices_that_jax_wrote(recorded, tmp_path):
    said, events = merged(recorded, tmp_path / "run.json")
    (mapping,) = said["host_trace_devices"]
    assert (mapping["n_matched"], mapping["n_slices"]) == (2 * N_PROFILED, 2 * N_PROFILED)
    assert mapping["n_launches"] == 2 * N_PROFILED + 2  # the first step was not profiled
    assert mapping["is_consistent"]
    assert mapping["uncertainty_ns"] < 2_000_000
    for kernel in ("gemm", "softmax"):
        slices = [e for e in events if e.get("ph") == "X" and e["name"] == f"jit_{kernel}"]
        launches = [e for e in events if e.get("cat") == "launch" and e["name"].startswith(f"{kernel} ")]
        assert len(slices) == len(launches) == N_PROFILED
        for slice_, launch in zip(
            sorted(slices, key=lambda e: e["ts"]), sorted(launches, key=lambda e: e["ts"]), strict=True
        ):
            assert slice_["ts"] <= launch["ts"]
            assert launch["ts"] + launch["dur"] <= slice_["ts"] + slice_["dur"]


def test_what_was_launched_before_the_profiler_began_is_said_to_be_left_out(recorded, tmp_path):
    said, _ = merged(recorded, tmp_path / "run.json")
    counts = {finding["code"]: finding["count"] for finding in said["diagnostics"]}
    assert counts["MGT675"] == 2
    assert counts["MGT673"] == 2


def test_what_jax_wrote_stands_as_it_was_and_ids_keep_apart(recorded, tmp_path):
    theirs = json.loads(gzip.decompress(recorded[1].read_bytes()))["traceEvents"]
    kept = [event for event in theirs if event]
    _, events = merged(recorded, tmp_path / "run.json")
    assert [event for event in events if event][: len(kept)] == kept
    ours = [event for event in events if event][len(kept) :]
    ids = {event[key] for event in kept for key in ("pid", "tid") if key in event}
    assert not ids & {event[key] for event in ours for key in ("pid", "tid") if key in event}


def test_a_kernel_that_jax_names_otherwise_is_said(recorded, tmp_path):
    """On a CPU the custom call itself is ``io_callback``: only names of kernels match."""
    folder, trace = recorded
    args = ("-o", tmp_path / "r.json", "--host-trace", trace, "--kernel", "flash")
    result = invoke("merge", folder, *args)
    assert result.exit_code == 1
    assert "error[MGT670]" in result.stderr
    assert not (tmp_path / "r.json").exists()
