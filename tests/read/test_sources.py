from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from read.support import FULL, npy, read, refused, refused_file, words, write

from mgpu_trace.diagnostics import catalogue
from mgpu_trace.read import read_trace, write_npz
from mgpu_trace.spec import TraceSpec

WORDS = words()
SPEC = TraceSpec(grid=(3, 1, 1), block=(256, 1, 1), words_per_track=16)


@pytest.mark.parametrize("name", ["a.bin", "a.u32", "a.U32"])
def test_raw_words(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, WORDS.astype("<u4").tobytes())
    buffer = read(path).buffer
    assert np.array_equal(buffer.words.reshape(-1), WORDS)
    assert not buffer.words.flags.writeable
    buffer.release(0, 6)
    assert np.array_equal(buffer.words.reshape(-1), WORDS)


@pytest.mark.parametrize("extra", [1, 2, 3])
def test_raw_words_must_be_whole(tmp_path: Path, extra: int) -> None:
    path = write(tmp_path / "a.bin", WORDS.tobytes() + b"\0" * extra)
    assert f"96 words and {extra} bytes" in refused_file(catalogue.RAGGED_BYTES, path).message


def test_raw_words_may_begin_like_anything(tmp_path: Path) -> None:
    """A start time can be any number, also a magic one."""
    for start in (b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"BZh9", b"\x80\x04\x95\x00", b'{"a"'):
        data = start + WORDS.tobytes()[4:]
        assert bytes(read(write(tmp_path / "a.bin", data)).buffer.words)[:4] == start


def test_content_decides_and_not_the_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.bin", npy(WORDS))
    assert np.array_equal(read(path).buffer.words.reshape(-1), WORDS)
    write_npz(tmp_path / "b.npy", WORDS, SPEC)
    assert read(tmp_path / "b.npy").buffer.spec == SPEC
    write_npz(tmp_path / "c.bin", WORDS, SPEC)
    assert read(tmp_path / "c.bin").buffer.spec == SPEC


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"hello world, this is text\n", "text"),
        ("grüße, schöne Welt, Ünïcödé\n".encode(), "text"),
        (b'{"traceEvents": []}', "Chrome trace"),
        (b'[{"ph": "X", "ts": 1}]', "Chrome trace"),
        (b'{"schema": "mgpu-trace/spec", "version": 1}', "spec"),
        (b'  {"a": 1}', "JSON"),
        (b"[1, 2, 3]", "JSON"),
        (gzip.compress(WORDS.tobytes()), "gzip"),
        (b"\x28\xb5\x2f\xfd" + bytes(range(1, 60)), "zstd"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(1, 60)), "PNG"),
        (b"\x7fELF\x02\x01\x01\x01" + bytes(range(1, 60)), "ELF"),
        ("hello".encode("utf-16"), "UTF-16"),
    ],
)
@pytest.mark.parametrize("suffix", ["npy", "json", "u32"])
def test_what_it_is_instead(tmp_path: Path, data: bytes, what: str, suffix: str) -> None:
    found = refused_file(catalogue.NOT_A_BUFFER, write(tmp_path / f"a.{suffix}", data))
    assert what in found.message


