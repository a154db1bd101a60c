"""What a file is, by its bytes and not by its name alone."""

from __future__ import annotations

import enum
import shlex
import zipfile

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.read.memory_file import MemoryFile
from mgpu_trace.read.source import STDIN_NAME, Source

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGIC = b"PK\x03\x04"
ZIP_EMPTY_MAGIC = b"PK\x05\x06"
RAW_SUFFIXES = (".bin", ".u32")

# Only kinds that people have beside a profile; the rest is "not a profile buffer" all the same.
_KNOWN = (
    (b"\x1f\x8b", "gzip data", "decompress it first: gunzip -c FILE | mgpu-trace dump -"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "decompress it first: zstd -dc FILE | mgpu-trace dump -"),
    (b"\xfd7zXZ\x00", "xz data", "decompress it first: xz -dc FILE | mgpu-trace dump -"),
    (b"BZh", "bzip2 data", "decompress it first: bunzip2 -c FILE | mgpu-trace dump -"),
    (b"\x89PNG", "a PNG image", ""),
    (b"%PDF", "a PDF", ""),
    (b"\x7fELF", "an ELF program", ""),
    (b"\x89HDF", "an HDF5 file", "save the array of words with numpy.save"),
    (b"PAR1", "a Parquet file", ""),
    (b"SQLite format 3", "an SQLite database (an Nsight Systems report?)", ""),
    (b"\x80\x02", "a Python pickle", "save the buffer with numpy.save"),
    (b"\x80\x03", "a Python pickle", "save the buffer with numpy.save"),
    (b"\x80\x04", "a Python pickle", "save the buffer with numpy.save"),
    (b"\x80\x05", "a Python pickle", "save the buffer with numpy.save"),
    (b"\xff\xfe", "UTF-16 text", ""),
    (b"\xfe\xff", "UTF-16 text", ""),
)
_HINT = "give the raw uint32 buffer (.npy, .npz, .bin, .u32)"
_HEAD_BYTES = 4096


class Kind(enum.Enum):
    """How a source holds its words."""

    NPY = "npy"
    NPZ = "npz"
    RAW = "raw"


def kind_of(source: Source) -> Kind:
    """The container of ``source``.

    Raises
    ------
    MgpuTraceError
        MGT104, saying what the file looks like, when it is none of ours; MGT105 when it is
        less than the magic bytes of an .npy.
    """
    head = bytes(source.data[:_HEAD_BYTES])
    may_be_raw = source.name == STDIN_NAME or source.suffix in RAW_SUFFIXES
    if head.startswith(NPY_MAGIC):
        return Kind.NPY
    if head.startswith((ZIP_MAGIC, ZIP_EMPTY_MAGIC)) and (
        not may_be_raw or zipfile.is_zipfile(MemoryFile(source.data))
    ):
        return Kind.NPZ
    if NPY_MAGIC.startswith(head):
        raise MgpuTraceError(
            Diagnostic(
                catalogue.FILE_TRUNCATED,
                f"ends inside the magic bytes of an .npy: {len(head)} of {len(NPY_MAGIC)} bytes found, "
                "0 words",
                hint="copy or record the file again",
            )
        )
    found = _looks_like(head)
    if may_be_raw and (found is None or _begins_with_header(head)):
        return Kind.RAW
    what, hint = found or (f"bytes of no known kind ({head[:8].hex(' ')})", "")
    if found is None:
        piped = f"mgpu-trace dump - < {shlex.quote(source.name)}"
        hint = f"if it is raw uint32 words, rename it to .u32 or pipe it in: {piped}"
    raise MgpuTraceError(
        Diagnostic(catalogue.NOT_A_BUFFER, f"not a profile buffer: looks like {what}", hint=hint or _HINT)
    )


def _begins_with_header(head: bytes) -> bool:
    """Whether the second word can be an SM id, which no text and no magic number allows."""
    return len(head) >= 16 and head[6:8] == b"\0\0"


def _looks_like(head: bytes) -> tuple[str, str] | None:
    """What the first bytes belong to, and a way on; None when nothing is recognised."""
    for magic, what, hint in _KNOWN:
        if head.startswith(magic):
            return what, hint
    try:
        # A cut in the middle of a character is the head's end, not a fault.
        text = head.decode("utf-8", "strict" if len(head) < _HEAD_BYTES else "ignore")
    except UnicodeDecodeError:
        return None
    if any(c < " " and c not in "\t\n\r\f\x1b" for c in text):
        return None
    return _text_kind(text.lstrip("\ufeff \t\r\n"))


def _text_kind(text: str) -> tuple[str, str]:
    if "mgpu-trace/spec" in text:
        return "a spec (JSON)", "give the buffer beside it; its spec is found by its name"
    if "traceEvents" in text or '"ph"' in text:
        return "a Chrome trace (JSON)", "it is converted already: open it in https://ui.perfetto.dev"
    if text.startswith(("{", "[")):
        return "JSON", ""
    return "text", ""
