"""Files to trace buffers.

The way of a source::

    source    path or "-" -> its bytes, mapped where it is a file
    sniff     bytes -> .npy, .npz or raw words
    npy, npz, raw, words   the container -> flat 32-bit words
    fields, specfile       sidecar, container and flags -> what was said about the launch
    resolve, infer         what was said, size and content of the buffer -> TraceSpec
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.model import TraceBuffer
from mgpu_trace.read.bare import resolve_bare
from mgpu_trace.read.fields import merge
from mgpu_trace.read.npy import read_npy
from mgpu_trace.read.npz import read_npz, write_npz
from mgpu_trace.read.raw import read_raw
from mgpu_trace.read.resolve import LAYOUT_FIELDS, Size, resolve
from mgpu_trace.read.sniff import Kind, kind_of
from mgpu_trace.read.source import Source, name_of, open_source
from mgpu_trace.read.specfile import Found, read_sidecar, spec_from_json
from mgpu_trace.read.words import Words
from mgpu_trace.spec import SpecOptions

__all__ = ["ReadResult", "read_trace", "write_npz"]

NOTHING_SAID: Final = SpecOptions()


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A buffer, and what was noticed while it was read."""

    buffer: TraceBuffer
    diagnostics: tuple[Diagnostic, ...]


def read_trace(
    source: str | os.PathLike[str], options: SpecOptions = NOTHING_SAID, *, array: str | None = None
) -> ReadResult:
    """Read a profile buffer and settle what is known about its launch.

    Parameters
    ----------
    source
        A ``.npy``, ``.npz`` or raw (``.bin``, ``.u32``) file, or ``"-"`` for standard input.
    options
        What the caller says; it wins over the spec in the container or beside the file.
    array
        Which array of an ``.npz`` is the buffer.

    Raises
    ------
    MgpuTraceError
        MGT101 to MGT111 about the file, MGT201 to MGT211 about the spec; always with the file's
        name.
    """
    name = name_of(source)
    try:
        buffer, found = _read(open_source(source), options, array)
    except MgpuTraceError as error:
        raise MgpuTraceError(error.diagnostic.in_file(name)) from None
    return ReadResult(buffer, tuple(d.in_file(name) for d in found))


def _read(
    source: Source, options: SpecOptions, array: str | None
) -> tuple[TraceBuffer, tuple[Diagnostic, ...]]:
    words = _words(source, array)
    file, about_file = _spec_of(source, words)
    said = merge(file, options)
    size = Size.of(words.shape)
    if size.words is not None or any(field in said for field in LAYOUT_FIELDS):
        spec, about_spec = resolve(said, size)
    else:
        spec, about_spec = resolve_bare(said, words.flat, lambda: source.release(0, len(source.data)))
    release = _release(source, words, spec.words_per_track)
    buffer = TraceBuffer.from_flat(words.flat, spec, release)
    return buffer, (*words.diagnostics, *about_file, *about_spec)


def _words(source: Source, array: str | None) -> Words:
    kind = kind_of(source)
    if kind is Kind.NPZ:
        return read_npz(source, array)
    if array is not None:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.ARRAY_CHOICE,
                f"is not an .npz and has no array called {array}",
                hint="drop --array",
            )
        )
    return read_npy(source) if kind is Kind.NPY else read_raw(source)


def _spec_of(source: Source, words: Words) -> Found:
    """The container's own spec; else the sidecar's."""
    if words.spec is not None:
        return spec_from_json(words.spec)
    return ({}, ()) if source.path is None else read_sidecar(source.path)


def _release(source: Source, words: Words, words_per_track: int) -> Callable[[int, int], None] | None:
    if words.offset is None:
        return None
    offset, stride = words.offset, words_per_track * layout.WORD_BYTES
    return lambda first, last: source.release(offset + first * stride, offset + last * stride)
