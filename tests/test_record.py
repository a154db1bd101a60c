"""fixtures/record.py: what it would say of a GPU, on launches whose clocks are known."""

from __future__ import annotations

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

RECORD: dict[str, Any] = runpy.run_path(str(FIXTURES / "record.py"))


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
