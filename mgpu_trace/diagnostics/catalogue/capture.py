"""MGT7xx: launches that could not be captured, or only in part."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "CAPTURE_ACTIVE",
    "CAPTURE_EMPTY",
    "CAPTURE_LOST",
    "CAPTURE_NOT_PROFILED",
    "CAPTURE_NO_COMMAND",
    "CAPTURE_NO_JAX",
    "CAPTURE_SKIPPED",
    "CAPTURE_UNKNOWN_JAX",
]

CAPTURE_ACTIVE: Final = Code("MGT701", "capture-active", Severity.ERROR, "a capture is already running")

CAPTURE_LOST: Final = Code("MGT702", "capture-lost", Severity.ERROR, "a launch could not be kept")

CAPTURE_UNKNOWN_JAX: Final = Code(
    "MGT703", "capture-unknown-jax", Severity.WARNING, "this JAX is not built as the hook expects"
)

CAPTURE_SKIPPED: Final = Code(
    "MGT704", "capture-skipped", Severity.INFO, "launches were left out, as was asked for"
)

CAPTURE_EMPTY: Final = Code("MGT705", "capture-empty", Severity.WARNING, "no profiled launch was seen")

CAPTURE_NO_JAX: Final = Code("MGT706", "capture-no-jax", Severity.ERROR, "JAX cannot be imported")

CAPTURE_NOT_PROFILED: Final = Code(
    "MGT707", "capture-not-profiled", Severity.WARNING, "a kernel could not be profiled"
)

CAPTURE_NO_COMMAND: Final = Code(
    "MGT708", "capture-no-command", Severity.ERROR, "the command to capture cannot be run"
)

CODES: Final[tuple[Code, ...]] = (
    CAPTURE_ACTIVE,
    CAPTURE_LOST,
    CAPTURE_UNKNOWN_JAX,
    CAPTURE_SKIPPED,
    CAPTURE_EMPTY,
    CAPTURE_NO_JAX,
    CAPTURE_NOT_PROFILED,
    CAPTURE_NO_COMMAND,
)
