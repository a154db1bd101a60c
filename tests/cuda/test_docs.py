"""docs/cuda.md: its program compiles as it stands, with the commands that it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import ROOT, environment
from cuda.tools import need_nvcc, tool

PAGE = (ROOT / "docs" / "cuda.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)
ON_A_GPU = ["./scale", "mgpu-trace validate scale.npy", "mgpu-trace dump scale.npy -o scale.trace.json.gz"]


def test_the_commands_are_known() -> None:
    assert [c for c in COMMANDS if not c.startswith(("nvcc ", "make "))] == ON_A_GPU


@pytest.mark.parametrize("command", [c for c in COMMANDS if c not in ON_A_GPU])
def test_the_commands_that_compile(tmp_path: Path, command: str) -> None:
    need_nvcc("sm_90a")
    tool(command.split()[0])
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if command.startswith("make"):  # its own target is built by test_example.py, in a copy of the folder
        command += " --dry-run"
    (program,) = re.findall(r"^```cpp\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "scale.cu").write_text(program)
    own = tmp_path / "mgpu-trace"
    own.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m mgpu_trace_cli "$@"\n')
    own.chmod(0o755)
    env = environment()
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert (tmp_path / "scale").exists() or command.startswith("make")


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
