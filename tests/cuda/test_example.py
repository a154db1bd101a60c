"""The example of a pipelined kernel compiles, and run on a CPU it multiplies and records what it does."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest
from cli_support import environment, invoke, process
from cuda.tools import ARCHITECTURES, EXAMPLES, INCLUDE, SHIM, gxx, need_nvcc, nvcc, run, tool

import mgpu_trace

WAIT, LOAD, MMA, STORE = range(4)
TILES, STAGES = 7, 3


@pytest.mark.parametrize("flags", [(), ("-DMGPU_TRACE_DISABLE",)], ids=["on", "off"])
def test_it_compiles_without_a_warning(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """For all three architectures, and the host's part by the host's compiler."""
    others = [f"-gencode=arch={arch.replace('sm', 'compute')},code={arch}" for arch in ARCHITECTURES]
    nvcc(EXAMPLES / "gemm.cu", tmp_path / "gemm.o", None, "-O3", "-c", *others, *flags)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gemm")
    program = gxx(SHIM / "gemm_on_cpu.cpp", folder / "gemm_on_cpu", "-O1", "-pthread", f"-I{EXAMPLES}")
    done = subprocess.run([program, folder / "gemm"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / "gemm.npy"


def test_the_regions_of_producers_and_consumers(recorded: Path) -> None:
    timeline = mgpu_trace.load(recorded)
    slices = timeline.slices
    assert timeline.spec.tracks_per_block == 3
    for track in range(timeline.spec.n_tracks):
        names = slices.where(slices.track == track).name.tolist()
        if track % 3 == 0:
            assert names == [LOAD] * STAGES + [WAIT, LOAD] * (TILES - STAGES)
        else:
            assert names == [WAIT, MMA] * TILES + [STORE]
    assert bool(slices.closed.all())
    result = invoke("validate", "--sm-clock-mhz", "1000", recorded)
    assert result.exit_code == 0
    assert "MGT4" not in result.output


def test_the_pipeline_is_in_order(recorded: Path) -> None:
    """Of a block, in the time of the one clock: loaded, then multiplied, then loaded over."""
    words = np.load(recorded).reshape(
        -1, 3, json.loads(recorded.with_suffix(".json").read_text())["words_per_track"]
    )
    for producer, *consumers in words:
        loads = spans(producer, LOAD)
        assert len(loads) == TILES
        for consumer in consumers:
            waits, products = spans(consumer, WAIT), spans(consumer, MMA)
            for tile in range(TILES):
                assert loads[tile][1] < waits[tile][1] < products[tile][0]
                assert tile + STAGES >= TILES or products[tile][1] < loads[tile + STAGES][0]


def spans(row: np.ndarray, name: int) -> list[tuple[int, int]]:
    tags, clocks = row[3 : 3 + row[2] : 2], row[4 : 3 + row[2] : 2]
    enters, exits = (clocks[tags == tag].tolist() for tag in (name, name | 1 << 31))
    return list(zip(enters, exits, strict=True))


def test_make_builds_it(tmp_path: Path) -> None:
    """The Makefile's own line, with the mgpu-trace that is under test on the PATH."""
    need_nvcc("sm_80")
    shutil.copytree(EXAMPLES, tmp_path / "cuda")
    stand_in = tmp_path / "mgpu-trace"
    stand_in.write_text(f'#!/bin/sh\n[ "$1" = include ] && echo "{INCLUDE}"\n')
    stand_in.chmod(0o755)
    path = f"{tmp_path}:{environment()['PATH']}"
    make = ("env", f"PATH={path}", tool("make"), "-C", tmp_path / "cuda", "ARCH=sm_80")
    run(*make)
    assert (tmp_path / "cuda" / "gemm").exists()
    assert "nvcc" not in run(*make)
    run(*make, "DISABLE=1")
    traced, untraced = ((tmp_path / "cuda" / name).read_bytes() for name in ("gemm", "gemm-untraced"))
    assert b"words_per_track" in traced
    assert traced != untraced


def test_make_builds_again_for_another_architecture(tmp_path: Path) -> None:
    """With a compiler that only says what it was asked for."""
    shutil.copytree(EXAMPLES, tmp_path / "cuda")
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\necho "compiled $*"\nfor last; do :; done\n: > "$last"\n')
    compiler.chmod(0o755)
    make = (tool("make"), "-C", tmp_path / "cuda", f"NVCC={compiler}")
    assert "-arch=sm_80 " in run(*make, "ARCH=sm_80")
    assert "-arch=sm_90a " in run(*make, "ARCH=sm_90a")
    assert "compiled" not in run(*make, "ARCH=sm_90a")
    assert "-DMGPU_TRACE_DISABLE" in run(*make, "ARCH=sm_90a", "DISABLE=1")


def test_include_prints_the_folder_and_nothing_else() -> None:
    done = process("include")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"{INCLUDE}\n"
    assert (INCLUDE / "mgpu_trace.cuh").exists()


def test_every_header_is_packaged() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    data = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"][
        "mgpu_trace"
    ]
    assert "include/*" in data
    names = sorted(path.name for path in INCLUDE.iterdir())
    assert names == ["mgpu_trace.cuh", "mgpu_trace_files.hpp", "mgpu_trace_format.hpp", "mgpu_trace_host.hpp"]
