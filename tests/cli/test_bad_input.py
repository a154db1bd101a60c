"""Bad files and bad destinations: one line, the right code and status, no traceback, nothing half written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_support import command, environment, invoke, is_one_error, process

BAD_FILES: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "empty": ("MGT103", "x.npy", lambda p: p.write_bytes(b"")),
    "text": ("MGT104", "x.npy", lambda p: p.write_text("hello, this is not a buffer\n")),
    "json": ("MGT104", "x.bin", lambda p: p.write_text('{"traceEvents": []}')),
    "truncated": ("MGT105", "x.npy", lambda p: (np.save(p, np.arange(256, dtype=np.uint32)), _cut(p, 300))),
    "object": ("MGT106", "x.npy", lambda p: np.save(p, np.array([{}, 1], object), allow_pickle=True)),
    "float": ("MGT107", "x.npy", lambda p: np.save(p, np.zeros(64, np.float32))),
    "u8 too big": ("MGT108", "x.npy", lambda p: np.save(p, np.full(64, 1 << 40, np.uint64))),
    "ragged": ("MGT111", "x.u32", lambda p: p.write_bytes(b"\1" * 70)),
    "missing": ("MGT101", "x.npy", lambda p: None),
    "folder": ("MGT102", "x.npy", lambda p: p.mkdir()),
    "unreadable": ("MGT102", "x.npy", lambda p: p.symlink_to(p)),
}


def _cut(path: Path, n_bytes: int) -> None:
    path.write_bytes(path.read_bytes()[:n_bytes])


@pytest.fixture(params=BAD_FILES)
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    code, name, make = BAD_FILES[request.param]
    make(tmp_path / name)
    return code, tmp_path / name


def test_dump_says_what_is_wrong_in_one_line(bad: tuple[str, Path], tmp_path: Path) -> None:
    code, path = bad
    result = invoke("dump", path, "-o", tmp_path / "out.json")
    assert result.exit_code == 1
    assert is_one_error(result.stderr, code), result.stderr
    assert str(path) in result.stderr
    assert result.stdout == ""
    assert os.listdir(tmp_path) == ([] if code == "MGT101" else [path.name])


def test_info_says_what_is_wrong_in_one_line(bad: tuple[str, Path]) -> None:
    code, path = bad
    result = invoke("info", path)
    assert result.exit_code == 1
    assert is_one_error(result.stderr, code), result.stderr
    assert result.stdout == ""


def test_validate_lists_it_and_goes_on(bad: tuple[str, Path], good: Path) -> None:
    code, path = bad
    result = invoke("validate", path, good)
    assert result.exit_code == 1
    assert code in result.stdout
    assert str(good) in result.stdout


def test_the_folder_of_the_output_is_missing(good: Path, tmp_path: Path) -> None:
    result = invoke("dump", good, "-o", tmp_path / "no" / "out.json")
    assert result.exit_code == 1
    assert is_one_error(result.stderr, "MGT601"), result.stderr
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("name", ["out.xml", "out", "out.json.bz2"])
def test_the_output_has_an_unknown_suffix(good: Path, tmp_path: Path, name: str) -> None:
    before = sorted(os.listdir(tmp_path))
    result = invoke("dump", good, "-o", tmp_path / name)
    assert result.exit_code == 1
    assert is_one_error(result.stderr, "MGT603"), result.stderr
    assert ".json" in result.stderr
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_the_disk_is_full(good: Path, tmp_path: Path, suffix: str) -> None:
    """A limit on the size of files makes the same refusal as a full disk, in the process itself."""
    before = sorted(os.listdir(tmp_path))
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    limited += " resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64));"
    limited += " from mgpu_trace_cli.main import main; main()"
    args = [command()[0], "-P", "-c", limited, "dump", str(good), "-o", str(tmp_path / f"out.{suffix}")]
    done = subprocess.run(args, env=environment(PYTHONDONTWRITEBYTECODE="1"), capture_output=True)
    assert done.returncode == 1
    assert is_one_error(done.stderr, "MGT602"), done.stderr.decode()
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    "args", [["dump", "GOOD"], ["info", "GOOD"], ["validate", "GOOD"], ["explain", "--list"], ["--help"]]
)
def test_standard_output_is_full(good: Path, args: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = process(*(good if a == "GOOD" else a for a in args), stdout=full)
    assert done.returncode == 1
    lines = done.stderr.decode().splitlines()
    assert sum(line.startswith("error[MGT602]") for line in lines) == 1
    assert not any("Traceback" in line or "Exception" in line for line in lines)


@pytest.mark.parametrize("args", [["dump", "GOOD"], ["info", "GOOD"], ["explain", "--list"], ["--help"]])
def test_a_closed_pipe_is_quiet(good: Path, args: list[str]) -> None:
    """The reader is gone before the first byte, so that every write fails."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process(*(good if a == "GOOD" else a for a in args), stdout=writer)
    finally:
        os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


