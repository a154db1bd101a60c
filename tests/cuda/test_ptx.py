"""What nvcc makes of the recorder, and of one that is off. Nothing here runs on a GPU."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from cuda.tools import ARCHITECTURES, SHIM, nvcc

KERNELS = SHIM.parent / "kernels"
EXIT = 2**31
DISABLED = ("-DMGPU_TRACE_DISABLE",)


def entries(ptx: str) -> dict[str, list[str]]:
    """The instructions of every kernel, without comments."""
    text = re.sub(r"//[^\n]*", "", ptx)
    found = re.findall(r"\.entry (\w+)\((.*?)\)[^{]*\{\n(.*?)\n\}\n", text, re.DOTALL)
    return {name: [line.strip() for line in body.splitlines() if line.strip()] for name, _, body in found}


def test_entries_are_found() -> None:
    head = ".visible .entry k(\n.param .u64 k_param_0\n)\n"
    ptx = head + "{\n\tmov.u32 %r1, 5; // five\n\n\t{\n\t}\n\tret;\n\n}\n"
    assert entries(ptx) == {"k": ["mov.u32 %r1, 5;", "{", "}", "ret;"]}


@pytest.mark.parametrize("kernel", ["by_warp", "by_warpgroup"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_words_are_written_as_the_format_says(tmp_path: Path, arch: str, kernel: str) -> None:
    """docs/format.md: start before the events; {tag, clock} in one store; three words of header."""
    lines = entries(nvcc(KERNELS / "probe.cu", tmp_path / "probe.ptx", arch, "--ptx").read_text())[kernel]
    (start,) = [i for i, line in enumerate(lines) if "%globaltimer" in line]
    events = [i for i, line in enumerate(lines) if "%clock" in line]
    assert start < events[0]
    assert re.fullmatch(r"mov\.u32 (%r\d+), %globaltimer_lo;", lines[start])
    stored = [
        re.fullmatch(r"@\w+ st\.shared\.v2\.u32 \[%r\d+\], \{(%r\d+), %clock\};", lines[i]) for i in events
    ]
    assert all(stored)
    tags = [value_of(match[1], lines[:i]) for match, i in zip(stored, events, strict=True) if match]
    assert tags == [0, EXIT, 1, EXIT | 1, 2, EXIT | 2]
    assert not [line for line in lines if "st.shared" in line and "%clock" not in line]
    header_is_written(lines, lines[start].split()[1].rstrip(","))


def header_is_written(lines: list[str], start: str) -> None:
    (sm,) = [line.split()[1].rstrip(",") for line in lines if line.endswith("%smid;")]
    stores = [re.fullmatch(r"st\.global\.u32\s+\[(%rd\d+)(?:\+(\d+))?\], (%r\d+);", line) for line in lines]
    header = [m for m in stores if m][:3]
    assert len({m[1] for m in header}) == 1
    assert [int(m[2] or 0) for m in header] == [0, 4, 8]
    assert [m[3] for m in header][:2] == [start, sm]
    assert any("ld.shared" in line for line in lines)


def value_of(register: str, lines: list[str]) -> int:
    """The constant that was last moved to a register; the compiler has 0 in several ways."""
    for line in reversed(lines):
        match = re.fullmatch(rf"mov\.[ub]32\s+{re.escape(register)}, (-?\d+|%r\d+);", line)
        if match:
            return value_of(match[1], lines) if match[1].startswith("%") else int(match[1]) % 2**32
    raise AssertionError(register)


def code_of(cubin: Path) -> dict[str, bytes]:
    """The machine code of every kernel: the .text sections of the ELF file."""
    data = cubin.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    names = data[sections[names_at][4] :]
    found = {names[s[0] : names.index(b"\0", s[0])].decode(): data[s[4] : s[4] + s[5]] for s in sections}
    return {n.removeprefix(".text."): code for n, code in found.items() if n.startswith(".text.")}


def short(names: dict[str, object]) -> dict[str, object]:
    """Kernels without what their arguments add to their names."""
    return {next(k for k in ("dynamic_area", "static_area") if k in name): v for name, v in names.items()}


@pytest.mark.parametrize("off", [DISABLED, ("-DBY_PARAMETER",)], ids=["macro", "parameter"])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_disabled_recorder_is_not_there(tmp_path: Path, arch: str, off: tuple[str, ...]) -> None:
    """The PTX is the same text, and the machine code the same bytes, as of the kernel written without it."""
    source = KERNELS / "disabled.cu"
    made = {}
    for name, flags in (("off", off), ("plain", ("-DPLAIN=1",))):
        made[name] = nvcc(source, tmp_path / f"{name}.ptx", arch, "--ptx", *flags).read_text()
    without_comments = [re.sub(r"//[^\n]*", "", ptx) for ptx in made.values()]
    assert without_comments[0] == without_comments[1]
    cubins = [
        nvcc(source, tmp_path / f"{i}.cubin", arch, "-cubin", *f) for i, f in enumerate((off, ("-DPLAIN=1",)))
    ]
    codes = [code_of(cubin) for cubin in cubins]
    assert len(codes[0]) == 2
    assert all(codes[0].values())
    assert codes[0] == codes[1]


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_only_the_argument_is_left(tmp_path: Path, arch: str) -> None:
    """Against a kernel without even the argument: the instructions are the same."""
    source = KERNELS / "disabled.cu"
    cubins = [nvcc(source, tmp_path / f"{f[-1]}.cubin", arch, "-cubin", f) for f in (*DISABLED, "-DPLAIN=2")]
    assert short(dict(code_of(cubins[0]))) == short(dict(code_of(cubins[1])))


@pytest.mark.parametrize("arch", ARCHITECTURES[1:2])
def test_a_recorder_that_is_on_is_there(tmp_path: Path, arch: str) -> None:
    """The comparisons above can fail."""
    source = KERNELS / "disabled.cu"
    on, off = (
        nvcc(source, tmp_path / f"{n}.cubin", arch, "-cubin", *f) for n, f in (("on", ()), ("off", DISABLED))
    )
    assert set(code_of(on)) == set(code_of(off))
    assert all(code_of(on)[name] != code for name, code in code_of(off).items())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('MGPU_TRACE_REGION(recorder, "lode");', "this name is not in the recorder's MGPU_TRACE_NAMES"),
        ('MGPU_TRACE_EXIT(recorder, "");', "this name is not in the recorder's MGPU_TRACE_NAMES"),
        ("__shared__ mgpu_trace::Area<4, 63> area; area.words[0] = 1;", "words per track must be even"),
        ('} MGPU_TRACE_NAMES(Twice, "a", "b", "a"); __device__ void f() {', "a name is given twice"),
        ("auto copy = recorder;", "deleted function"),
    ],
)
@pytest.mark.parametrize("flags", [(), DISABLED], ids=["on", "off"])
def test_what_is_wrong_does_not_compile(tmp_path: Path, line: str, said: str, flags: tuple[str, ...]) -> None:
    source = tmp_path / "wrong.cu"
    source.write_text(
        '#include "mgpu_trace.cuh"\nMGPU_TRACE_NAMES(Names, "load", "mma");\n'
        "using Recorder = mgpu_trace::Recorder<mgpu_trace::Scope::warp, Names>;\n"
        "__global__ void kernel(mgpu_trace::DeviceTrace trace) {\nRecorder recorder(trace, nullptr);\n"
        f"{line}\n}}\n"
    )
    with pytest.raises(AssertionError) as refused:
        nvcc(source, tmp_path / "wrong.ptx", "sm_90a", "--ptx", *flags)
    assert said in str(refused.value)
