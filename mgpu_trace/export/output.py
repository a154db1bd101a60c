"""Where a trace goes: a file in the format that its suffix stands for, or a stream."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.export import FORMATS, Source
from mgpu_trace.files import Reserving, is_special, whole_file

# On this text level 1 is a quarter larger than level 6, in a third of its time.
_GZIP_LEVEL: Final = 1


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that a file name's suffix stands for.

    Raises
    ------
    MgpuTraceError
        MGT603 when there is none.
    """
    if is_special(path):
        return "json"  # a device or a pipe has no suffix to go by
    name = os.fspath(path).lower()
    for format_name, known_format in FORMATS.items():
        if name.endswith(known_format.suffixes):
            return format_name
    known = ", ".join(suffix for known_format in FORMATS.values() for suffix in known_format.suffixes)
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
    """Write ``source`` to a file (format and compression by its suffix) or to a stream (plain JSON).

    Parameters
    ----------
    source
        A Timeline or a Launch.
    destination
        A file name, or an open binary stream (which is left open).
    options
        Those of the format: :class:`~mgpu_trace.export.chrome.ChromeOptions` for JSON.

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
        return FORMATS["json"].writer()(source, destination, options)
    write = FORMATS[format_of(destination)].writer()
    with open_output(destination) as sink:
        return write(source, sink, options)


@contextmanager
def open_output(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose contents become the file ``path``, compressed where that ends in ``.gz``.

    Raises
    ------
    MgpuTraceError
        MGT601 and MGT602, as :func:`~mgpu_trace.files.whole_file`.
    """
    with whole_file(path) as stream:
        if os.fspath(path).lower().endswith(".gz"):
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
