from __future__ import annotations

from pathlib import Path

import pytest
from read.support import refused, write

from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.read.names import parse_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ("a",)),
        ("Init,tma,wgmma", ("Init", "tma", "wgmma")),
        ("a,,c", ("a", "", "c")),
        (" a, b", (" a", " b")),
        ("gemm/load,🔥,\ud83d", ("gemm/load", "🔥", "\ud83d")),
        ("x" * 100_000 + ",y", ("x" * 100_000, "y")),
        ("a\0b,c", ("a\0b", "c")),
    ],
)
def test_names_on_the_command_line(text: str, names: tuple[str, ...]) -> None:
    assert parse_names(text) == names


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b'["Init", "a,b", "q\\"\\n", "\\ud83d", ""]', ("Init", "a,b", 'q"\n', "\ud83d", "")),
        (b'\xef\xbb\xbf[\n  "a"\n]\n', ("a",)),
        (b"Init\na,b\nlast", ("Init", "a,b", "last")),
        (b"Init\r\n\r\nlast\r\n\r\n\n", ("Init", "", "last")),
        ("grün\n🔥\n".encode(), ("grün", "🔥")),
        (b"x" * (1 << 20), ("x" * (1 << 20),)),
    ],
)
@pytest.mark.parametrize("file", ["names.json", "names.txt", "a,b"])
def test_names_in_a_file(tmp_path: Path, data: bytes, names: tuple[str, ...], file: str) -> None:
    assert parse_names(str(write(tmp_path / file, data))) == names


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"[]",
        b'{"a": 1}',
        b'["a", 1]',
        b'["a", null]',
        b'["a",',
        b"[" * 100_000,
        b"a\xffb\n",
        b"a\0b\n",
        b"[load]\nstore\n",
    ],
)
def test_bad_files_are_refused_by_name(tmp_path: Path, data: bytes) -> None:
    path = str(write(tmp_path / "names.json", data))
    assert refused(catalogue.NAMES_INVALID, parse_names, path).file == path


def test_what_is_neither_names_nor_a_file(tmp_path: Path) -> None:
    refused(catalogue.NAMES_INVALID, parse_names, "")
    assert "no file" in refused(catalogue.NAMES_INVALID, parse_names, "missing.json").message
    refused(catalogue.NAMES_INVALID, parse_names, str(tmp_path))
    refused(catalogue.NAMES_INVALID, parse_names, "," * (1 << 20))


def test_the_place_of_a_bad_name_is_said(tmp_path: Path) -> None:
    with pytest.raises(MgpuTraceError, match="name 2 is 7"):
        parse_names(str(write(tmp_path / "n", b'["a", "b", 7]')))
