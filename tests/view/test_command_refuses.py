"""Browsers that do not start, files that are none, ports that are taken."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
from cli_support import command, environment, invoke, is_one_error, process
from view.opened import (
    GEMM,
    OTHER_PORT,
    findings,
    open_,
    packets,
    traces_in,
    with_browser,
)


def without_browser(tmp_path: Path, **more: str) -> dict[str, str]:
    """Neither a screen nor a program on the PATH."""
    (tmp_path / "empty").mkdir(exist_ok=True)
    env = environment(PATH=str(tmp_path / "empty"), **more)
    return {key: value for key, value in env.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}


@pytest.mark.parametrize(
    ("browser", "said"),
    [
        ("", b"no browser was found"),
        (" ", b"BROWSER is ' ', which names no program"),
        ("/nowhere/firefox", b"did not start"),
        ("x" * 100_000, "x… did not start".encode()),
        ("'", b"did not start"),
        ("false %s", b"did not start"),
    ],
    ids=["none", "blank", "missing", "long", "quote", "failing"],
)
def test_a_browser_that_does_not_start(browser: str, said: bytes, tmp_path: Path) -> None:
    env = without_browser(tmp_path, BROWSER=browser)
    if browser.startswith("false"):
        env["PATH"] = os.environ["PATH"]
    done = process("open", "--port", 0, "--timeout", 2, GEMM, env=env)
    assert done.returncode == 1
    assert findings(done.stderr) == [OTHER_PORT, "warning[MGT611]", "error[MGT613]"]
    assert said in done.stderr
    assert b"open it yourself: https://ui.perfetto.dev/#!/?url=http://127.0.0.1:" in done.stderr


@pytest.mark.parametrize("name", ["lynx", "w3m", "www-browser", "links"])
def test_a_browser_of_the_terminal_is_left_alone(name: str, tmp_path: Path) -> None:
    browser = tmp_path / "bin" / name
    browser.parent.mkdir()
    browser.write_text(f"#!/bin/sh\ntouch {tmp_path}/used\n")
    browser.chmod(0o755)
    env = without_browser(tmp_path) | {"PATH": f"{browser.parent}:/usr/bin:/bin", "BROWSER": str(browser)}
    done = process("open", "--port", 0, "--timeout", 1, GEMM, env=env)
    assert "warning[MGT611]" in findings(done.stderr)
    assert b"which cannot show a timeline" in done.stderr
    assert not (tmp_path / "used").exists()


def test_bad_files(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "not.pftrace").write_bytes(b"no trace\n")
    (tmp_path / "garbage").write_bytes(bytes(range(256)) * 4)
    (tmp_path / "empty.npy").write_bytes(b"")
    for name, code in [
        ("not.pftrace", "MGT612"), ("garbage", "MGT104"), ("empty.npy", "MGT103"), ("missing.npy", "MGT101"),
        ("folder", "MGT102"), ("/dev/zero", "MGT102"), ("a\0b", "MGT102"),
    ]:  # fmt: skip
        result = invoke("open", tmp_path / name, "--port", 0)
        assert is_one_error(result.stderr, code), result.stderr
        assert (result.exit_code, result.stdout) == (1, "")


def test_one_bad_file_keeps_the_others_from_being_shown(tmp_path: Path, got: Path) -> None:
    done = open_(GEMM, tmp_path / "one.npy", tmp_path / "two.npy", env=with_browser(got))
    assert done.returncode == 1
    assert findings(done.stderr) == ["error[MGT101]"] * 2
    assert traces_in(got) == {}


def test_a_pipe_that_does_not_block(got: Path) -> None:
    """As a parent that waits for many children makes them."""
    content = packets(5000)
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    run = command("open", "--port", 0, "--timeout", 60, "-")
    with subprocess.Popen(run, env=with_browser(got), stdin=ours, stderr=subprocess.PIPE) as child:
        os.close(ours)
        with open(theirs, "wb") as stream:
            for part in (content[:1000], content[1000:]):
                stream.write(part)
                stream.flush()
                time.sleep(0.5)  # so that a read in between finds nothing
        assert child.stderr is not None
        assert child.wait(60) == 0, child.stderr.read()
    assert traces_in(got) == {"stdin.pftrace": content}


def test_a_file_that_cannot_be_read() -> None:
    if not os.path.exists("/proc/self/mem"):
        pytest.skip("there is no file here that opens and cannot be read")
    assert is_one_error(open_("/proc/self/mem").stderr, "MGT102")


def test_standard_input_is_read_once() -> None:
    result = invoke("open", "-", "-", "--port", 0)
    assert result.exit_code == 2
    assert "give - once" in result.stderr


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = process("open", GEMM, "--offline", "--port", port)
    assert done.returncode == 1
    assert b"tracks" not in done.stderr  # nothing was decoded in vain
    assert findings(done.stderr) == ["error[MGT609]"]
    if os.path.exists("/proc/net/tcp"):
        assert f"port {port} of 127.0.0.1 is taken by process {os.getpid()} (".encode() in done.stderr


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may have every port")
def test_a_port_below_1024() -> None:
    assert findings(process("open", GEMM, "--offline", "--port", 80).stderr) == ["error[MGT614]"]


def test_no_room_for_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = open("/dev/full", "wb")  # noqa: SIM115
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: full)
    result = invoke("open", GEMM, "--port", 0)
    assert result.exit_code == 1
    assert is_one_error(result.stderr, "MGT602")
