"""``mgpu-trace capture``: the program is run as it would have been, and its launches are there afterwards."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from capture.support import PROGRAMS, environment, files_of, needs_jax, read_buffer

TRAIN = PROGRAMS / "train.py"
STEPS = {"train_step": 4, "evaluate": 2}  # what train.py launches


def capture(folder: Path, *args: object, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """``mgpu-trace capture -o FOLDER ARGS...``, to its end."""
    kwargs.setdefault("env", environment())
    return subprocess.run(command(folder, *args), capture_output=True, text=True, timeout=120, **kwargs)


def command(folder: Path, *args: object) -> list[str]:
    return [sys.executable, "-P", "-m", "mgpu_trace_cli", "capture", "-o", str(folder), *map(str, args)]


def kernels_in(folder: Path) -> Counter[str]:
    return Counter(str(read_buffer(path).spec.kernel) for path in files_of(folder))


# ---- launches


RUNS: dict[str, tuple[list[str], list[str]]] = {  # options, and the program's arguments
    "plain": ([], ["status=3", "elsewhere"]),
    "child": ([], ["child"]),
    "last": ([], ["last"]),
    "raise": ([], ["raise"]),
    "kill": ([], ["kill"]),
    "exit-now": ([], ["exit-now"]),
    "limited": (["--kernel", "t*", "--launches", "1", "--quiet"], []),
    "silent": ([], ["silent"]),
    "profiled": (["--profile-space", "32"], ["silent"]),
    "json": (["--keep-json"], []),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> dict[str, tuple[Path, subprocess.CompletedProcess[str]]]:
    """Every run, two at a time."""
    folders = {name: tmp_path_factory.mktemp(name) for name in RUNS}

    def run(name: str) -> subprocess.CompletedProcess[str]:
        options, args = RUNS[name]
        here = folders[name]
        return capture(Path("traces"), *options, "--", sys.executable, TRAIN, here, *args, cwd=here)

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(run, RUNS))
    return {name: (folders[name], done[i]) for i, name in enumerate(RUNS)}


@needs_jax
@pytest.mark.parametrize(
    ("name", "kernels"),
    {
        "plain": STEPS,
        "child": {"train_step": 8, "evaluate": 4},
        "last": {"train_step": 4},
        "raise": STEPS,
        "kill": STEPS,
        "exit-now": STEPS,
        "limited": {"train_step": 4},
        "silent": {},
        "profiled": STEPS,
        "json": STEPS,
    }.items(),
)
def test_every_launch_is_there(ran, name, kernels):
    here, done = ran[name]
    assert kernels_in(here / "traces") == kernels, done.stderr


@needs_jax
@pytest.mark.parametrize(
    ("name", "status"),
    {"plain": 3, "child": 0, "last": 0, "raise": 1, "kill": 128 + signal.SIGKILL, "exit-now": 5}.items(),
)
def test_the_status_is_the_programs(ran, name, status):
    assert ran[name][1].returncode == status


@needs_jax
def test_the_output_is_the_programs(ran):
    assert ran["plain"][1].stdout == f"2.0 {['status=3', 'elsewhere']} /\n"
    assert ran["child"][1].stdout == f"2.0 [] {ran['child'][0]}\n2.0 {['child']} {ran['child'][0]}\n"


@needs_jax
def test_what_was_captured_is_said(ran):
    here, done = ran["plain"]
    assert done.stderr == f"captured 6 launches of 2 kernels: {here / 'traces'}\n"
    assert "captured 12 launches of 2 kernels in 2 processes" in ran["child"][1].stderr
    assert "the last launches may be missing" in ran["kill"][1].stderr
    # It kept one launch of each device, which were all; evaluate was not asked for.
    assert ran["limited"][1].stderr.splitlines() == [
        "mgpu-trace: info[MGT704]: 2 launches not kept: 2 by --kernel t*"
    ]


@needs_jax
def test_a_traceback_is_the_programs(ran):
    lines = ran["raise"][1].stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "RuntimeError: the program's own" in lines
    assert not any("mgpu_trace" in line for line in lines)


@needs_jax
def test_nothing_to_capture_is_said(ran):
    lines = ran["silent"][1].stderr.splitlines()
    assert lines[0].startswith("warning[MGT705]: no profiled launch was seen; ")
    assert lines[1:] == ["  more: mgpu-trace explain MGT705"]


@needs_jax
def test_json_is_kept_when_asked(ran):
    assert len(list((ran["json"][0] / "dumps").glob("evaluate-*.json"))) == 1
    assert list((ran["plain"][0] / "dumps").iterdir()) == []


@needs_jax
def test_devices_are_known(ran):
    steps = [path for path in files_of(ran["plain"][0] / "traces") if path.name.startswith("train_step")]
    assert [read_buffer(path).spec.device_id for path in steps] == [0, 1, 2, 3]


@needs_jax
def test_a_jax_that_is_built_otherwise(tmp_path):
    """The program runs as it would have, JAX's own files are there, and what is missing is said once."""
    env = environment(MGPU_CHANGED_JAX="dump renamed")
    done = capture(tmp_path / "traces", "--", sys.executable, TRAIN, tmp_path, "status=3", env=env)
    assert (done.returncode, done.stdout) == (3, f"2.0 {['status=3']} {os.getcwd()}\n")
    assert sum("warning[MGT703]: " in line for line in done.stderr.splitlines()) == 1
    assert files_of(tmp_path / "traces") == []
    kernels = sorted(path.name.partition("-")[0] for path in (tmp_path / "dumps").iterdir())
    assert kernels == ["evaluate", "train_step"]


