"""MGT1xx: the file cannot be read, or is not what it says it is."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "ARRAY_CHOICE",
    "BAD_DTYPE",
    "CONTAINER_CORRUPT",
    "FILE_EMPTY",
    "FILE_MISSING",
    "FILE_TRUNCATED",
    "FILE_UNREADABLE",
    "NOT_A_BUFFER",
    "OBJECT_ARRAY",
    "RAGGED_BYTES",
    "TRAILING_BYTES",
    "VALUE_RANGE",
    "WIDE_DTYPE",
]

FILE_MISSING: Final = Code("MGT101", "file-missing", Severity.ERROR, "the file does not exist")

FILE_UNREADABLE: Final = Code(
    "MGT102", "file-unreadable", Severity.ERROR, "the file cannot be opened or read"
)

FILE_EMPTY: Final = Code("MGT103", "file-empty", Severity.ERROR, "the file has no bytes")

NOT_A_BUFFER: Final = Code("MGT104", "not-a-buffer", Severity.ERROR, "the file is not a profile buffer")

FILE_TRUNCATED: Final = Code("MGT105", "file-truncated", Severity.ERROR, "the file ends before its data does")

OBJECT_ARRAY: Final = Code("MGT106", "object-array", Severity.ERROR, "the array holds Python objects")

BAD_DTYPE: Final = Code("MGT107", "bad-dtype", Severity.ERROR, "the array does not hold integers")

VALUE_RANGE: Final = Code("MGT108", "value-range", Severity.ERROR, "a value does not fit in 32 bits")

ARRAY_CHOICE: Final = Code(
    "MGT109", "array-choice", Severity.ERROR, "the .npz does not say which array is the buffer"
)

CONTAINER_CORRUPT: Final = Code("MGT110", "container-corrupt", Severity.ERROR, "the container is damaged")

RAGGED_BYTES: Final = Code(
    "MGT111", "ragged-bytes", Severity.ERROR, "the raw file is not a whole number of 32-bit words"
)

WIDE_DTYPE: Final = Code(
    "MGT112", "wide-dtype", Severity.INFO, "the array's type is not uint32, and every value fits"
)

TRAILING_BYTES: Final = Code("MGT113", "trailing-bytes", Severity.WARNING, "the file goes on after its array")

CODES: Final[tuple[Code, ...]] = (
    FILE_MISSING,
    FILE_UNREADABLE,
    FILE_EMPTY,
    NOT_A_BUFFER,
    FILE_TRUNCATED,
    OBJECT_ARRAY,
    BAD_DTYPE,
    VALUE_RANGE,
    ARRAY_CHOICE,
    CONTAINER_CORRUPT,
    RAGGED_BYTES,
    WIDE_DTYPE,
    TRAILING_BYTES,
)
