"""Running JAX programs under capture, and comparing what was captured with what the kernels were given.

JAX runs in processes of its own: the fake GPU of ``jax_on_cpu`` and the hook both reach into it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mgpu_trace
from mgpu_trace.model import TraceBuffer
from mgpu_trace.read import read_trace
from mgpu_trace.spec import SpecOptions

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "programs"
FOUR_DEVICES = "--xla_force_host_platform_device_count=4"

needs_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="JAX is not installed (mgpu-trace[jax])"
)


def environment(**more: str) -> dict[str, str]:
    """An environment in which a new Python imports what this one does, and the programs' helpers."""
    path = os.pathsep.join([*(p for p in sys.path if p), str(ROOT / "tests"), str(PROGRAMS)])
    wanted = {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": FOUR_DEVICES}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MGPU_TRACE")}
    return {**kept, **wanted, **more}


def run_python(*args: object, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """A Python with these arguments, to its end, output captured."""
    kwargs.setdefault("env", environment())
    return subprocess.run(
        [sys.executable, *map(str, args)], capture_output=True, text=True, timeout=120, **kwargs
    )


def run_program(name: str, *args: object, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """One of the programs, to its end, which has to be a good one."""
    done = run_python(PROGRAMS / name, *args, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@dataclass(frozen=True)
class Truth:
    """One launch as the fake GPU made it; the fields of ``jax_on_cpu.Launched``, without importing JAX."""

    kernel: str
    launch: int
    mark: int
    identity: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    scope: str
    names: tuple[str, ...]
    bounds_checked: bool | None
    words: np.ndarray[Any, Any]


def read_truth(*paths: Path) -> list[Truth]:
    """What ``jax_on_cpu.write_truth`` wrote."""
    launches = []
    for path in paths:
        with np.load(path) as file:
            for i, known in enumerate(json.loads(str(file["known"]))):
                for name in ("grid", "block", "names"):
                    known[name] = tuple(known[name])
                launches.append(Truth(**known | {"words": file[f"launch{i}"]}))
    return launches


def read_buffer(path: Path | str) -> TraceBuffer:
    """The buffer and the spec of a captured file."""
    return read_trace(str(path), SpecOptions()).buffer


def files_of(folder: Path) -> list[Path]:
    """What the folder holds: whole launches, and nothing else."""
    found = sorted(folder.iterdir()) if folder.exists() else []
    assert all(path.suffix == ".npz" and not path.name.startswith(".") for path in found), found
    return found


def used_words(words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which words of a ``(tracks, words)`` buffer must be kept: header and used ones, or a broken track.

    Slowly, track by track: it is the reference.
    """
    needed = np.zeros(words.shape, bool)
    for track, row in enumerate(words):
        used = int(row[2])
        needed[track, : len(row) if used + 3 > len(row) else used + 3] = True
    return needed


def identity_of(words: np.ndarray[Any, Any]) -> int:
    """How long ``Init`` took in the last track, by which a launch is known."""
    return int(words[-1, 6] - words[-1, 4])


def check_same_words(captured: np.ndarray[Any, Any], truth: np.ndarray[Any, Any]) -> None:
    """Equal where used; elsewhere equal or zero."""
    assert captured.shape == truth.shape
    assert np.all((captured == truth) | (~used_words(truth) & (captured == 0)))


def check_captured(files: Iterable[Path], truth: Iterable[Truth]) -> dict[Path, Truth]:
    """Every launch is in just one file, word for word, and its spec says what it was."""
    left = {launch.identity: launch for launch in truth}
    matched = {}
    for path in files:
        buffer = read_buffer(path)
        launch = left.pop(identity_of(buffer.words), None)
        assert launch is not None, f"{path.name} is no launch, or one that another file has too"
        check_same_words(buffer.words, launch.words)
        spec = buffer.spec
        assert (spec.grid, spec.block) == (launch.grid, launch.block)
        assert (spec.words_per_track, spec.scope.label) == (launch.words.shape[1], launch.scope)
        assert spec.names == launch.names
        assert bool(spec.bounds_checked) == bool(launch.bounds_checked)
        assert not spec.assumed
        matched[path] = launch
    assert not left, f"lost: {Counter(launch.kernel for launch in left.values())}"
    return matched


def check_numbered(matched: dict[Path, Truth]) -> None:
    """Launches of a kernel on a device count from 0, in the file's name and in the spec."""
    counts: dict[tuple[Any, ...], list[int]] = {}
    for path in matched:
        spec = read_buffer(path).spec
        counts.setdefault((spec.kernel, spec.device_id), []).append(spec.launch)
        device = "X" if spec.device_id is None else spec.device_id
        assert path.name.endswith(f"-p{spec.process}-d{device}-{spec.launch:06}.npz")
    for numbers in counts.values():
        assert sorted(numbers) == list(range(len(numbers)))


def write_plain(path: Path, launch: Truth, spec: mgpu_trace.TraceSpec) -> None:
    """The whole buffer as a plain array with a sidecar of that spec."""
    np.save(path, launch.words)
    path.with_suffix(".json").write_text(json.dumps(spec.to_dict()))
