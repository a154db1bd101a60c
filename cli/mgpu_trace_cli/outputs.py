"""Where ``dump`` writes: which file for which buffer, and how the bytes get there."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import BinaryIO, Final, cast

import click

from mgpu_trace.export import FORMATS, Writer
from mgpu_trace.files import is_special
from mgpu_trace_cli.render import is_terminal

STDOUT: Final = "-"
DEFAULT: Final = "json.gz"
BUFFER_SUFFIXES: Final = (".npy", ".npz", ".bin", ".u32")
# What --format takes: the suffixes that a name may have, without their dots.
CHOICES: Final = tuple(suffix[1:] for known in FORMATS.values() for suffix in known.suffixes)


class Abandoned(Exception):  # noqa: N818 - not an error: --strict saw one
    """Raised inside :func:`opened` so that nothing is written."""


def destinations(files: Sequence[str], output: str | None, chosen: str | None) -> list[str]:
    """The output of each of ``files``: a path, or ``"-"`` for standard output.

    Raises
    ------
    click.UsageError
        Where two would be written to one place, or over a file that is no trace.
    """
    if output is None:
        piped = len(files) == 1 and not is_terminal(sys.stdout)
        found = [STDOUT] if piped else [_name_for(file, chosen) for file in files]
    elif output.endswith(os.sep) or os.path.isdir(output):
        _make_folder(output)
        found = [os.path.join(output, _name_for(file, chosen)) for file in files]
    elif len(files) > 1:
        raise click.UsageError(f"several files make several traces: -o must be a folder, and {output} is not")
    else:
        found = [output]
        told = output == STDOUT or is_special(output)  # by --format, as a name cannot
        if chosen and not told and not output.lower().endswith(f".{chosen}"):
            raise click.UsageError(f"--format {chosen} and -o {output} contradict each other")
    for i, path in enumerate(found):
        if path in found[:i]:
            raise click.UsageError(f"{files[found.index(path)]} and {files[i]} would both become {path}")
        _spare_what_is_no_trace(path)
    return found


def _make_folder(path: str) -> None:
    """The folder ``path``, if it is not there; those around it must be.

    Raises
    ------
    MgpuTraceError
        MGT602 where it cannot be made.
    """
    from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue

    try:
        os.mkdir(path)
    except FileExistsError:
        pass  # what is there instead of a folder is reported where it is written
    except OSError as error:
        message = f"cannot make the folder: {error.strerror or error}"
        hint = "make it, or write to another place"
        raise MgpuTraceError(Diagnostic(catalogue.CANNOT_WRITE, message, hint=hint, file=path)) from None


def _name_for(file: str, chosen: str | None) -> str:
    stem = "stdin" if file == STDOUT else PurePath(file).stem
    what = "slices" if FORMATS[format_for(STDOUT, chosen)].is_table else "trace"
    return f"{stem}.{what}.{chosen or DEFAULT}"


# How a trace begins, or compressed data; both are there to be written again.
_TRACE_HEADS: Final = (b"\x1f\x8b", *(head for known in FORMATS.values() for head in known.heads))


def _spare_what_is_no_trace(path: str) -> None:
    """Refuse to replace what nobody can make again: a spec, a table of names, the buffer itself.

    By what the file holds and not by its name: one file has many.
    """
    if not (path.lower().endswith((".json", ".json.gz")) and os.path.isfile(path)):
        return
    try:
        with open(path, "rb") as there:
            head = there.read(64)
    except OSError:
        return  # what cannot be read is reported where it is written
    if head and not head.startswith(_TRACE_HEADS):
        raise click.UsageError(
            f"{path} is there and is not a trace{_perhaps_a_spec(path)}: it is left as it is; "
            "write to another name, or delete it first"
        )


def _perhaps_a_spec(path: str) -> str:
    """What NAME.json is where a buffer lies beside it."""
    stem = os.path.splitext(path)[0]
    buffers = [stem + suffix for suffix in BUFFER_SUFFIXES if os.path.exists(stem + suffix)]
    return f" but the spec of {buffers[0]}" if buffers and path.lower().endswith(".json") else ""


def format_for(path: str, chosen: str | None) -> str:
    """The format of ``path``; on standard output, a device or a pipe the chosen one, or JSON."""
    from mgpu_trace.export.output import format_of

    if path == STDOUT or (chosen and is_special(path)):
        return format_of(f"stdout.{chosen or 'json'}")
    return format_of(path)


def writer_for(path: str, chosen: str | None) -> Writer:
    """What writes that format."""
    return FORMATS[format_for(path, chosen)].writer()


@contextmanager
def opened(path: str, chosen: str | None, *, strict: bool) -> Iterator[BinaryIO]:
    """A stream to ``path`` or standard output; with :class:`Abandoned` raised in it, nothing is written.

    (Standard output cannot take anything back, so where ``strict`` it gets the whole at the end.)
    """
    from mgpu_trace.export.output import gzipped, open_output

    if path != STDOUT:
        with open_output(path, f".{chosen}" if chosen and is_special(path) else None) as sink:
            yield sink
        return
    if sys.stdout is None:
        raise click.UsageError("standard output is closed; give -o FILE")
    stdout = cast(BinaryIO, sys.stdout.buffer)
    packed = (chosen or "").endswith(".gz")
    with tempfile.TemporaryFile() if strict else _kept_open(stdout) as stream:
        with gzipped(stream) if packed else _kept_open(stream) as sink:
            yield sink
        if strict:
            stream.seek(0)
            shutil.copyfileobj(stream, stdout)
    stdout.flush()


@contextmanager
def _kept_open(stream: BinaryIO) -> Iterator[BinaryIO]:
    yield stream