@needs_jax
def test_what_was_captured_can_be_validated_and_dumped(ran, tmp_path):
    here, _ = ran["plain"]
    files = files_of(here / "traces")
    program = [sys.executable, "-P", "-m", "mgpu_trace_cli"]
    checked = subprocess.run(
        [*program, "validate", here / "traces"], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    dumped = subprocess.run(
        [*program, "dump", *files, "--format", "json", "-o", tmp_path],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert dumped.returncode == 0, dumped.stderr
    names = {path.stem for path in files}
    assert {path.name.partition(".")[0] for path in tmp_path.iterdir()} == names
    for path in tmp_path.iterdir():
        events = json.loads(path.read_text())["traceEvents"]
        regions = {event["name"] for event in events if event["ph"] == "X" and "cat" not in event}
        assert regions == {"Init", "load", "store"}


@needs_jax
def test_two_processes_at_once_into_one_folder(tmp_path):
    """Both count their launches from 0, in the same folder, at the same time."""
    folders = [tmp_path / "a", tmp_path / "b"]
    traces = tmp_path / "traces"
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda folder: capture(traces, "--", sys.executable, TRAIN, folder), folders))
    assert [one.returncode for one in done] == [0, 0], done
    assert kernels_in(traces) == {name: 2 * n for name, n in STEPS.items()}


@needs_jax
def test_two_ranks(tmp_path):
    """One program of two processes: the files say whose they are."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    traces = tmp_path / "traces"

    def run(rank: int) -> subprocess.CompletedProcess[str]:
        return capture(
            traces, "--", sys.executable, TRAIN, tmp_path / str(rank), f"rank={rank}/{port}", env=one_device
        )

    one_device = environment(XLA_FLAGS="")
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(run, (0, 1)))
    assert [one.returncode for one in done] == [0, 0], done
    found = Counter(
        (read_buffer(path).spec.kernel, read_buffer(path).spec.process) for path in files_of(traces)
    )
    assert found == {
        (kernel, rank): n for rank in (0, 1) for kernel, n in (("train_step", 1), ("evaluate", 2))
    }
    assert all(f"-p{read_buffer(path).spec.process}-" in path.name for path in files_of(traces))


# ---- the program's surroundings


def see(*args: object, customized: Path | None = None, captured: Path | None = None, **more: Any) -> Any:
    """What surroundings.py sees, with or without a capture."""
    env = environment()
    if customized is not None:
        env["PYTHONPATH"] = os.pathsep.join([str(customized), env["PYTHONPATH"]])
    words = [sys.executable, *map(str, args)]
    if captured is not None:
        words = command(captured, "--", *words)
    done = subprocess.run(
        words, env=env, capture_output=True, text=True, timeout=60, input="from stdin", check=True, **more
    )
    return json.loads(done.stdout)


@pytest.fixture
def customized(tmp_path) -> Path:
    """A folder with a ``sitecustomize`` of the user's, which counts how often it is run."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\nHERE = 'the user'\nsys.n_customized = 1 + getattr(sys, 'n_customized', 0)\n"
    )
    return folder


