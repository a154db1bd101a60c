"""``.npz``: our container (``words`` and ``spec``), or a plain one with one array.

The container as :func:`write_npz` makes it: ``words.npy`` (uint32, stored and aligned, so that it
can be mapped) and ``spec.npy``, a 0-d unicode array that holds the spec as ASCII JSON. On reading,
``spec`` may also be 0-d bytes or a 1-d array of uint8. ``packed``, ``kept`` and ``shape`` may stand for
``words`` (see packed.py).
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.files import whole_file
from mgpu_trace.model import U32
from mgpu_trace.read.memory_file import MemoryFile
from mgpu_trace.read.npy import MAX_HEADER_BYTES, check_buffer, corrupt, parse_header, take
from mgpu_trace.read.packed import PACKED_NAMES, kept_words, unpack
from mgpu_trace.read.packed import pack as pack_tracks
from mgpu_trace.read.source import Source
from mgpu_trace.read.specfile import MAX_SPEC_BYTES
from mgpu_trace.read.words import Words
from mgpu_trace.spec import TraceSpec

WORDS_NAME = "words"
SPEC_NAME = "spec"
_CHUNK_BYTES = 1 << 24
# The most that deflate can shrink data; an entry that claims more lies.
# A compressed array is held in memory whole; a few MiB of hostile file can ask for far more.
MAX_UNPACKED_BYTES = 4 << 30
_MAX_DEFLATE_RATIO = 1040
_LOCAL_HEADER_BYTES = 30
# Arrays that a zip holds at an odd place are copied up to this size: NumPy is slower on them.
_COPY_UNALIGNED_BYTES = 1 << 26
_MAX_LISTED = 8
_PADDING_ID = 0xD935  # the id that Android's zipalign pads with


def read_npz(source: Source, array: str | None = None) -> Words:
    """Read the buffer of an ``.npz``, and the spec beside it.

    Raises
    ------
    MgpuTraceError
        MGT104 to MGT110; MGT202 when ``spec`` is not text.
    """
    try:
        with zipfile.ZipFile(MemoryFile(source.data)) as archive:
            entries = _entries(archive)
            if array is None and WORDS_NAME not in entries and {*PACKED_NAMES} <= {*entries}:
                name, words = PACKED_NAMES[0], _read_packed(source, archive, entries)
            else:
                name = _choose(entries, array)
                words = _read_words(source, archive, entries[name])
            if SPEC_NAME in entries and name != SPEC_NAME:
                words = _with_spec(words, _read_spec(archive, entries[SPEC_NAME]))
            return words
    except (MgpuTraceError, TypeError, AttributeError, NameError):
        raise  # the last three would be faults of ours
    except MemoryError:
        raise MgpuTraceError(
            Diagnostic(catalogue.OUT_OF_MEMORY, "does not fit in memory", hint="save it as .npy")
        ) from None
    except Exception as error:  # a hostile archive ends in a dozen types: every byte of it is data
        raise corrupt(f"the archive cannot be read ({_first_line(error)})") from None


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()
    return text[0][:120] if text else type(error).__name__


def _with_spec(words: Words, spec: str) -> Words:
    return Words(words.flat, words.shape, words.offset, spec, words.diagnostics)


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The arrays of the archive by name."""
    found = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    entries = {info.filename.removesuffix(".npy"): info for info in found}
    if not entries:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.NOT_A_BUFFER,
                f"is a zip archive of {len(archive.infolist())} files and holds no array",
                hint="give the raw uint32 buffer (.npy, .npz, .bin, .u32)",
            )
        )
    if len(entries) < len(found):
        raise corrupt("two arrays of the archive have the same name")
    return entries


