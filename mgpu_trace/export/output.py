"""Where a trace goes: a file that appears whole or not at all, or a stream.

A file is written under a temporary name in its own folder and renamed when it is complete.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.export import FORMATS, Source

# On this text level 1 is a quarter larger than level 6, in a third of its time.
_GZIP_LEVEL: Final = 1


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a file name's suffix stands for.

    Raises
    ------
    MgpuTraceError
        MGT603 when there is none.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return "json"  # a device or a pipe has no suffix to go by
    name = os.fspath(path).lower()
    for format_name, suffixes in FORMATS.items():
        if name.endswith(suffixes):
            return format_name
    known = ", ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
    raise MgpuTraceError(
        Diagnostic(
            catalogue.UNKNOWN_FORMAT,
            f"no format is known for {Path(name).suffix or 'a name without a suffix'!r}",
            hint=f"known: {known}",
            file=os.fspath(path),
        )
    )


def write_trace(
    source: Source, destination: str | os.PathLike[str] | BinaryIO, options: Any = None
) -> list[Diagnostic]:
    """Write ``source`` to a file (format and compression by its suffix) or to a stream as plain JSON.

    Parameters
    ----------
    source
        A Timeline or a Launch.
    destination
        A file name, or an open binary stream (which is left open).
    options
        :class:`~mgpu_trace.export.chrome.ChromeOptions`.

    Raises
    ------
    MgpuTraceError
        MGT601 to MGT603; no partial file is left behind.
    """
    from mgpu_trace.export.chrome import write_chrome

    if not isinstance(destination, str | os.PathLike):
        return write_chrome(source, destination, options)
    format_of(destination)
    with open_output(destination) as sink:
        return write_chrome(source, sink, options)


@contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose contents become the file ``path`` when the block ends without an error.

    A name that ends in ``.gz`` is compressed. Anything that is not a plain file (``/dev/null``, a
    named pipe) is written to directly: it cannot be replaced.
    """
    path = os.fspath(path)
    try:
        direct = os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
        if direct:
            with open(path, "wb") as stream:
                yield from _maybe_compressed(path, stream)
            return
        with _replacing(path) as stream:
            yield from _maybe_compressed(path, stream)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _maybe_compressed(path: str, stream: BinaryIO) -> Iterator[BinaryIO]:
    if not path.lower().endswith(".gz"):
        yield stream
        return
    with gzipped(stream) as packed:
        yield packed


@contextmanager
def gzipped(stream: BinaryIO) -> Iterator[BinaryIO]:
    """A stream whose bytes arrive compressed in ``stream``, which stays open."""
    # No name and no time in the header: equal traces are equal files.
    with gzip.GzipFile("", "wb", _GZIP_LEVEL, stream, mtime=0) as packed:
        yield cast(BinaryIO, packed)


@contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """A temporary file beside ``path`` that takes its place at the end, or is removed."""
    folder, name = os.path.split(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{name[:64]}.", suffix=".part", dir=folder or ".")
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
