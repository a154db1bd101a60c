"""Files that appear whole or not at all, and what is said where they cannot be written.

A file is written under a temporary name in its own folder and renamed when it is complete.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose contents become the file ``path`` when the block ends without an error.

    Anything that is not a plain file is written to directly: it cannot be replaced.

    Raises
    ------
    MgpuTraceError
        MGT601 where the folder is missing, MGT602 where it cannot be written.
    """
    path = os.fspath(path)
    try:
        with open(path, "wb") if is_special(path) else _replacing(path) as stream:
            yield stream
    except OSError as error:
        raise _cannot_write(path, error) from error


class Reserving:
    """Writes to a plain file of which it reserves the room ahead, in steps that double.

    To extend a file block by block costs the kernel a third of the whole write. What was reserved
    and not used is given back by :meth:`settle`.

    Parameters
    ----------
    stream
        A file that was opened for writing, at its start.
    """

    _FIRST_BYTES = 4 << 20
    _MOST_BYTES = 64 << 20

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._written = 0
        self._reserved = 0
        self._step = self._FIRST_BYTES
        self._reserves = hasattr(os, "posix_fallocate")

    def write(self, data: bytes | memoryview) -> int:
        """Write all of ``data``; its size in bytes."""
        n_bytes = memoryview(data).nbytes
        if self._reserves and self._written + n_bytes > self._reserved:
            self._reserve(n_bytes)
        self._stream.write(data)
        self._written += n_bytes
        return n_bytes

    def settle(self) -> None:
        """End the file where the data ends."""
        self._stream.flush()
        if self._reserved > self._written:
            os.ftruncate(self._stream.fileno(), self._written)

    def _reserve(self, n_bytes: int) -> None:
        room = max(n_bytes, self._step)
        try:
            os.posix_fallocate(self._stream.fileno(), self._written, room)
        except OSError:
            # A file system that cannot, or one that is nearly full: the data itself may still fit.
            self._reserves = False
            return
        self._reserved = self._written + room
        self._step = min(2 * self._step, self._MOST_BYTES)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether ``path`` is there and neither a file nor a folder: ``/dev/null``, a named pipe."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """A temporary file beside ``path`` that takes its place at the end, or is removed."""
    folder, name = os.path.split(path)
    # Cut, so that a name of the greatest length still has room for what is added.
    handle, temporary = tempfile.mkstemp(prefix=f".{name[:32]}.", suffix=".part", dir=folder or ".")
    try:
        with open(handle, "wb") as stream:
            yield stream
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(path: str) -> int:
    """The permissions of the file that is replaced, or those of a new file."""
    try:
        return os.stat(path).st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _cannot_write(path: str, error: OSError) -> MgpuTraceError:
    folder = os.path.dirname(path) or "."
    reason = error.strerror or str(error)
    if not os.path.isdir(folder):
        return MgpuTraceError(
            Diagnostic(
                catalogue.OUTPUT_FOLDER, f"folder {folder} does not exist", hint="create it first", file=path
            )
        )
    hint = "write to another place"
    return MgpuTraceError(Diagnostic(catalogue.CANNOT_WRITE, f"cannot write: {reason}", hint=hint, file=path))
