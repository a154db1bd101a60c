"""MGT660 to MGT679: many launches at once."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = ["WORKER_KILLED"]

WORKER_KILLED: Final = Code(
    "MGT660", "worker-killed", Severity.ERROR, "the process that worked on a file was killed"
)

CODES: Final[tuple[Code, ...]] = (WORKER_KILLED,)
