"""What a capture meets outside JAX: workers, folders in use, odd names, no threads, ignored signals."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from capture.support import PROGRAMS, environment, files_of, needs_jax, run_python

import mgpu_trace
from mgpu_trace.capture import place
from mgpu_trace.capture.publish import Publisher
from mgpu_trace.capture.writer import QUEUE_LAUNCHES, Job, Writer, file_stem
from mgpu_trace.spec import TraceSpec

SPEC = TraceSpec(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=8)
WORDS = np.array([1000, 0, 4, 0, 10, 1 << 31, 20, 0xDEADBEEF], np.uint32)


def job(launch: int, kernel: str = "k") -> Job:
    return Job(words=WORDS, spec=lambda: SPEC, kernel=kernel, process=0, device=0, launch=launch)


def command(folder: Path, *words: object) -> list[str]:
    return [sys.executable, "-P", "-m", "mgpu_trace_cli", "capture", "-o", str(folder), *map(str, words)]


@needs_jax
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_workers_of_multiprocessing_keep_their_launches(method: str, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    program = [sys.executable, str(PROGRAMS / "workers.py"), str(tmp_path / "out"), method]
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        command(folder, "--", *program), env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert len(files_of(folder)) == 6
    assert "in order" not in done.stderr


def test_a_python_under_capture_has_loaded_no_more_than_the_standard_library(tmp_path: Path) -> None:
    """Not NumPy above all: a program may have its own, or settings to make before it."""
    (tmp_path / "numpy.py").write_text("MINE = True\n")
    (tmp_path / "main.py").write_text(
        "import sys\nbefore = 'numpy' in sys.modules\nimport numpy\nprint(before, numpy.MINE)\n"
    )
    done = subprocess.run(
        command(tmp_path / "t", "-q", "--", sys.executable, tmp_path / "main.py"),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "False True\n"


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (["{python}", "-m", "show", "--steps", "10"], ["--steps", "10"]),
        (["--", "{python}", "-m", "show", "-x"], ["-x"]),
        (["-m", "show", "--steps", "10"], ["--steps", "10"]),
        (["-mshow", "-q"], ["-q"]),
        (["--launches", "3", "-q", "-m", "show", "--", "a"], ["--", "a"]),
        (["--kernel=a*", "{python}", "-m", "show", "-m", "b"], ["-m", "b"]),
    ],
)
def test_the_command_line_of_the_program_is_its_own(
    words: list[str], seen: list[str], tmp_path: Path
) -> None:
    (tmp_path / "show.py").write_text("import sys\nprint(sys.argv[1:])\n")
    done = subprocess.run(
        command(tmp_path / "t", *(sys.executable if word == "{python}" else word for word in words)),
        env={**environment(), "PYTHONPATH": os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == f"{seen}\n", done.stderr


def test_where_the_end_of_children_is_ignored_it_is_seen_all_the_same(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    ends = [sys.executable, "-c", "raise SystemExit(5)"]
    done = subprocess.run(
        [sys.executable, "-c", program, *command(tmp_path / "t", "-q", "--", *ends)],
        env=environment(),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 5


def test_a_folder_that_is_full_of_launches_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the n-th file of a second capture would try n names."""
    for number in (*range(50), 70):
        (tmp_path / f"k-p0-d0-{number:06}.npz").touch()
    links = []
    link = os.link
    monkeypatch.setattr(os, "link", lambda *paths: (links.append(paths), link(*paths))[1])
    publisher = Publisher(str(tmp_path))
    paths = [publisher.publish("k-p0-d0", n, lambda file: file.write(b"x") and None) for n in range(40)]
    assert [os.path.basename(path) for path in paths] == [f"k-p0-d0-{n:06}.npz" for n in range(71, 111)]
    assert len(links) == 80  # its own number, which is taken, and the next that is free
    assert len(os.listdir(tmp_path)) == 91


