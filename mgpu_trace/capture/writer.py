"""The thread that writes captured launches, so that the program does not wait for a disk."""

from __future__ import annotations

import os
import queue
import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Final

import numpy as np

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.model import U32
from mgpu_trace.read.npz import write_container
from mgpu_trace.sizes import wrong_size
from mgpu_trace.spec import TraceSpec

# When so many launches wait for the disk, the next callback waits too: nothing is dropped.
QUEUE_LAUNCHES: Final = 16
_MAX_NAME: Final = 80


@dataclass(frozen=True, slots=True)
class CapturedLaunch:
    """One launch that was captured.

    Attributes
    ----------
    path
        Its file.
    kernel, process, device, launch
        The kernel's name, JAX's process index, JAX's id of the device (None where it is not known), and
        the launch's number among those of that kernel on that device.
    n_words, n_tracks, n_tracks_lost
        Size of the buffer, its tracks, and those of them that say they recorded more than they hold.
    """

    path: str
    kernel: str
    process: int
    device: int | None
    launch: int
    n_words: int
    n_tracks: int
    n_tracks_lost: int


@dataclass(frozen=True, slots=True)
class Job:
    """A launch to write: its words, a function that makes its spec, and what its name is made of."""

    words: U32
    spec: Callable[[], TraceSpec]
    kernel: str
    process: int
    device: int | None
    launch: int


class Writer:
    """Writes jobs in the order they come, in a thread of its own.

    Parameters
    ----------
    folder
        Where to.
    done, failed
        Called from the thread: with each launch that was written, and each finding about one that
        could not be.
    """

    def __init__(
        self, folder: str, done: Callable[[CapturedLaunch], None], failed: Callable[[Diagnostic], None]
    ) -> None:
        self._folder = folder
        self._done = done
        self._failed = failed
        self._lock = threading.Lock()
        self._start()

    def put(self, job: Job) -> None:
        """Hand over a launch; waits while the queue is full."""
        with self._lock:
            if self._pid != os.getpid():  # after a fork there is no thread to empty the queue
                self._start()
        self._queue.put(job)

    def close(self) -> None:
        """Write what is left and end the thread."""
        if self._pid == os.getpid():
            self._queue.put(None)
            self._thread.join()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._queue: queue.Queue[Job | None] = queue.Queue(QUEUE_LAUNCHES)
        # A daemon, for Python waits for other threads before it runs what closes this one.
        self._thread = threading.Thread(target=self._run, name="mgpu-trace writer", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                self._done(_write(self._folder, job))
            except MgpuTraceError as error:
                self._failed(error.diagnostic)
            except Exception as error:  # whatever it is, the program must go on and the next be written
                self._failed(lost(f"{type(error).__name__}: {error}", file_stem(job)))


def lost(reason: str, file: str) -> Diagnostic:
    """MGT702: a launch that could not be kept."""
    return Diagnostic(
        catalogue.CAPTURE_LOST,
        f"1 launch lost: {reason}",
        hint="make room, or choose another folder",
        file=file,
    )


def file_stem(job: Job) -> str:
    """``KERNEL-pPROCESS-dDEVICE``, safe as a file name."""
    kernel = re.sub(r"[^\w.-]+", "_", job.kernel)[:_MAX_NAME].strip(".") or "kernel"
    device = "X" if job.device is None else job.device
    return f"{kernel}-p{job.process}-d{device}"


def _write(folder: str, job: Job) -> CapturedLaunch:
    spec = job.spec()
    if job.words.size != spec.n_words:
        found = wrong_size(job.words.size, spec)
        raise MgpuTraceError(lost(found.message, file_stem(job)))
    tracks = job.words.reshape(spec.n_tracks, spec.words_per_track)
    path = _publish(folder, job, lambda file: write_container(file, job.words, spec, pack=True))
    used = tracks[:, layout.USED_WORD]
    return CapturedLaunch(
        path=path,
        kernel=job.kernel,
        process=job.process,
        device=job.device,
        launch=job.launch,
        n_words=job.words.size,
        n_tracks=spec.n_tracks,
        n_tracks_lost=int(np.count_nonzero(used > spec.capacity_words)),
    )


def part_prefix(pid: int) -> str:
    """How the unfinished files of a process begin."""
    return f".capture-{pid}-"


def _publish(folder: str, job: Job, write: Callable[[BinaryIO], None]) -> str:
    """Write a file beside its place and give it the first free name; nothing is ever replaced."""
    stem = os.path.join(folder, file_stem(job))
    try:
        os.makedirs(folder, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=part_prefix(os.getpid()), suffix=".part", dir=folder)
        try:
            with open(handle, "wb") as file:
                write(file)
            os.chmod(temporary, 0o666 & ~_UMASK)
            return _named(temporary, stem, job.launch)
        finally:
            os.unlink(temporary)
    except OSError as error:
        raise MgpuTraceError(
            lost(f"cannot write: {error.strerror or error}", f"{stem}-{job.launch:06}.npz")
        ) from None


def _named(temporary: str, stem: str, launch: int) -> str:
    """Link ``temporary`` to the first free name of its kind, from the launch's own number on.

    Another process, or an earlier capture into the folder, may have taken it.
    """
    while True:
        path = f"{stem}-{launch:06}.npz"
        try:
            os.link(temporary, path)
        except FileExistsError:
            launch += 1
        except OSError:
            return _reserved(temporary, stem, launch)  # a file system without hard links
        else:
            return path


def _reserved(temporary: str, stem: str, launch: int) -> str:
    """As :func:`_named`, by making the name first, and then the file of it."""
    while True:
        path = f"{stem}-{launch:06}.npz"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            launch += 1
            continue
        os.replace(temporary, path)
        open(temporary, "wb").close()  # for the caller, who removes it
        return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Asked once, when nothing else runs: the mask belongs to the whole process.
_UMASK: Final = _umask()
