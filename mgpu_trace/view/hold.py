"""Files that can seek and that nobody has to delete: they have no name, and go when they are closed.

That is also so when the process is killed: the system frees what no process has open.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, cast

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue

_PART_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Held:
    """An input that can seek; ``was_stream`` where it was copied to be so."""

    file: BinaryIO
    was_stream: bool = False


def hold(source: str) -> Held | None:
    """A file, or standard input for ``"-"``; None where it is none of the two, or cannot be opened.

    Raises
    ------
    MgpuTraceError
        MGT102 where a stream cannot be read to its end, MGT602 where it finds no room for its copy.
    """
    try:
        if source == "-":
            handle = os.dup(sys.stdin.buffer.fileno())
        else:
            handle = os.open(source, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError, AttributeError):  # not there; a NUL in the path; no standard input
        return None
    kind = os.fstat(handle).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        os.close(handle)
        return None  # a folder, a device that may never end
    # Unbuffered: the place in the file is shared with standard input, and put back by a true seek.
    file = cast(BinaryIO, open(handle, "rb", buffering=0))  # noqa: SIM115 - the caller's to close
    if stat.S_ISREG(kind) and file.tell() == 0:
        return Held(file)
    with file:
        return Held(_copy(file, "<stdin>" if source == "-" else source), was_stream=True)


def _copy(stream: BinaryIO, name: str) -> BinaryIO:
    copy = nameless_file()
    try:
        with room_for(copy):
            copy.writelines(_parts(stream, name))
        copy.seek(0)
    except BaseException:
        copy.close()
        raise
    return copy


def _parts(stream: BinaryIO, name: str) -> Iterator[bytes]:
    with reading(name):
        while (part := stream.read(_PART_BYTES)) != b"":
            if part is None:  # a pipe that somebody else has made non-blocking
                select.select([stream], [], [])
            else:
                yield part


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Inside, a file that is open already is read.

    Raises
    ------
    MgpuTraceError
        MGT102 where the system cannot read on.
    """
    try:
        yield
    except OSError as error:
        what, hint = error.strerror or str(error), "name a file that can be read"
        raise MgpuTraceError(Diagnostic(catalogue.FILE_UNREADABLE, what, hint=hint, file=name)) from error


def nameless_file() -> BinaryIO:
    """A temporary file without a name.

    Raises
    ------
    MgpuTraceError
        MGT602 where none can be made.
    """
    with room_for(None):
        return cast(BinaryIO, tempfile.TemporaryFile())


@contextlib.contextmanager
def room_for(file: BinaryIO | None) -> Iterator[None]:
    """Inside, ``file`` is filled; it is complete when the block ends.

    Raises
    ------
    MgpuTraceError
        MGT602 where the temporary folder has no room for it.
    """
    try:
        yield
        if file is not None:
            file.flush()
    except OSError as error:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.CANNOT_WRITE,
                f"cannot write a temporary file: {error.strerror or error}",
                hint="TMPDIR=FOLDER names a folder with room for the trace",
                file=tempfile.tempdir or "TMPDIR",
            )
        ) from error
