"""What goes wrong in a capture: kept for the report, and said once on standard error."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from dataclasses import replace

from mgpu_trace.diagnostics import Code, Diagnostic, Report
from mgpu_trace.diagnostics.clip import counted


class Findings:
    """One finding for each code and each thing that it is about; filled from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], Diagnostic] = {}

    @property
    def report(self) -> Report:
        """Everything so far."""
        with self._lock:
            return Report.of(self._found.values())

    def add(self, found: Diagnostic, about: str = "") -> None:
        """Keep ``found``, or count it where its kind is there; say it the first time."""
        key = (found.code.id, about)
        with self._lock:
            first = self._found.get(key)
            self._found[key] = found if first is None else _once_more(first)
        if first is None:
            announce(found.line())

    def say_total(self, code: Code) -> None:
        """Say once more what was found more than once."""
        found = self.report.of_code(code)
        if found is not None and found.count > 1:
            announce(found.line())


def _once_more(found: Diagnostic) -> Diagnostic:
    n = found.count + 1
    before, after = (f"{counted(k, 'launch')} lost" for k in (found.count, n))
    return replace(found, count=n, message=found.message.replace(before, after))


def announce(line: str) -> None:
    """A line on standard error, where there is one."""
    if sys.stderr is not None:
        with suppress(Exception):  # closed, or a pipe that nobody reads: the program goes on
            sys.stderr.write(f"mgpu-trace: {line}\n")
