"""Files that are traces already: Chrome JSON, Perfetto's protobuf, either of them compressed.

By their bytes, not by their names. What is refused here would open as an empty page or as "unknown
trace type"; docs/perfetto.md says how the viewer reads each.
"""

from __future__ import annotations

import zlib
from pathlib import PurePath
from typing import BinaryIO, Final

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.view.hold import reading

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
        MGT612 where it is damaged, ends too early for the viewer to show any of it, is compressed and
        no trace, or is only called a trace; MGT102 where it cannot be read.
    """
    with reading(name):
        return _suffix(file, name)


def _suffix(file: BinaryIO, name: str) -> str | None:
    file.seek(0)
    head = file.read(_HEAD_BYTES)
    is_packed = head.startswith(_GZIP_MAGIC) and not name.lower().endswith(_RAW_ENDINGS)
    inside, is_all = _unpacked(head, name) if is_packed else (head, len(head) < _HEAD_BYTES)
    suffix = _suffix_of(inside, is_all)
    if suffix is None:
        if is_packed:
            hint = "decompress it first: gunzip -c FILE | mgpu-trace open -"
            raise _no_trace(name, "is gzip data with no trace in it", hint)
        _check_name(head, name)
        return None
    _check_end(file, name, is_packed, is_object=suffix == ".json" and inside.lstrip().startswith(b"{"))
    return f"{suffix}.gz" if is_packed else suffix


def _unpacked(head: bytes, name: str) -> tuple[bytes, bool]:
    """The beginning of what is in gzip data, and whether that is all."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        return unpacker.decompress(head, _HEAD_BYTES), unpacker.eof
    except zlib.error:
        raise _no_trace(name, "is damaged gzip data") from None


def _check_name(head: bytes, name: str) -> None:
    """Refuse what is only called a trace; the name of a spec ends in .json too."""
    if not name.lower().endswith(_TRACE_ENDINGS) or b"mgpu-trace/spec" in head:
        return
    what = f"is no trace, although it is called {PurePath(name).suffix}" if head else "is empty"
    raise _no_trace(name, what)


def _check_end(file: BinaryIO, name: str, is_packed: bool, is_object: bool) -> None:
    from mgpu_trace.view.whole import NotWhole, check_whole

    try:
        check_whole(file, is_packed=is_packed, is_object=is_object)
    except NotWhole as fault:
        raise _no_trace(name, f"{fault}, and the viewer would show nothing of it") from None


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


def _no_trace(name: str, what: str, hint: str = "") -> MgpuTraceError:
    hint = hint or "make it again with mgpu-trace dump, or give the buffer itself"
    return MgpuTraceError(Diagnostic(catalogue.NOT_A_TRACE, what, hint=hint, file=name))
