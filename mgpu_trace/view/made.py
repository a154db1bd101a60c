"""Files that are traces already: Chrome JSON, Perfetto's protobuf, either of them compressed.

By their bytes, not by their names. What is refused here would open as an empty page or as "unknown
trace type"; docs/perfetto.md says how the viewer reads each.
"""

from __future__ import annotations

import os
import zlib
from pathlib import PurePath
from typing import BinaryIO, Final

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue

_GZIP_MAGIC: Final = b"\x1f\x8b"
_HEAD_BYTES: Final = 1 << 20
# A trace is a row of packets, each under field 1 with a length. So many that fit one another are no accident.
_PACKET_TAG: Final = 0x0A
_PACKETS: Final = 64
_MOST_VARINT_BYTES: Final = 10
_TRACE_ENDINGS: Final = (".json", ".json.gz", ".pftrace", ".pftrace.gz", ".perfetto-trace")
_RAW_ENDINGS: Final = (".bin", ".u32")


def trace_suffix(file: BinaryIO, name: str) -> str | None:
    """The suffix of the trace that ``file`` is, such as ``.json.gz``; None where it is none.

    Parameters
    ----------
    file
        A file that can seek; its position is not kept.
    name
        What the user called it.

    Raises
    ------
    MgpuTraceError
        MGT612 where it is damaged, is compressed and no trace, or is only called a trace.
    """
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    if head.startswith(_GZIP_MAGIC) and not name.lower().endswith(_RAW_ENDINGS):
        return f"{_packed_suffix(head, name)}.gz"
    suffix = _suffix_of(head, whole=len(head) < _HEAD_BYTES)
    if suffix is None and head and name.lower().endswith(_TRACE_ENDINGS) and b"mgpu-trace/spec" not in head:
        raise _no_trace(name, f"is no trace, although it is called {PurePath(name).suffix}")
    if suffix == ".json" and head.lstrip().startswith(b"{") and _last_byte(file) != b"}":
        raise _no_trace(name, "ends before its JSON does, and the viewer would show nothing of it")
    return suffix


def _packed_suffix(head: bytes, name: str) -> str:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        inside = unpacker.decompress(head, _HEAD_BYTES)
    except zlib.error:
        raise _no_trace(name, "is damaged gzip data") from None
    suffix = _suffix_of(inside, whole=unpacker.eof)
    if suffix is None:
        hint = "decompress it first: gunzip -c FILE | mgpu-trace open -"
        raise _no_trace(name, "is gzip data with no trace in it", hint)
    return suffix


def _suffix_of(head: bytes, whole: bool) -> str | None:
    start = b"".join(head[:64].split())  # as the viewer looks at it
    if start.startswith(b'{"') and b'"traceEvents"' in head:
        return ".json"
    if start.startswith(b'[{"') and b'"ph"' in head:
        return ".json"
    return ".pftrace" if _is_packets(head, whole) else None


def _is_packets(head: bytes, whole: bool) -> bool:
    """Whether ``head`` is a row of length-delimited packets, to its end or for as many as count."""
    at = n = 0
    while at < len(head) and n < _PACKETS:
        if head[at] != _PACKET_TAG:
            return False
        length, at = _varint(head, at + 1)
        if length is None:
            return n > 0 and not whole  # the head ends inside a length
        at += length
        n += 1
    return n > 0 and (at <= len(head) or not whole)


def _varint(data: bytes, at: int) -> tuple[int | None, int]:
    """The number at ``at`` and where it ends; None where it does not end."""
    value = 0
    for i in range(_MOST_VARINT_BYTES):
        if at + i >= len(data):
            break
        value |= (data[at + i] & 0x7F) << 7 * i
        if data[at + i] < 0x80:
            return value, at + i + 1
    return None, at


def _last_byte(file: BinaryIO) -> bytes:
    """The last byte that is no white space."""
    n_bytes = file.seek(0, os.SEEK_END)
    file.seek(max(0, n_bytes - 64))
    return file.read().rstrip()[-1:]


def _no_trace(name: str, what: str, hint: str = "") -> MgpuTraceError:
    hint = hint or "make it again with mgpu-trace dump, or give the buffer itself"
    return MgpuTraceError(Diagnostic(catalogue.NOT_A_TRACE, what, hint=hint, file=name))
