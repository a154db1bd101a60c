"""MGT6xx: the output cannot be written as asked; MGT9xx: our own bug."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "CANNOT_WRITE",
    "COMPAT_DIFFERS",
    "COMPAT_LEFT_OUT",
    "INTERNAL",
    "NAME_ALTERED",
    "NOTHING_SELECTED",
    "OUTPUT_FOLDER",
    "OUT_OF_MEMORY",
    "TIME_TOO_LONG",
    "UNKNOWN_FORMAT",
]

OUTPUT_FOLDER: Final = Code("MGT601", "output-folder", Severity.ERROR, "the output's folder does not exist")

CANNOT_WRITE: Final = Code("MGT602", "cannot-write", Severity.ERROR, "the output cannot be written")

UNKNOWN_FORMAT: Final = Code(
    "MGT603", "unknown-format", Severity.ERROR, "the output's suffix is not a known format"
)

NAME_ALTERED: Final = Code("MGT604", "name-altered", Severity.INFO, "a name could not be written as it is")

NOTHING_SELECTED: Final = Code(
    "MGT605", "nothing-selected", Severity.WARNING, "the selection matches nothing"
)

TIME_TOO_LONG: Final = Code("MGT606", "time-too-long", Severity.ERROR, "times do not fit the trace format")

COMPAT_LEFT_OUT: Final = Code(
    "MGT607", "compat-left-out", Severity.WARNING, "tracks that JAX's dump refuses were left out"
)

COMPAT_DIFFERS: Final = Code("MGT608", "compat-differs", Severity.INFO, "JAX's own numbers are other ones")

INTERNAL: Final = Code("MGT901", "internal", Severity.ERROR, "a bug in mgpu-trace")

OUT_OF_MEMORY: Final = Code("MGT902", "out-of-memory", Severity.ERROR, "the machine's memory is not enough")

CODES: Final[tuple[Code, ...]] = (
    OUTPUT_FOLDER,
    CANNOT_WRITE,
    UNKNOWN_FORMAT,
    NAME_ALTERED,
    NOTHING_SELECTED,
    TIME_TOO_LONG,
    COMPAT_LEFT_OUT,
    COMPAT_DIFFERS,
    INTERNAL,
    OUT_OF_MEMORY,
)
