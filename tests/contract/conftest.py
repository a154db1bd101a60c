"""The compiled kernels, once per run; where the compiler is missing the tests skip and say so."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("contract.checks")

from contract.checks import Facts, Launch  # noqa: E402

from mgpu_trace.layout import Scope  # noqa: E402

TIMEOUT_S = 300
PACKAGES = ("jax-cuda13-plugin", "jax-cuda13-pjrt")


class Compiled:
    """What ``ptx_compile.py`` wrote."""

    def __init__(self, folder: Path, report: dict[str, Any]) -> None:
        self.jax: str = report["jax"]
        self._folder = folder
        self._kernels = {kernel["name"]: kernel for kernel in report["kernels"]}
        self._launches: dict[str, Launch] = {}

    @property
    def names(self) -> list[str]:
        return list(self._kernels)

    def path(self, name: str) -> Path:
        return self._folder / self._kernel(name)["ptx"]

    def text(self, name: str) -> str:
        return self.path(name).read_text(encoding="ascii")

    def facts(self, name: str) -> Facts:
        told = self._kernel(name)
        return Facts(
            name=name,
            maker=told["maker"],
            grid=tuple(told["grid"]),
            block=tuple(told["block"]),
            words_per_track=told["words_per_track"],
            scope=Scope[told["scope"].upper()],
            bounds_checked=told["bounds_checked"],
            names=told["names"],
        )

    def profile_space(self, name: str) -> int | None:
        """What a Pallas kernel was given."""
        return self._kernel(name)["profile_space"]

    def launch(self, name: str) -> Launch:
        """The kernel, run on the corners of its grid; once."""
        if name not in self._launches:
            self._launches[name] = Launch(self.text(name), self.facts(name))
        return self._launches[name]

    def _kernel(self, name: str) -> dict[str, Any]:
        release = tuple(int(part) for part in self.jax.split(".")[:3])
        if name not in self._kernels and "checked" in name and release < (0, 11, 1):
            pytest.skip(f"JAX {self.jax} has no bounds check (0.11.1)")
        if name not in self._kernels and "warp_" in name and release < (0, 10, 1):
            pytest.skip(f"JAX {self.jax} has no tracks of warps (0.10.1)")
        return self._kernels[name]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Every kernel of ``ptx_compile.py``, compiled by the installed JAX; once for all processes of a run."""
    needs_compiler()
    root = tmp_path_factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "ptx"
    report = folder / "report.json"
    try:
        folder.mkdir()
    except FileExistsError:
        give_up = time.monotonic() + TIMEOUT_S
        while not report.exists():
            assert time.monotonic() < give_up, "another process of this run was to compile the kernels"
            time.sleep(0.1)
    else:
        compile_into(folder, report)
    told = json.loads(report.read_text(encoding="utf-8"))
    assert "kernels" in told, told["error"]
    return Compiled(folder, told)


def compile_into(folder: Path, report: Path) -> None:
    """Compile; what the compiler said, or what went wrong, is in ``report`` at the end."""
    command = [sys.executable, str(Path(__file__).with_name("ptx_compile.py")), str(folder)]
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    told = json.dumps({"error": done.stderr[-4000:]}) if done.returncode else done.stdout.splitlines()[-1]
    unfinished = report.with_suffix(".unfinished")
    unfinished.write_text(told, encoding="utf-8")
    unfinished.rename(report)


def needs_compiler() -> None:
    """Skip where JAX or its compiler for GPUs is missing, or they do not belong together."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed (mgpu-trace[jax])")
    jax = metadata.version("jax")
    for package in PACKAGES:
        try:
            found = metadata.version(package)
        except metadata.PackageNotFoundError:
            pytest.skip(f"the compiler is not installed (pip install --no-deps {package}=={jax})")
        if found != jax:
            pytest.skip(f"{package} {found} does not belong to JAX {jax}")
    if tuple(int(part) for part in jax.split(".")[:2]) < (0, 10):
        pytest.skip(f"JAX {jax}: this compiles for 0.10.0 and later")
