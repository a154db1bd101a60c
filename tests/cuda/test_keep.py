"""MGPU_TRACE_KEEP: arithmetic stays between the two clock reads of its region, as far down as can be seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cuda.tools import ARCHITECTURES, SHIM, nvcc, run, tool

SOURCE = SHIM.parent / "kernels" / "keep.cu"
IN_PTX = (r"\.entry (\w+)\(", r"%clock", r"\bfma\.rn\.f(?:32|64)")
IN_MACHINE_CODE = (r"^\.text\.(\w+):", r"CS2R.*SR_CLOCKLO", r"\b[FD]FMA\b")


def places(text: str, patterns: tuple[str, str, str], kernel: str) -> list[int]:
    """How many multiply-adds the kernel has before its first event, after it, and so on."""
    head, clock, arithmetic = patterns
    counts: list[int] = []
    for line in text.splitlines():
        begins = re.search(head, line)
        if begins:
            inside = begins[1] == kernel
            counts += [0] if inside else []
        elif not counts or not inside:
            continue
        elif re.search(clock, line):
            counts.append(0)
        elif re.search(arithmetic, line):
            counts[-1] += 1
    return counts


def ptx(folder: Path, arch: str, *flags: str) -> str:
    return nvcc(SOURCE, folder / "keep.ptx", arch, "--ptx", "-O3", *flags).read_text()


def machine_code(folder: Path, arch: str, *flags: str) -> str:
    disassembler = tool("nvdisasm")
    return run(disassembler, "-c", nvcc(SOURCE, folder / "keep.cubin", arch, "-cubin", "-O3", *flags))


@pytest.mark.parametrize("kernel", ["of_float", "of_double"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_arithmetic_stays_in_its_region_in_ptx(tmp_path: Path, arch: str, kernel: str) -> None:
    assert places(ptx(tmp_path, arch), IN_PTX, kernel) == [0, 4, 0, 4, 0]


@pytest.mark.parametrize("kernel", ["of_float", "of_double"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_arithmetic_stays_in_its_region_in_machine_code(tmp_path: Path, arch: str, kernel: str) -> None:
    """ptxas moves it over an empty asm statement, which PTX does not show."""
    assert places(machine_code(tmp_path, arch), IN_MACHINE_CODE, kernel) == [0, 4, 0, 4, 0]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_without_it_arithmetic_moves(tmp_path: Path, arch: str) -> None:
    """What docs/cuda.md says of registers; else the tests above show nothing."""
    found = places(machine_code(tmp_path, arch, "-DLOOSE"), IN_MACHINE_CODE, "of_float")
    assert sum(found) == 8
    assert found != [0, 4, 0, 4, 0]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_where_it_is_disabled_nothing_is_left(tmp_path: Path, arch: str) -> None:
    text = ptx(tmp_path, arch, "-DMGPU_TRACE_DISABLE")
    assert "volatile" not in text
    assert "nctaid" not in text
