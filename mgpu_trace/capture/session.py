"""A capture: from the moment that JAX is hooked to the moment that everything is written."""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from importlib import import_module
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np

from mgpu_trace.capture.findings import Findings
from mgpu_trace.capture.hooks import Hooks
from mgpu_trace.capture.metadata import interned_names, kernel_of_file, make_spec, process_index
from mgpu_trace.capture.nvml import sm_clock_mhz
from mgpu_trace.capture.place import Place
from mgpu_trace.capture.settings import CaptureSettings
from mgpu_trace.capture.settle import wait_for_launches
from mgpu_trace.capture.writer import CapturedLaunch, Job, Writer, lost
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report, catalogue
from mgpu_trace.diagnostics.clip import counted

P = ParamSpec("P")
R = TypeVar("R")

_claim = threading.Lock()  # held while a session is open: JAX can be hooked once


class Session:
    """A capture that is entered with ``with``, or put on a function as a decorator.

    Parameters
    ----------
    settings
        What is captured, and where to.
    log
        Told of each launch that was written, by the thread that writes. Whoever gives one also says
        when there was none.

    Raises
    ------
    MgpuTraceError
        On entering: MGT701 where a capture is open already, MGT706 where there is no JAX.
    """

    def __init__(
        self, settings: CaptureSettings, *, log: Callable[[CapturedLaunch], None] | None = None
    ) -> None:
        self.settings = settings
        self._log = log
        self.keep_json = settings.keep_json
        self.profile_space = settings.profile_space
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._launches: list[CapturedLaunch] = []
        self._skipped: Counter[str] = Counter()
        self._findings = Findings()
        self._counts: Counter[tuple[str, Place | int]] = Counter()
        self._ended_ns: dict[int | None, int] = {}
        self._kept_bytes = 0
        self._n_seen = 0
        self._hooks = Hooks(self)

    @property
    def launches(self) -> tuple[CapturedLaunch, ...]:
        """The launches that were written so far, in the order they were."""
        with self._lock:
            return tuple(self._launches)

    @property
    def skipped(self) -> dict[str, int]:
        """How many launches each limit left out."""
        with self._lock:
            return dict(self._skipped)

    @property
    def report(self) -> Report:
        """Everything that went wrong so far."""
        return self._findings.report

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Capture every call of ``function``, each in a session of its own.

        Raises
        ------
        TypeError
            For a function whose body runs after the call has returned.
        """
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError("capture decorates plain functions; put `with mgpu_trace.capture(...)` inside")

        @wraps(function)
        def captured(*args: P.args, **kwargs: P.kwargs) -> R:
            with Session(self.settings):
                return function(*args, **kwargs)

        return captured

    def __enter__(self) -> Self:
        modules = {name: _imported(name) for name in self._hooks.for_module}
        self.start()
        try:
            wait_for_launches()  # those made before are not of this capture
            self._started_ns = time.time_ns()
            for name, module in modules.items():
                self.hook(name, module)
            self._clear_caches()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Claim the process, without touching JAX yet (see :meth:`hook`)."""
        if not _claim.acquire(blocking=False):
            raise MgpuTraceError(
                Diagnostic(
                    catalogue.CAPTURE_ACTIVE,
                    "a capture is already running in this process",
                    hint="it sees the launches of all threads: take the inner one out, or mgpu-trace capture",
                )
            )
        try:
            self._reset()
            # Not only when there is a launch: the first may come while Python ends, without new threads.
            self._writer = Writer(self.settings.folder, self._written, self._findings.add)
            self._started_ns = time.time_ns()
        except BaseException:
            _claim.release()
            raise

    def hook(self, name: str, module: Any) -> None:
        """Hook the module of that name, which was just imported."""
        self._hooks.install(name, module)

    def stop(self) -> None:
        """Wait for launches in flight, put JAX back, write what is left, and say what went wrong."""
        try:
            wait_for_launches()
        finally:
            self._hooks.restore()
            try:
                self._writer.close()
                self._clear_caches()
                self._conclude()
            finally:
                _claim.release()

    def _clear_caches(self) -> None:
        """Kernels that were compiled without a profile, or with one only for us, compile again."""
        if self.profile_space is not None and "jax" in sys.modules:
            sys.modules["jax"].clear_caches()

    def _conclude(self) -> None:
        if self._skipped:
            n = sum(self._skipped.values())
            why = ", ".join(f"{k} by {limit}" for limit, k in self._skipped.items())
            self._findings.add(
                Diagnostic(catalogue.CAPTURE_SKIPPED, f"{counted(n, 'launch')} not kept: {why}", count=n)
            )
        elif self._n_seen == 0 and self._log is None:  # there, whoever started the program says it
            self._findings.add(
                Diagnostic(
                    catalogue.CAPTURE_EMPTY,
                    "no profiled launch was seen",
                    hint="give the kernels a profile_space and a profile_dir, or the capture a profile_space",
                )
            )
        self._findings.say_total(catalogue.CAPTURE_LOST)

    # What follows is called from JAX's threads and the writer's.

    def seen(self, profiler: Any, buffer: Any, grid: Any, block: Any, file: str, place: Place) -> None:
        """Take a launch's buffer: count it, copy it, and hand it to the writer. Never raises."""
        now_ns = time.time_ns()
        try:
            self._take(profiler, buffer, grid, block, file, place, now_ns)
        except Exception as error:
            self._findings.add(lost(f"{type(error).__name__}: {error}", self.settings.folder))

    def _take(
        self, profiler: Any, buffer: Any, grid: Any, block: Any, file: str, place: Place, now_ns: int
    ) -> None:
        kernel = self._hooks.names.get(profiler) or kernel_of_file(file) or "kernel"
        words, place = np.asarray(buffer), _completed(place)
        launch, before_ns, is_kept = self._admit(kernel, place, words.nbytes)
        if is_kept:
            process, names, mhz = process_index(), interned_names(profiler), sm_clock_mhz(place.device)
            seen = {
                "kernel": kernel,
                "process": process,
                "partition": place.partition,
                "n_partitions": place.n_partitions,
                "device_id": place.device,
                "launch": launch,
                "host_time_ns": now_ns,
                "host_time_before_ns": before_ns,
                "sm_clock_mhz": mhz,
            }
            # Copied, for JAX may use the memory again when the callback has returned.
            copy = np.array(words, np.uint32, copy=True).reshape(-1)
            self._writer.put(
                Job(
                    words=copy,
                    spec=lambda: make_spec(profiler, grid, block, names=names, **seen),
                    kernel=kernel,
                    process=process,
                    device=place.device,
                    launch=launch,
                )
            )
        with self._lock:
            self._ended_ns[place.device] = time.time_ns()

    def _admit(self, kernel: str, place: Place, n_bytes: int) -> tuple[int, int, bool]:
        """Number a launch, and ask whether it is kept; also a time at which it had not been made."""
        where = place if place.device is None else place.device
        with self._lock:
            self._n_seen += 1
            launch = self._counts[kernel, where]
            self._counts[kernel, where] += 1
            why_not = self.settings.why_not(kernel, launch, self._kept_bytes, n_bytes)
            if why_not is None:
                self._kept_bytes += n_bytes
            else:
                self._skipped[why_not] += 1
            return launch, self._ended_ns.get(place.device, self._started_ns), why_not is None

    def unknown(self, what: str, loses: str) -> None:
        """Record that this JAX lacks something that a hook needs."""
        version = getattr(sys.modules.get("jax"), "__version__", "?")
        self._findings.add(
            Diagnostic(
                catalogue.CAPTURE_UNKNOWN_JAX,
                f"jax {version} has no {what}: {loses}",
                hint="docs/capture.md lists the versions that are known",
            ),
            about=what,
        )

    def not_profiled(self, kernel: str, reason: str) -> None:
        """Record that a kernel could not be made to profile."""
        self._findings.add(
            Diagnostic(
                catalogue.CAPTURE_NOT_PROFILED,
                f"{kernel}: not profiled: {reason}",
                hint="use a smaller profile_space",
            ),
            about=kernel,
        )

    def _written(self, launch: CapturedLaunch) -> None:
        with self._lock:
            self._launches.append(launch)
        if self._log is not None:
            self._log(launch)


def _completed(place: Place) -> Place:
    """The place of a launch in a process with a single device is that one, whoever lowered the kernel."""
    if place.device is not None:
        return place
    devices = sys.modules["jax"].local_devices()
    return replace(place, device=int(devices[0].id)) if len(devices) == 1 else place


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        if name.startswith("jax._src"):
            return None  # a part of JAX that is elsewhere in this version: its hook says what is missing
        raise MgpuTraceError(
            Diagnostic(
                catalogue.CAPTURE_NO_JAX, f"JAX cannot be imported: {error}", hint="install mgpu-trace[jax]"
            )
        ) from None
