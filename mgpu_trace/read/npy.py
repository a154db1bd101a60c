"""``.npy``: the header by NumPy's own reader (never pickle), the body in place."""

from __future__ import annotations

import io
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.read.source import Source
from mgpu_trace.read.words import Words, check_dtype, check_shape, is_plain, to_words

_MAGIC_BYTES = 8  # magic, major, minor
# A header holds one type and one shape. NumPy's own reader evaluates at most 10,000 characters.
MAX_HEADER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Header:
    """What an .npy promises: ``body`` is the byte at which its values begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    body: int

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def end(self) -> int:
        """The byte after the last value."""
        return self.body + self.count * self.dtype.itemsize


def read_npy(source: Source) -> Words:
    """Read a whole ``.npy`` file; plain 32-bit integers stay in the map.

    Raises
    ------
    MgpuTraceError
        MGT104 to MGT108 and MGT110.
    """
    header = parse_header(bytes(source.data[: MAX_HEADER_BYTES + 12]), len(source.data))
    check_buffer(header, len(source.data))
    return take(source.data, header)


def take(data: Any, header: Header, start: int = 0, size: int | None = None) -> Words:
    """The words of an .npy that begins at byte ``start`` of ``data`` and was checked."""
    offset = start + header.body
    values = np.frombuffer(data, header.dtype, header.count, offset)
    flat, found = to_words(values, header.shape, header.fortran)
    rest = (len(data) if size is None else size) - header.end
    if rest > 0:
        found += (
            Diagnostic(
                catalogue.TRAILING_BYTES,
                f"{rest} bytes after the array are not read",
                hint="numpy.save was perhaps called twice on one file",
            ),
        )
    plain = is_plain(header.dtype, header.shape, header.fortran)
    return Words(flat, header.shape, offset if plain else None, None, found)


def check_buffer(header: Header, size: int) -> None:
    """Check that ``size`` bytes can hold the array, and that it can be a buffer."""
    check_dtype(header.dtype)
    check_shape(header.shape)
    if header.end > size:
        found = max(0, size - header.body) // header.dtype.itemsize
        raise MgpuTraceError(
            Diagnostic(
                catalogue.FILE_TRUNCATED,
                f"ends before its data does: {found} of {header.count} words found",
                hint="copy or record the file again",
            )
        )


def parse_header(head: bytes, size: int) -> Header:
    """Parse the header at the start of ``head``, the first bytes of ``size``.

    Raises
    ------
    MgpuTraceError
        MGT105 when the file ends inside the header, MGT110 when it cannot be parsed.
    """
    major = head[6] if len(head) > 6 else 1
    if len(head) >= _MAGIC_BYTES and major not in (1, 2, 3):
        raise corrupt(f"unknown .npy version {major}.{head[7]}")
    width = 2 if major == 1 else 4
    length = int.from_bytes(head[_MAGIC_BYTES : _MAGIC_BYTES + width], "little")
    body = _MAGIC_BYTES + width + length
    if length > MAX_HEADER_BYTES:
        raise corrupt(f"its header claims {length} bytes")
    if min(size, len(head)) < max(body, _MAGIC_BYTES + width):
        raise MgpuTraceError(
            Diagnostic(
                catalogue.FILE_TRUNCATED,
                f"ends inside its header: {size} of {body} bytes found, 0 words",
                hint="copy or record the file again",
            )
        )
    shape, fortran, dtype = _parse(head[_MAGIC_BYTES:body], major)
    if any(d < 0 for d in shape) or dtype.itemsize == 0:
        raise corrupt(f"its header claims shape {shape} of {dtype.itemsize}-byte values")
    return Header(dtype, shape, fortran, body)


def _parse(text: bytes, major: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    # Version 3 differs from 2 only in how the names of a record's fields are encoded.
    reader = npy_format.read_array_header_1_0 if major == 1 else npy_format.read_array_header_2_0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a header of Python 2 warns
            shape, fortran, dtype = reader(io.BytesIO(text))
    except Exception as error:  # evaluating a hostile header ends in a dozen types
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise corrupt(f"its header cannot be parsed ({first[:120]})") from None
    return tuple(int(d) for d in shape), bool(fortran), dtype


def corrupt(message: str) -> MgpuTraceError:
    """MGT110 with ``message``."""
    return MgpuTraceError(
        Diagnostic(catalogue.CONTAINER_CORRUPT, message, hint="copy or record the file again")
    )