def test_launches_that_come_out_of_order_keep_their_numbers(tmp_path: Path) -> None:
    publisher = Publisher(str(tmp_path))
    paths = [publisher.publish("k", n, lambda file: file.write(b"x") and None) for n in (1, 0, 3, 2, 2)]
    assert [os.path.basename(path) for path in paths] == [f"k-00000{n}.npz" for n in (1, 0, 3, 2, 4)]


def test_without_hard_links_and_chmod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "chmod", refuse)
    publisher = Publisher(str(tmp_path))
    (tmp_path / "k-000001.npz").write_bytes(b"old")
    paths = [publisher.publish("k", n, lambda file: file.write(b"new") and None) for n in range(2)]
    assert [os.path.basename(path) for path in paths] == ["k-000000.npz", "k-000002.npz"]
    assert (tmp_path / "k-000001.npz").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["k-000000.npz", "k-000001.npz", "k-000002.npz"]


@pytest.mark.parametrize("name", ["漢" * 100, "a/b\\c", "..", "", "\x00\n", "é" * 300, "x" * 1000])
def test_any_kernel_has_a_file_name(name: str, tmp_path: Path) -> None:
    stem = file_stem(job(0, name))
    assert "/" not in stem
    (tmp_path / f"{stem}-000000.npz").touch()


def test_a_launch_that_comes_when_the_writer_has_ended_is_written(tmp_path: Path) -> None:
    done: list[object] = []
    writer = Writer(str(tmp_path), done.append, done.append)
    writer.put(job(0))
    writer.close()
    writer.put(job(1))
    assert [launch.launch for launch in done] == [0, 1]  # type: ignore[attr-defined]


def test_where_there_can_be_no_thread_launches_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[object] = []
    writer = Writer(str(tmp_path), done.append, done.append)
    for launch in range(2 * QUEUE_LAUNCHES):
        writer.put(job(launch))
    writer.close()
    assert len(done) == len(os.listdir(tmp_path)) == 2 * QUEUE_LAUNCHES


def test_the_queue_is_bounded_by_bytes_and_takes_one_launch_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mgpu_trace.capture.writer.QUEUE_BYTES", 3 * WORDS.nbytes)
    may_write, waiting, most = threading.Event(), [0], [0]

    def slow() -> TraceSpec:
        may_write.wait(10)
        waiting[0] -= 1
        return SPEC

    writer = Writer(str(tmp_path), lambda _: None, lambda _: None)

    def feed() -> None:
        for launch in range(8):
            slowly = job(launch)
            writer.put(Job(slowly.words, slow, "k", 0, 0, launch))
            waiting[0] += 1
            most[0] = max(most[0], waiting[0])

    feeder = threading.Thread(target=feed)
    feeder.start()
    feeder.join(0.5)
    assert feeder.is_alive()
    assert most[0] == 4  # one that is being written, and three in the queue
    may_write.set()
    feeder.join(10)
    writer.close()
    assert len(os.listdir(tmp_path)) == 8


def test_programs_that_share_their_parts_are_looked_at_once() -> None:
    """Twice two calls, 200 deep: 2^200 paths to one program without a kernel."""
    program = SimpleNamespace(eqns=[])
    for _ in range(200):
        call = SimpleNamespace(primitive=SimpleNamespace(name="jit"), params={"jaxpr": program})
        program = SimpleNamespace(eqns=[call, call])
    assert not place._launches(program)


@pytest.mark.parametrize(
    "bad", [{"launches": "3"}, {"profile_space": 5.5}, {"every": 0}, {"max_bytes": True}]
)
def test_limits_are_positive_whole_numbers(bad: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        mgpu_trace.capture(tmp_path, **bad)  # type: ignore[arg-type]


def test_no_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="folder"):
        mgpu_trace.capture("")
    done = run_python("-P", "-m", "mgpu_trace_cli", "capture", "-o", "", "--", "true")
    assert done.returncode == 2
    assert "'-o'" in done.stderr