def _choose(entries: Mapping[str, Any], array: str | None) -> str:
    if array is not None:
        wanted = array if array in entries else array.removesuffix(".npy")
        if wanted in entries:
            return wanted
    else:
        if WORDS_NAME in entries:
            return WORDS_NAME
        others = [name for name in entries if name != SPEC_NAME]
        if len(others) == 1:
            return others[0]
    names = list(entries)
    listed = ", ".join(name[:80] for name in names[:_MAX_LISTED])
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    what = "several arrays" if array is None else f"no array called {array[:80]}"
    raise MgpuTraceError(
        Diagnostic(
            catalogue.ARRAY_CHOICE,
            f"holds {what}: it has {listed}{more}",
            hint="choose one with --array NAME",
        )
    )


def _read_words(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Words:
    _check_entry(info)
    with archive.open(info) as entry:
        head = entry.read(MAX_HEADER_BYTES + 12)
        header = parse_header(head, info.file_size)
        check_buffer(header, info.file_size)
        start = _stored_at(source, info)
        if start is not None:
            _check_crc(source, info, start)
            return take(source.data, header, start, info.file_size)
        # Read, not mapped: there are no pages of the file to give back.
        return replace(take(_read_rest(entry, head), header), offset=None)


def _read_packed(source: Source, archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]) -> Words:
    """The buffer of a container that leaves out unused words; they read as zero."""
    packed, kept, shape = (_read_words(source, archive, entries[name]).flat for name in PACKED_NAMES)
    if shape.size != 2 or kept.size != shape[0] or shape[1] == 0:
        raise corrupt("packed: shape is not the number of tracks and of their words")
    n_tracks, words = map(int, shape)
    if n_tracks * words * 4 > MAX_UNPACKED_BYTES:
        raise _too_large("packed", n_tracks * words * 4)
    if int(kept.max()) > words or int(kept.sum(dtype=np.int64)) != packed.size:
        raise corrupt(f"packed: {packed.size} words are not those that kept says")
    return Words(unpack(packed, kept, words), (n_tracks, words), None, None, ())


def _too_large(name: str, n_bytes: int) -> MgpuTraceError:
    return MgpuTraceError(
        Diagnostic(
            catalogue.OUT_OF_MEMORY,
            f"{name} unpacks to {n_bytes} bytes in memory, more than {MAX_UNPACKED_BYTES >> 30} GiB",
            hint="save it as .npy, which is mapped",
        )
    )


def _check_entry(info: zipfile.ZipInfo) -> None:
    if (
        info.compress_type == zipfile.ZIP_DEFLATED
        and info.file_size > info.compress_size * _MAX_DEFLATE_RATIO + 64
    ):
        raise corrupt(
            f"{info.filename} claims {info.file_size} bytes, more than {info.compress_size} can become"
        )
    if info.compress_type != zipfile.ZIP_STORED and info.file_size > MAX_UNPACKED_BYTES:
        raise _too_large(info.filename, info.file_size)


def _stored_at(source: Source, info: zipfile.ZipInfo) -> int | None:
    """The byte at which a stored entry lies in the file; None where it is better read."""
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        return None
    local = source.data[info.header_offset : info.header_offset + _LOCAL_HEADER_BYTES]
    name_bytes, extra_bytes = struct.unpack("<HH", local[26:30])
    start: int = info.header_offset + _LOCAL_HEADER_BYTES + name_bytes + extra_bytes
    if start + info.file_size > len(source.data):
        raise corrupt(f"{info.filename} goes on after the end of the archive")
    aligned = start % 4 == 0  # NumPy pads an .npy's header to 64 bytes
    return start if aligned or info.file_size > _COPY_UNALIGNED_BYTES else None


def _check_crc(source: Source, info: zipfile.ZipInfo, start: int) -> None:
    crc = 0
    for at in range(start, start + info.file_size, _CHUNK_BYTES):
        end = min(at + _CHUNK_BYTES, start + info.file_size)
        with memoryview(source.data) as view, view[at:end] as part:
            crc = zlib.crc32(part, crc)
        source.release(at, end)
    if crc != info.CRC:
        raise corrupt(f"{info.filename} does not match its checksum")


def _read_rest(entry: Any, head: bytes) -> bytearray:
    """All of an entry. Grows with what is really there, whatever the archive claims."""
    data = bytearray(head)
    while chunk := entry.read(_CHUNK_BYTES):
        data += chunk
    return data