def test_head_closes_the_pipe_in_the_middle(big: Path) -> None:
    dump = subprocess.Popen(
        command("dump", big), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert dump.stdout is not None
    assert dump.stderr is not None
    assert dump.stdout.read(10) == b'{"traceEve'
    dump.stdout.close()
    assert dump.stderr.read() == b""
    dump.stderr.close()
    assert dump.wait(60) == 141


def test_standard_output_is_closed(good: Path) -> None:
    done = process("explain", "MGT301", preexec_fn=lambda: os.close(1), stdout=None)
    assert b"Traceback" not in done.stderr
    assert b"MGT901" not in done.stderr


def test_interrupted(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mgpu_trace.pipeline

    before = sorted(os.listdir(tmp_path))
    monkeypatch.setattr(mgpu_trace.pipeline, "open_launch", _raise(KeyboardInterrupt()))
    result = invoke("dump", good, "-o", tmp_path / "out.json")
    assert result.exit_code == 130
    assert result.stderr == ""
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (RuntimeError("two\nlines"), "MGT901", r"RuntimeError: two\nlines"),
        (MemoryError(), "MGT902", "out of memory"),
        (RecursionError("deep"), "MGT901", "RecursionError"),
        (OSError(28, "No space left on device"), "MGT602", "No space left"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_anything_else_is_one_line_too(
    error: BaseException, code: str, says: str, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mgpu_trace.pipeline

    monkeypatch.setattr(mgpu_trace.pipeline, "open_launch", _raise(error))
    result = invoke("info", good)
    assert result.exit_code == 1
    assert is_one_error(result.stderr, code), result.stderr
    assert says in result.stderr


def test_the_traceback_is_there_when_asked_for(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mgpu_trace.pipeline

    monkeypatch.setattr(mgpu_trace.pipeline, "open_launch", _raise(RuntimeError("broken")))
    result = invoke("info", good, env={"MGPU_TRACE_DEBUG": "1"})
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-2].startswith("error[MGT901]: RuntimeError: broken")


def _raise(error: BaseException) -> Callable[..., None]:
    def raiser(*args: object, **kwargs: object) -> None:
        raise error

    return raiser


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["nope"],
        ["dump"],
        ["validate"],
        ["info"],
        ["info", "a.npy", "b.npy"],
        ["dump", "GOOD", "--nope"],
        ["dump", "GOOD", "--grid", "x"],
        ["dump", "GOOD", "--select", "colour=red"],
        ["dump", "GOOD", "--select", "sm"],
        ["dump", "GOOD", "--role", "tma"],
        ["dump", "GOOD", "--role", "x=tma"],
        ["dump", "GOOD", "--args", "weather"],
        ["dump", "GOOD", "--overhead", "much"],
        ["dump", "GOOD", "--compat", "triton"],
        ["dump", "GOOD", "--compat", "jax", "--select", "sm=0"],
        ["dump", "GOOD", "--compat", "jax", "--overhead", "3"],
        ["dump", "GOOD", "--format", "xml"],
        ["dump", "GOOD", "GOOD", "-o", "-"],
        ["dump", "GOOD", "GOOD", "-o", "one.json"],
        ["dump", "GOOD", "GOOD"],
        ["explain", "MGT999"],
        ["synth"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_status_2(good: Path, args: list[str], tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path))
    result = invoke(*(good if a == "GOOD" else a for a in args))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Usage: " in result.stderr
    assert sorted(os.listdir(tmp_path)) == before