def test_text_that_is_cut_in_a_character(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npy", "ä".encode() * 5000 + b"x")
    assert "text" in refused_file(catalogue.NOT_A_BUFFER, path).message
    path = write(tmp_path / "b.npy", b"x" + "ä".encode() * 5000)
    assert "text" in refused_file(catalogue.NOT_A_BUFFER, path).message


def test_raw_words_of_another_name_are_sent_to_a_pipe(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dat", np.full(96, 0x81C0FFEE, np.uint32).tobytes())
    found = refused_file(catalogue.NOT_A_BUFFER, path)
    assert f"- < {path}" in found.hint


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.bin", "a.json"])
def test_a_file_of_no_bytes(tmp_path: Path, name: str) -> None:
    found = refused_file(catalogue.FILE_EMPTY, write(tmp_path / name, b""))
    assert "the dump failed or was interrupted" in found.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    refused_file(catalogue.FILE_MISSING, tmp_path / "a.npy")
    refused_file(catalogue.FILE_MISSING, write(tmp_path / "b", b"x") / "a.npy")
    refused(catalogue.FILE_MISSING, read_trace, "new\nline\udcff.npy")


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "directory" in refused_file(catalogue.FILE_UNREADABLE, tmp_path).message.lower()
    refused_file(catalogue.FILE_UNREADABLE, "a\0b.npy")
    refused_file(catalogue.FILE_UNREADABLE, "a" * 5000)
    if os.path.exists("/dev/zero"):
        assert "device" in refused_file(catalogue.FILE_UNREADABLE, "/dev/zero").message

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)
    assert "Permission denied" in refused_file(catalogue.FILE_UNREADABLE, tmp_path / "a.npy").message


def test_a_name_is_kept_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.npy", npy(WORDS.astype(np.int64)))
    assert [d.file for d in read("./a.npy").diagnostics] == ["./a.npy"]
    assert refused(catalogue.FILE_MISSING, read_trace, "./b.npy").file == "./b.npy"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe.npy"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(npy(WORDS),))
    writer.start()
    buffer = read(path).buffer
    writer.join()
    assert np.array_equal(buffer.words.reshape(-1), WORDS)


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def npz_bytes(tmp_path: Path) -> bytes:
    write_npz(tmp_path / "x.npz", WORDS, SPEC)
    return (tmp_path / "x.npz").read_bytes()


@pytest.mark.parametrize("kind", ["npy", "npz", "raw"])
def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    data = {"npy": npy(WORDS), "raw": WORDS.tobytes(), "npz": npz_bytes(tmp_path)}[kind]
    monkeypatch.setattr(sys, "stdin", Stdin(data))
    assert np.array_equal(read("-").buffer.words.reshape(-1), WORDS)


def test_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for data, code in (
        (b"", catalogue.FILE_EMPTY),
        (b"hello, this is text", catalogue.NOT_A_BUFFER),
        (WORDS.tobytes()[:-1], catalogue.RAGGED_BYTES),
        (WORDS.tobytes()[:-4], catalogue.WRONG_SIZE),
        (b"\x93NU", catalogue.FILE_TRUNCATED),
    ):
        monkeypatch.setattr(sys, "stdin", Stdin(data))
        assert refused(code, read_trace, "-", FULL).file == "<stdin>"
    monkeypatch.setattr(sys, "stdin", None)
    assert refused(catalogue.FILE_UNREADABLE, read_trace, "-", FULL).file == "<stdin>"


@pytest.mark.parametrize("how", ["redirect", "pipe", "folder", "closed"])
def test_standard_input_of_a_process(tmp_path: Path, how: str) -> None:
    path = write(tmp_path / "a.npy", npy(WORDS))
    program = (
        "from mgpu_trace.read import read_trace\n"
        "from mgpu_trace.spec import SpecOptions\n"
        "from mgpu_trace.diagnostics import MgpuTraceError\n"
        "try:\n"
        "    b = read_trace('-', SpecOptions(words_per_track=16)).buffer\n"
        "    b.release(0, 6); print(int(b.words.sum()))\n"
        "except MgpuTraceError as error:\n"
        "    print(error)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", program]
    if how == "redirect":
        with open(path, "rb") as file:
            out = subprocess.run(command, stdin=file, env=env, capture_output=True, check=True)
    elif how == "folder":
        handle = os.open(tmp_path, os.O_RDONLY)
        out = subprocess.run(command, stdin=handle, env=env, capture_output=True, check=False)
        os.close(handle)
    elif how == "closed":
        shell = ["sh", "-c", '"$0" -c "$1" <&-', sys.executable, program]
        out = subprocess.run(shell, env=env, capture_output=True, check=True)
    else:
        out = subprocess.run(command, input=path.read_bytes(), env=env, capture_output=True, check=True)
    text = out.stdout.decode()
    if how in ("redirect", "pipe"):
        assert text == f"{int(WORDS.sum())}\n"
    elif how == "closed":
        assert text.startswith("error[MGT102]: <stdin>: ")
    else:  # Python itself may refuse a folder before any of our code runs
        assert text.startswith("error[MGT102]: <stdin>: ") or b"is a directory" in out.stderr
