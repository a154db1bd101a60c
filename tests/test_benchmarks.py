"""The benchmarks run and print their lines; nothing here looks at how fast they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import environment

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize(
    ("kind", "n_lines"),
    [
        ("write", 1),
        ("native", 3),
        ("decode", 1),
        ("process", 1),
        ("startup", 2),
        ("memory", 3),
        ("stats", 3),
        ("jax", 1),
        ("capture", 2),
        ("query", 3),
    ],
)
def test_a_small_benchmark_prints_its_lines(kind, n_lines):
    if kind in ("jax", "capture"):
        pytest.importorskip("jax", reason="JAX's own dump is the rival here")
    command = [sys.executable, str(BENCHMARKS / "run.py"), "--only", kind]
    command += ["--events", "5000", "--runs", "1", "--gib", "0.01"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == n_lines
    assert all("aim" in line and ("reached" in line or "MISSED" in line) for line in lines)
