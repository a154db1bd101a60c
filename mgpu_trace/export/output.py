"""Where a trace goes: a file in the format that its suffix stands for, or a stream."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.export import FORMATS, Source
from mgpu_trace.files import Reserving, is_special, whole_file

# On this text level 1 is a quarter larger than level 6, in a third of its time.
_GZIP_LEVEL: Final = 1


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a file name's suffix stands for; JSON for a device or a pipe without one.

    Raises
    ------
    MgpuTraceError
        MGT603 when there is none.
    """
    return _format_of_name(os.fspath(path), "json" if is_special(path) else None)


def _format_of_name(path: str, default: str | None = None) -> str:
    name = path.lower()
    for format_name, known_format in FORMATS.items():
        if name.endswith(known_format.suffixes):
            return format_name
    if default:
        return default
    known = ", ".join(suffix for known_format in FORMATS.values() for suffix in known_format.suffixes)
    raise MgpuTraceError(
        Diagnostic(
            catalogue.UNKNOWN_FORMAT,
            f"no format is known for {Path(name).suffix or 'a name without a suffix'!r}",
            hint=f"known: {known}",
            file=path,
        )
    )


def write_trace(
    source: Source,
    destination: str | os.PathLike[str] | BinaryIO,
    options: Any = None,
    *,
    suffix: str | None = None,
) -> list[Diagnostic]:
    """Write ``source`` to a file or to a stream.

    Parameters
    ----------
    source
        A Timeline or a Launch.
    destination
        A file name, or an open binary stream (which is left open).
    options
        Those of the format: :class:`~mgpu_trace.export.chrome.ChromeOptions` for JSON.
    suffix
        Which format to write, and whether compressed, such as ``".pftrace.gz"``. None: the file name's
        own, and where there is none, as for a stream or ``/dev/stdout``, plain JSON.

    Returns
    -------
    list of Diagnostic
        What could not be written as it is.

    Raises
    ------
    MgpuTraceError
        MGT601 to MGT603; no partial file is left behind.
    """
    if not isinstance(destination, str | os.PathLike):
        write = FORMATS[_format_of_name(suffix or ".json")].writer()
        with gzipped(destination) if _is_packed(suffix or "") else nullcontext(destination) as stream:
            return write(source, stream, options)
    write = FORMATS[_format_of_name(suffix) if suffix else format_of(destination)].writer()
    with open_output(destination, suffix) as sink:
        return write(source, sink, options)


def _is_packed(name: str | os.PathLike[str]) -> bool:
    return os.fspath(name).lower().endswith(".gz")


@contextmanager
def open_output(path: str | os.PathLike[str], suffix: str | None = None) -> Iterator[BinaryIO]:
    """A stream whose contents become the file ``path``, compressed where it, or ``suffix``, ends in ``.gz``.

    Raises
    ------
    MgpuTraceError
        MGT601 and MGT602, as :func:`~mgpu_trace.files.whole_file`.
    """
    with whole_file(path) as stream:
        if _is_packed(suffix or path):
            with gzipped(stream) as packed:
                yield packed
        elif is_special(path):
            yield stream
        else:
            roomy = Reserving(stream)
            yield cast(BinaryIO, roomy)
            roomy.settle()


@contextmanager
def gzipped(stream: BinaryIO) -> Iterator[BinaryIO]:
    """A stream whose bytes arrive compressed in ``stream``, which stays open."""
    # No name and no time in the header: equal traces are equal files.
    with gzip.GzipFile("", "wb", _GZIP_LEVEL, stream, mtime=0) as packed:
        yield cast(BinaryIO, packed)
