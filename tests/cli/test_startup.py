"""--help and --version load next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cli_support import environment, process

HEAVY = ("numpy", "rich", "perfetto", "jax", "importlib.metadata", "mgpu_trace.pipeline")


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["explain", "MGT301"], ["dump", "--help"]])
def test_loads_nothing_heavy(args: list[str]) -> None:
    code = f"""
import sys
from mgpu_trace_cli.main import main
try:
    main({args!r})
except SystemExit as exit_:
    assert exit_.code == 0, exit_.code
sys.exit(" ".join(m for m in {HEAVY!r} if m in sys.modules) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert done.stderr.strip() == ""
    assert done.returncode == 0


def test_the_check_above_can_fail() -> None:
    code = "import sys, numpy; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=environment()).returncode == 1


def test_version() -> None:
    import mgpu_trace

    assert process("--version").stdout.decode() == f"mgpu-trace, version {mgpu_trace.__version__}\n"
