"""Any array of integers as flat 32-bit words, or the reason why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.model import U32

_CHUNK = 1 << 20
_LOWEST = -(layout.WORD_RANGE // 2)


@dataclass(frozen=True, slots=True)
class Words:
    """What a container held.

    Attributes
    ----------
    flat
        ``(n_words,)`` unsigned 32-bit words in either byte order, read-only.
    shape
        The array's own shape: 1-D, (tracks, words) or (blocks, tracks per block, words).
    offset
        Byte of the source at which ``flat`` begins, where it is a view of the source.
    spec
        JSON text of the container's own spec.
    diagnostics
        Findings that did not stop the reading.
    """

    flat: U32
    shape: tuple[int, ...]
    offset: int | None = None
    spec: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def check_dtype(dtype: np.dtype[Any]) -> None:
    """Refuse every type that is not an integer: MGT106 for objects, MGT107 for the rest."""
    if dtype.hasobject:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.OBJECT_ARRAY,
                "holds Python objects, not words",
                hint="save it as numbers: numpy.save(path, numpy.asarray(buffer, dtype=numpy.uint32))",
            )
        )
    if dtype.kind not in "ui":
        what = "records" if dtype.names or dtype.kind == "V" else f"{dtype.name} values"
        raise MgpuTraceError(
            Diagnostic(
                catalogue.BAD_DTYPE,
                f"holds {what}, not integers",
                hint="save the buffer that the kernel wrote, as uint32",
            )
        )


def check_shape(shape: tuple[int, ...]) -> None:
    """Refuse a shape that no buffer has (MGT104)."""
    if 1 <= len(shape) <= 3 and all(d > 0 for d in shape):
        return
    if len(shape) == 0:
        what = "a single value"
    elif any(d == 0 for d in shape):
        what = f"an array of 0 words, shape {shape}"
    else:
        what = f"an array of {len(shape)} dimensions"
    raise MgpuTraceError(
        Diagnostic(
            catalogue.NOT_A_BUFFER,
            f"holds {what}, not a profile buffer",
            hint="a buffer is flat, (tracks, words) or (blocks, tracks per block, words)",
        )
    )


def is_plain(dtype: np.dtype[Any], shape: tuple[int, ...], fortran: bool) -> bool:
    """Whether the bytes in the file are the words in order, so that nothing need be copied."""
    return dtype.itemsize == layout.WORD_BYTES and (not fortran or len(shape) == 1)


def to_words(
    values: NDArray[Any], shape: tuple[int, ...], fortran: bool
) -> tuple[U32, tuple[Diagnostic, ...]]:
    """Turn the flat ``values`` of an integer array, in file order, into words in C order.

    Returns
    -------
    flat
        ``(n_words,)``; a view of ``values`` where :func:`is_plain` says so.
    diagnostics
        MGT112 when the type was another one.

    Raises
    ------
    MgpuTraceError
        MGT108 when a value does not fit in 32 bits.
    """
    found: tuple[Diagnostic, ...] = ()
    if values.dtype.itemsize == layout.WORD_BYTES:
        flat: U32 = values.view(values.dtype.str.replace("i", "u"))
    else:
        flat = _converted(values)
        found = (Diagnostic(catalogue.WIDE_DTYPE, f"{values.dtype.name} values were taken as 32-bit words"),)
    if fortran and len(shape) > 1:
        flat = flat.reshape(shape, order="F").ravel(order="C")
    flat.flags.writeable = False
    return flat, found


def _converted(values: NDArray[Any]) -> U32:
    flat = np.empty(values.size, np.uint32)
    for start in range(0, values.size, _CHUNK):
        part = values[start : start + _CHUNK]
        low, high = int(part.min()), int(part.max())
        if low < _LOWEST or high >= layout.WORD_RANGE:
            worst = low if low < _LOWEST else high
            at = start + int(np.flatnonzero(part == worst)[0])
            raise MgpuTraceError(
                Diagnostic(
                    catalogue.VALUE_RANGE,
                    f"value {worst} at index {at} ({values.dtype.name}) does not fit in 32 bits",
                    hint="save the buffer as uint32 where it is made",
                )
            )
        flat[start : start + _CHUNK] = part.astype(np.int64 if low < 0 else np.uint64).astype(np.uint32)
    return flat
