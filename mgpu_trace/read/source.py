"""The bytes of a source: a file that is memory-mapped, or a stream that is held in memory."""

from __future__ import annotations

import io
import mmap
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mgpu_trace.diagnostics import Code, Diagnostic, MgpuTraceError, catalogue

STDIN = "-"
STDIN_NAME = "<stdin>"


# Mapped files up to this size keep their pages.
_KEPT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """Everything a source holds.

    Attributes
    ----------
    name
        The source as the user wrote it; ``"<stdin>"`` for ``"-"``.
    data
        Its bytes; read-only.
    path
        Where it is, where it is a file.
    """

    name: str
    data: mmap.mmap | bytes
    path: Path | None = None

    @property
    def suffix(self) -> str:
        return "" if self.path is None else self.path.suffix.lower()

    def release(self, first: int, last: int) -> None:
        """Let go of the mapped pages of bytes ``first`` to ``last``; they can be read again.

        The page that ``last`` cuts stays until the next range, which starts in it, is released.
        """
        if len(self.data) < _KEPT_BYTES:
            return  # cheaper kept than fetched again
        if isinstance(self.data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            start = first // mmap.PAGESIZE * mmap.PAGESIZE
            stop = last if last >= len(self.data) else last // mmap.PAGESIZE * mmap.PAGESIZE
            if stop > start:
                self.data.madvise(mmap.MADV_DONTNEED, start, stop - start)


def name_of(source: str | os.PathLike[str]) -> str:
    """The source as a message names it."""
    text = os.fsdecode(source)
    return STDIN_NAME if text == STDIN else text


def open_source(source: str | os.PathLike[str]) -> Source:
    """Open a file, or standard input for ``"-"``.

    Raises
    ------
    MgpuTraceError
        MGT101 or MGT102 when it is not there or cannot be read, MGT103 when it has no bytes.
    """
    name = name_of(source)
    try:
        opened = _stdin(name) if name == STDIN_NAME else _file(name)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _unreadable(catalogue.FILE_MISSING, error, "check the path") from None
    except MemoryError:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.OUT_OF_MEMORY,
                "does not fit in memory",
                hint="give a file, not a pipe; a file needs address space of its size (ulimit -v)",
            )
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path, a closed stream
        raise _unreadable(catalogue.FILE_UNREADABLE, error, "name a file that can be read") from None
    if len(opened.data) == 0:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.FILE_EMPTY,
                "empty file: the dump failed or was interrupted",
                hint="JAX creates its output before it decodes; record the launch again",
            )
        )
    return opened


def _file(name: str) -> Source:
    with open(name, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError("is a device, not a file")  # reading /dev/zero would never end
        return Source(name, _map(file) if stat.S_ISREG(mode) else file.read(), Path(name))


def _stdin(name: str) -> Source:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise OSError("standard input is closed")
    try:
        handle = stream.fileno()
        redirected = stat.S_ISREG(os.fstat(handle).st_mode) and stream.tell() == 0
    except (OSError, ValueError):  # a stream without a file, or one that cannot seek
        redirected = False
    return Source(name, _map(stream) if redirected else stream.read())


def _map(file: BinaryIO | io.BufferedReader) -> mmap.mmap | bytes:
    """The whole of a regular file; in memory where the file system has no maps."""
    try:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # ValueError: a size of 0, which files in /proc have too
        return file.read()


def _unreadable(code: Code, error: Exception, hint: str) -> MgpuTraceError:
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return MgpuTraceError(Diagnostic(code, words, hint=hint))