@pytest.mark.parametrize(
    "args",
    [
        (PROGRAMS / "surroundings.py", "--a", "b c"),
        ("-m", "surroundings", "-x"),
        ("-u", "-B", "-m", "surroundings"),
    ],
    ids=["script", "module", "flags"],
)
def test_a_program_sees_no_difference(tmp_path, customized, args):
    plain = see(*args, customized=customized)
    captured = see(*args, customized=customized, captured=tmp_path / "traces")
    assert captured == plain
    assert (plain["customized"], plain["n_customized"]) == ("the user", 1)
    assert plain["stdin"] == "from stdin"


def test_a_module_by_option(tmp_path, customized):
    """``-m MODULE ARGS`` is ``python -m MODULE ARGS`` with the Python that runs mgpu-trace."""
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(customized), env["PYTHONPATH"]])
    done = capture(
        tmp_path / "traces", "-m", "surroundings", "--flag", "-o", "x", env=env, input="from stdin"
    )
    seen = json.loads(done.stdout)
    assert seen["argv"][1:] == ["--flag", "-o", "x"]
    assert seen["main"] == "surroundings"
    assert seen == see("-m", "surroundings", "--flag", "-o", "x", customized=customized)


def test_a_program_without_jax(tmp_path):
    done = capture(tmp_path / "traces", "--", sys.executable, "-c", "print('no kernels here')")
    assert (done.returncode, done.stdout) == (0, "no kernels here\n")
    assert done.stderr.startswith("warning[MGT705]: ")


def test_a_command_that_is_no_python(tmp_path):
    done = capture(tmp_path / "traces", "--", "sh", "-c", "echo hello; exit 4")
    assert (done.returncode, done.stdout) == (4, "hello\n")
    assert done.stderr.startswith("warning[MGT705]: ")


@pytest.mark.parametrize("words", [["mgpu-trace-no-such-command"], ["/"], [""], [__file__]])
def test_a_command_that_cannot_be_run(tmp_path, words):
    done = capture(tmp_path / "traces", "--", *words)
    assert done.returncode not in (0, 2)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].startswith("error[MGT708]: cannot run ")
    assert lines[1:] == ["  more: mgpu-trace explain MGT708"]


@pytest.mark.parametrize("options", [[], ["--every", "0", "--", "true"], ["--launches", "x", "--", "true"]])
def test_wrong_usage(tmp_path, options):
    done = capture(tmp_path / "traces", *options)
    assert done.returncode == 2
    assert "Error: " in done.stderr


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    done = capture(tmp_path / "file" / "traces", "--", "sh", "-c", "echo hello")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines()[0].startswith("error[MGT602]: ")


# ---- signals


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"])
def test_a_signal_to_the_command_goes_on_to_the_program(tmp_path, name):
    words = command(tmp_path / "traces", "--", sys.executable, PROGRAMS / "signalled.py", tmp_path, name)
    started = subprocess.Popen(
        words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    try:
        wait_for(tmp_path / "ready")
        os.kill(started.pid, signal.Signals[name])
        said, _ = started.communicate(timeout=60)
    finally:
        started.kill()
    assert (said, started.returncode) == ("1\n", 7)


# Its standard input becomes the terminal that its process group belongs to, as a shell does it.
IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_control_c_comes_once(tmp_path):
    """A terminal sends the signal to the command and to the program, which must not get it twice."""
    words = command(tmp_path / "traces", "--", sys.executable, PROGRAMS / "signalled.py", tmp_path, "SIGINT")
    ours, terminal = os.openpty()
    try:
        started = subprocess.Popen(
            [sys.executable, "-c", IN_TERMINAL, *words],
            env=environment(),
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            wait_for(tmp_path / "ready")
            os.write(ours, b"\x03")
            said, _ = started.communicate(timeout=60)
        finally:
            started.kill()
    finally:
        os.close(ours)
        os.close(terminal)
    assert (said, started.returncode) == ("1\n", 7)


@needs_jax
def test_an_interrupted_program_keeps_its_launches(tmp_path):
    """Control-C: a KeyboardInterrupt in the program, whose launches so far are there."""
    words = command(tmp_path / "traces", "--", sys.executable, TRAIN, tmp_path, "wait")
    started = subprocess.Popen(
        words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    try:
        wait_for(tmp_path / "ready")
        os.kill(started.pid, signal.SIGINT)
        _, errors = started.communicate(timeout=60)
    finally:
        started.kill()
    assert started.returncode == 128 + signal.SIGINT
    assert kernels_in(tmp_path / "traces") == STEPS
    assert errors.count("KeyboardInterrupt") == 1