def _read_spec(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    """The JSON text of the container's spec."""
    _check_entry(info)
    if info.file_size > MAX_SPEC_BYTES:
        raise _bad_spec(f"a spec is not larger than {MAX_SPEC_BYTES >> 20} MiB")
    with archive.open(info) as entry:
        data = entry.read(MAX_SPEC_BYTES)
    header = parse_header(data[: MAX_HEADER_BYTES + 12], len(data))
    if header.end > len(data):
        raise corrupt(f"{info.filename} ends before its data does")
    is_bytes = header.dtype == np.uint8 and len(header.shape) == 1
    if not (is_bytes or (header.dtype.kind in "US" and header.count == 1)):
        raise _bad_spec(f"spec is {header.dtype.name} of shape {header.shape}, not a text")
    try:
        if is_bytes:
            return data[header.body : header.end].decode("utf-8-sig")
        value = np.frombuffer(data, header.dtype, 1, header.body)[0]
        return value.decode("utf-8-sig") if isinstance(value, bytes) else str(value)
    except ValueError:
        raise _bad_spec("spec is not UTF-8 text") from None


def _bad_spec(message: str) -> MgpuTraceError:
    return MgpuTraceError(
        Diagnostic(catalogue.SPEC_INVALID, message, hint="spec is a JSON text as a 0-d unicode array")
    )


def write_npz(path: str | os.PathLike[str], words: U32, spec: TraceSpec, *, pack: bool = False) -> None:
    """Write the one-file container; it appears whole or not at all.

    Parameters
    ----------
    words
        Unsigned 32-bit words of any shape that :func:`read_npz` takes.
    spec
        What is known about the launch.
    pack
        Leave out the words that no event uses, where that makes the file smaller. They read as zero.

    Raises
    ------
    MgpuTraceError
        MGT601 where the folder is missing, MGT602 where it cannot be written.
    """
    with whole_file(path) as file:
        write_container(file, words, spec, pack=pack)


def write_container(file: BinaryIO, words: U32, spec: TraceSpec, *, pack: bool = False) -> None:
    """Write what :func:`write_npz` does to an open file."""
    arrays = _packed(words, spec) if pack else {WORDS_NAME: np.ascontiguousarray(words, "<u4")}
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            _write(archive, name, array)
        _write(archive, SPEC_NAME, np.array(json.dumps(spec.to_dict())))


def _packed(words: U32, spec: TraceSpec) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of a packed container, or the words themselves where it would be no smaller."""
    flat = np.ascontiguousarray(words, "<u4").reshape(-1)
    tracks = flat.reshape(-1, spec.words_per_track)
    kept = kept_words(tracks)
    if int(kept.sum(dtype=np.int64)) + kept.size >= flat.size:
        return {WORDS_NAME: flat}
    shape = np.array(tracks.shape, np.uint32)
    return dict(zip(PACKED_NAMES, (pack_tracks(tracks, kept), kept, shape), strict=True))


def _write(archive: zipfile.ZipFile, name: str, array: np.ndarray[Any, Any]) -> None:
    info = zipfile.ZipInfo(f"{name}.npy")
    info.extra = _padding(info.filename)
    head = io.BytesIO()
    npy_format.write_array_header_1_0(head, npy_format.header_data_from_array_1_0(array))
    info.file_size = len(head.getvalue()) + array.nbytes
    with archive.open(info, "w") as entry:
        entry.write(head.getvalue())
        flat = array.reshape(-1).view(np.uint8)
        for at in range(0, array.nbytes, _CHUNK_BYTES):
            entry.write(flat[at : at + _CHUNK_BYTES].data)


def _padding(filename: str) -> bytes:
    """An extra field after which the entry begins at a multiple of 4, as a map wants it.

    Only the first entry of the archive has a known place; later ones come out as they may.
    """
    used = _LOCAL_HEADER_BYTES + len(filename) + 4
    return struct.pack("<HH", _PADDING_ID, -used % 4) + bytes(-used % 4)
