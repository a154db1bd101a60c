"""The compilers that these tests need, and what to say where one is missing."""

from __future__ import annotations

import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

import pytest
from cli_support import ROOT

import mgpu_trace

assert mgpu_trace.__file__ is not None
INCLUDE = Path(mgpu_trace.__file__).parent / "include"
SHIM = ROOT / "tests" / "cuda" / "shim"
EXAMPLES = ROOT / "examples" / "cuda"
ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a")
STRICT = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def tool(name: str) -> str:
    """Where a compiler is; the test is skipped where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}, which is not on the PATH")
    return found


def run(*command: object) -> str:
    """Run a compiler; what it printed. It must succeed and say nothing of warnings."""
    done = subprocess.run(
        [str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout, done.stdout
    return done.stdout


@lru_cache
def knows(arch: str) -> bool:
    """Whether this nvcc has that architecture; it lists those with a letter nowhere."""
    command = [tool("nvcc"), f"-arch={arch}", "--dryrun", "--ptx", "-x", "cu", "/dev/null"]
    return subprocess.run(command, capture_output=True).returncode == 0


def need_nvcc(*architectures: str) -> str:
    """Where nvcc is; the test is skipped without it, its host compiler, or one of the architectures."""
    tool("g++")
    found = tool("nvcc")
    unknown = [arch for arch in architectures if not knows(arch)]
    if unknown:
        pytest.skip(f"needs an nvcc that knows {' and '.join(unknown)}")
    return found


def nvcc(source: Path, output: Path, arch: str | None, *more: str) -> Path:
    """Compile with nvcc, where every warning is an error; without ``arch`` the flags say for what."""
    strict = ("-std=c++17", "-Xcompiler", "-Wall,-Wextra", "-Werror", "all-warnings")
    target = [f"-arch={arch}"] if arch else []
    run(
        need_nvcc(*([arch] if arch else ARCHITECTURES)),
        *strict,
        *target,
        f"-I{INCLUDE}",
        *more,
        source,
        "-o",
        output,
    )
    return output


def gxx(source: Path, output: Path, *more: str) -> Path:
    """Compile for the CPU, over the shim."""
    run(tool("g++"), *STRICT, f"-I{SHIM}", f"-I{INCLUDE}", *more, source, "-o", output)
    return output
