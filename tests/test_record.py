"""fixtures/record.py: what it would say of a GPU, on launches whose clocks are known."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import FIXTURES, environment

import mgpu_trace
from mgpu_trace.layout import Scope


def loaded() -> dict[str, Any]:
    """The recorder's names. The folders that it puts on the path, for it is run from a checkout, go again."""
    before = list(sys.path)
    try:
        return runpy.run_path(str(FIXTURES / "record.py"))
    finally:
        sys.path[:] = before


RECORD = loaded()


@pytest.mark.parametrize("offset_cyc", [0, 1_000_000, (1 << 32) - 5])
def test_facts_are_those_that_were_put_in(offset_cyc: int, tmp_path: Path) -> None:
    """Two SMs at 1000 MHz whose counters are ``offset_cyc`` apart, starts 64 ns apart, gaps of 20 cycles."""
    tracks = []
    for block, sm in enumerate((3, 9)):
        start_ns = 1 << 20 | block * 64
        first = (start_ns + (offset_cyc if sm == 9 else 0)) % (1 << 32)
        tracks.append([start_ns, sm, 4, 0, first, 1 << 31, (first + 20) % (1 << 32), 0xDEADBEEF])
    words = np.array(tracks, np.uint32)
    spec = mgpu_trace.TraceSpec(
        grid=(2, 1, 1),
        block=(32, 1, 1),
        words_per_track=8,
        scope=Scope.WARP,
        names=("Init",),
        sm_clock_mhz=1000,
    )
    mgpu_trace.write_npz(tmp_path / "a.npz", words, spec)
    facts = RECORD["facts_of"](tmp_path / "a.npz")
    assert (facts["n_tracks"], facts["n_slices"], facts["n_sms"]) == (2, 2, 2)
    assert facts["globaltimer_step_ns"] == 64
    assert facts["smallest_gap_cyc"] == 20
    assert facts["sm_offset_spread_cyc"] == min(offset_cyc, (1 << 32) - offset_cyc)


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    done = subprocess.run(
        [sys.executable, "-P", FIXTURES / "record.py", tmp_path / "out"],
        env=environment(JAX_PLATFORMS="cpu"),
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "needs a GPU" in done.stderr
    assert not (tmp_path / "out").exists()


ON_THE_FAKE_GPU = """
import json, runpy, sys
from pathlib import Path
import jax, jax_on_cpu
import numpy as np

record = runpy.run_path(sys.argv[1])
fault = sys.argv[3]

def cut_off(words):
    if fault == "none" and words.shape[1] == 12:  # Init, then "all" and "load", which stay open
        words[:, 2] = 8
        words[:, 7], words[:, 9] = 1, 2
    if fault == "odd":
        words[:, 2] = 5

jax_on_cpu.spoil = cut_off
found, good = record["record_all"](jax.devices()[0], Path(sys.argv[2]))
print(json.dumps({"found": found, "good": good, "versions": record["versions"](jax.devices()[0])}))
"""


def record_all(folder: Path, fault: str) -> dict[str, Any]:
    """What it prints where only the GPU's own work is a fake (jax_on_cpu)."""
    pytest.importorskip("jax")
    env = environment(JAX_PLATFORMS="cpu")
    env["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), env.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", ON_THE_FAKE_GPU, str(FIXTURES / "record.py"), str(folder), fault],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def test_captures_are_checked_and_measured(tmp_path: Path) -> None:
    said = record_all(tmp_path / "out", "none")
    found = said["found"]
    assert said["versions"]["jaxlib"] == pytest.importorskip("jaxlib").__version__
    for name in ("vector_add", "warp_scope"):
        assert found[name].get("n_slices") or "has no profile_trace_scope" in found[name]["passed over"]
    truncated = found["truncated"]
    assert "MGT401" in truncated.get("codes", ()) or "has no profile_bounds" in truncated["passed over"]
    cost = found["cost"]
    assert cost["n_launches"] == 20
    assert min(cost[name] for name in ("launch_s", "captured_launch_s", "jax_dump_s", "capture_end_s")) > 0
    # Without a GPU these cannot be recorded, and so it fails as a whole.
    assert "failed" in found["cuda"]
    assert said["good"] is False


def test_captures_that_are_not_as_they_have_to_be(tmp_path: Path) -> None:
    found = record_all(tmp_path / "out", "odd")["found"]
    assert "MGT" in found["vector_add"]["failed"]
    assert "failed" in found["truncated"] or "has no" in found["truncated"]["passed over"]
    assert not (tmp_path / "out").exists()
