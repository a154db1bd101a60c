"""Worker processes of this machine.

Results come in the order of the items, whatever the order of finishing, so that what is made of them
is the same each time. Only a few items are handed out ahead, so memory does not grow with their
number. A file that cannot be read, or that kills its worker, costs no other file anything.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, Generic, TypeVar

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue

Item = TypeVar("Item")
Result = TypeVar("Result")

# Items handed out and not yet given back, for each worker: so many that none ever waits for work.
_AHEAD: Final = 4


@dataclass(frozen=True, slots=True)
class Done(Generic[Result]):
    """What became of one item: a result, or the finding that says why there is none."""

    index: int
    result: Result | None
    error: Diagnostic | None = None


def usable_cores() -> int:
    """Cores that this process may run on."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def each(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    jobs: int = 1,
    on_done: Callable[[int], None] | None = None,
) -> Iterator[Done[Result]]:
    """``function`` of every item, in the order of the items.

    Parameters
    ----------
    function
        A function of a module (workers import it); may raise MgpuTraceError.
    items
        What it takes; must be picklable, as must what it returns.
    jobs
        Worker processes. With one, everything runs in this process.
    on_done
        Called with the number of items that are finished, whenever that grows.

    Yields
    ------
    Done
        One for each item. Where a worker was killed (out of memory, as a rule) the items it may have
        been at are tried again, each alone; the one that kills its worker again has an MGT660.
    """
    if jobs <= 1 or len(items) <= 1:
        for index, item in enumerate(items):
            done = _tried(function, index, item)
            if on_done is not None:
                on_done(index + 1)
            yield done
        return
    with _Workers(function, items, min(jobs, len(items)), on_done) as workers:
        yield from workers.results()


_is_working = False  # in a worker: it has an item at hand
_is_ending = False  # and it was asked to end meanwhile


def _tried(function: Callable[[Any], Any], index: int, item: Any) -> Done[Any]:
    global _is_working
    _is_working = True
    try:
        return Done(index, function(item))
    except MgpuTraceError as error:
        return Done(index, None, error.diagnostic)
    finally:
        _is_working = False
        if _is_ending:  # everything is tidied up; the pool's own loop would wait for more
            os._exit(128 + signal.SIGTERM)


class _Workers:
    """A pool, what is handed out, and what has come back before its turn."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        items: Sequence[Any],
        jobs: int,
        on_done: Callable[[int], None] | None,
    ) -> None:
        self._function = function
        self._items = items
        self._jobs = jobs
        self._on_done = on_done
        self._n_done = 0
        self._out: dict[int, Future[Done[Any]]] = {}
        self._pool = _pool(jobs)

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:  # Ctrl-C, or nobody wants the rest: workers tidy up and end
            for process in list((getattr(self._pool, "_processes", None) or {}).values()):
                process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def results(self) -> Iterator[Done[Any]]:
        handed_out = 0
        for index in range(len(self._items)):
            while handed_out < min(len(self._items), index + _AHEAD * self._jobs):
                self._hand_out(handed_out)
                handed_out += 1
            try:
                done = self._out.pop(index).result()
            except BrokenProcessPool:
                done = self._alone(index)
                self._start_again()
            yield done

    def _hand_out(self, index: int) -> None:
        try:
            future = _submit(self._pool, self._function, index, self._items[index])
        except BrokenProcessPool:
            self._start_again()
            future = _submit(self._pool, self._function, index, self._items[index])
        future.add_done_callback(self._count)
        self._out[index] = future

    def _count(self, future: Future[Done[Any]]) -> None:
        if self._on_done is not None and not future.cancelled() and future.exception() is None:
            self._n_done += 1
            self._on_done(self._n_done)

    def _start_again(self) -> None:
        """A new pool, and what the broken one had not finished is handed out once more."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = _pool(self._jobs)
        for index, future in list(self._out.items()):
            if future.cancelled() or (future.done() and future.exception() is not None):
                self._hand_out(index)

    def _alone(self, index: int) -> Done[Any]:
        """One item in a process of its own: whoever kills that is known."""
        with _pool(1) as pool:
            try:
                done = _submit(pool, self._function, index, self._items[index]).result()
            except BrokenProcessPool:
                message = "the process that worked on it was killed, twice"
                hint = "mostly out of memory: fewer --jobs, or the file alone"
                done = Done(index, None, Diagnostic(catalogue.WORKER_KILLED, message, hint=hint))
        self._n_done += 1
        if self._on_done is not None:
            self._on_done(self._n_done)
        return done


def _pool(jobs: int) -> ProcessPoolExecutor:
    # Started afresh: a fork would copy whatever threads and locks this process has.
    return ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_obey)


def _submit(
    pool: ProcessPoolExecutor, function: Callable[[Any], Any], index: int, item: Any
) -> Future[Done[Any]]:
    """Hand out an item. A worker that is started for it does not hear Ctrl-C before it can obey."""
    with _without_interrupts():
        return pool.submit(_tried, function, index, item)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C waits; processes that are started meanwhile never get it (where there are signals)."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _obey() -> None:
    """In a worker: Ctrl-C is the first process's business, which then asks the workers to end."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _end(number: int, _: FrameType | None) -> None:
    """End at once, or unwind the stack of the item at hand, so that temporary files are removed."""
    global _is_ending
    if not _is_working:
        os._exit(128 + number)
    if not _is_ending:  # tidying up is not to be cut short by a second one
        _is_ending = True
        raise SystemExit(128 + number)
