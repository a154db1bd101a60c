"""The thread that writes captured launches, so that the program does not wait for a disk."""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace import layout
from mgpu_trace.capture.publish import Publisher
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.model import U32
from mgpu_trace.read.npz import write_container
from mgpu_trace.sizes import wrong_size
from mgpu_trace.spec import TraceSpec

# When so many launches, or bytes of them, wait for the disk, the next callback waits too: nothing is
# dropped. One launch may always wait, however large.
QUEUE_LAUNCHES: Final = 16
QUEUE_BYTES: Final = 1 << 30
_MAX_NAME_BYTES: Final = 180


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
        self._publisher = Publisher(folder)
        self._done = done
        self._failed = failed
        self._start()

    def put(self, job: Job) -> None:
        """Hand over a launch; waits while there is no room in the queue."""
        if self._pid != os.getpid():  # after a fork there is no thread to empty the queue
            self._start()
        with self._changed:
            self._changed.wait_for(lambda: self._has_room(job) or not self._running)
            if self._running:
                self._queue.append(job)
                self._changed.notify_all()
                return
        self._write(job)  # a launch that comes when all is over, or where there can be no thread

    def close(self) -> None:
        """Write what is left and end the thread."""
        if self._pid == os.getpid() and self._thread is not None:
            with self._changed:
                self._running = False
                self._changed.notify_all()
            self._thread.join()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._queue: deque[Job] = deque()
        self._changed = threading.Condition()
        self._running = True
        # A daemon, for Python waits for other threads before it runs what closes this one.
        self._thread: threading.Thread | None = threading.Thread(
            target=self._run, name="mgpu-trace writer", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError:  # the process may have no more threads
            self._thread, self._running = None, False

    def _has_room(self, job: Job) -> bool:
        waiting = sum(other.words.nbytes for other in self._queue)
        few = len(self._queue) < QUEUE_LAUNCHES and waiting + job.words.nbytes <= QUEUE_BYTES
        return few or not self._queue

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or not self._running)
                if not self._queue:
                    return
                job = self._queue.popleft()
                self._changed.notify_all()
            self._write(job)

    def _write(self, job: Job) -> None:
        try:
            self._done(_written(self._publisher, job))
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
    safe = re.sub(r"[^\w.-]+", "_", job.kernel).encode()[:_MAX_NAME_BYTES].decode(errors="ignore")
    device = "X" if job.device is None else job.device
    return f"{safe.strip('.') or 'kernel'}-p{job.process}-d{device}"


def _written(publisher: Publisher, job: Job) -> CapturedLaunch:
    spec = job.spec()
    if job.words.size != spec.n_words:
        found = wrong_size(job.words.size, spec)
        raise MgpuTraceError(lost(found.message, file_stem(job)))
    try:
        path = publisher.publish(
            file_stem(job), job.launch, lambda file: write_container(file, job.words, spec, pack=True)
        )
    except OSError as error:
        name = f"{file_stem(job)}-{job.launch:06}.npz"
        raise MgpuTraceError(lost(f"cannot write: {error.strerror or error}", name)) from None
    used = job.words.reshape(spec.n_tracks, spec.words_per_track)[:, layout.USED_WORD]
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
