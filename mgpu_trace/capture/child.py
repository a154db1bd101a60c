"""A capture inside a program that was started by ``mgpu-trace capture``.

The program's Python starts the capture before the program does anything, and JAX is hooked module by
module as the program imports it. Nothing but the standard library is imported before that, NumPy least
of all: which one is the program's own affair. When the program ends, so does
the capture. Each launch is told to the command that started the program.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from mgpu_trace.capture.targets import MODULES

if TYPE_CHECKING:
    from mgpu_trace.capture.writer import CapturedLaunch

SETTINGS_VARIABLE: Final = "MGPU_TRACE_CAPTURE"
REPORTS_VARIABLE: Final = "MGPU_TRACE_CAPTURE_REPORTS"
HOME_VARIABLE: Final = "MGPU_TRACE_HOME"


@dataclass(slots=True)
class ChildReport:
    """What one process captured: its files and kernels, what limits left out, and the codes it found.

    ``ended`` is False where the process did not come to its end, so that its last launches may be missing.
    """

    pid: int
    paths: list[str] = field(default_factory=list)
    kernels: set[str] = field(default_factory=set)
    skipped: int = 0
    codes: set[str] = field(default_factory=set)
    ended: bool = False


def environment(settings_json: str, reports: str) -> dict[str, str]:
    """The environment of a program whose Pythons capture."""
    startup = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")
    path = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": startup if not path else f"{startup}{os.pathsep}{path}",
        SETTINGS_VARIABLE: settings_json,
        REPORTS_VARIABLE: reports,
        HOME_VARIABLE: os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    }


def begin() -> None:
    """Wait for JAX, and hook it when it comes."""
    settings = os.environ.get(SETTINGS_VARIABLE)
    if settings is not None:
        sys.meta_path.insert(0, _Waiting(settings))


class _Waiting(MetaPathFinder):
    """Finds nothing itself: it sees JAX's modules go by, and hooks each when it has been imported."""

    def __init__(self, settings: str) -> None:
        self._settings = settings
        self._session: Any = None
        self._log: Any = None
        self._ended = False
        self._busy = threading.local()  # other threads import too

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders have, with our hook behind its loader."""
        del path, target  # the other finders are asked afresh
        if getattr(self._busy, "here", False) or fullname not in MODULES:
            return None
        self._busy.here = True
        try:
            spec = find_spec(fullname)
        finally:
            self._busy.here = False
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader, fullname)
        return spec

    def _follow(self, loader: Any, name: str) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            try:
                self._hook(name, module)
            except Exception as error:
                sys.stderr.write(f"mgpu-trace: not capturing: {type(error).__name__}: {error}\n")

        loader.exec_module = exec_module

    def _hook(self, name: str, module: ModuleType) -> None:
        if self._session is None:
            from mgpu_trace.capture.session import Session
            from mgpu_trace.capture.settings import CaptureSettings

            self._log = _Log(os.environ.get(REPORTS_VARIABLE))
            self._session = Session(CaptureSettings.from_json(self._settings), log=self._log.launch)
            self._session.start()
            self._at_the_end_of_a_worker()
        self._session.hook(name, module)
        # Last of all that JAX registers, for that runs first: while there are still devices.
        atexit.unregister(self._end)
        atexit.register(self._end)

    def _at_the_end_of_a_worker(self) -> None:
        """The workers of multiprocessing end without what atexit holds."""
        processes: Any = sys.modules.get("multiprocessing.process")
        if processes is not None and processes.parent_process() is not None:
            from multiprocessing.util import Finalize

            Finalize(None, self._end, exitpriority=0)

    def _end(self) -> None:
        if os.getpid() == self._log.pid and not self._ended:  # not a fork of the program
            self._ended = True
            self._session.stop()
            codes = [finding.code.id for finding in self._session.report]
            self._log.say({"end": {"skipped": sum(self._session.skipped.values()), "codes": codes}})


class _Log:
    """Tells the command that started the program of each launch, a line of JSON for each."""

    def __init__(self, folder: str | None) -> None:
        self.pid = os.getpid()
        self._path = None if folder is None else os.path.join(folder, f"{self.pid}.jsonl")
        self.say({})  # this process has JAX

    def launch(self, launch: CapturedLaunch) -> None:
        self.say({"path": launch.path, "kernel": launch.kernel})

    def say(self, line: dict[str, Any]) -> None:
        if self._path is not None:
            with suppress(OSError), open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def reports_in(folder: str) -> list[ChildReport]:
    """What the processes of a program said in a folder; a line that cannot be read is passed over."""
    found = []
    for name in sorted(os.listdir(folder)):
        report = ChildReport(int(name.removesuffix(".jsonl")))
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for line in file:
                with suppress(ValueError, TypeError, KeyError):
                    _add(report, json.loads(line))
        found.append(report)
    return found


def _add(report: ChildReport, said: dict[str, Any]) -> None:
    if "path" in said:
        report.paths.append(said["path"])
        report.kernels.add(said["kernel"])
    elif "end" in said:
        report.skipped, report.ended = said["end"]["skipped"], True
        report.codes |= {*said["end"]["codes"]}
