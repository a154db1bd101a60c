"""Whether a trace is there to its end, as far as the viewer insists on that.

It shows an array of events and a row of packets as far as they go, but nothing at all of a JSON object
that is not closed, nor of compressed data that ends early or is followed by something else
(docs/view.md). One pass, and some memory of a fixed size.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

_CHUNK_BYTES: Final = 1 << 20
_MARKS: Final = b'"{}[]'
_OTHERS: Final = bytes(sorted(set(range(256)) - set(_MARKS)))
_QUOTE: Final = ord('"')
_ESCAPE: Final = re.compile(rb"\\.", re.DOTALL)


class NotWhole(Exception):  # noqa: N818 - the caller's to report, with the file's name
    """What is wrong, as the rest of a sentence about the file."""


def check_whole(file: BinaryIO, *, is_packed: bool, is_object: bool) -> None:
    """Read ``file`` as far as it takes to know that the viewer finds its end.

    Parameters
    ----------
    file
        A file that can seek; its position is not kept.
    is_packed
        Whether it is gzip data.
    is_object
        Whether its content is one JSON object; anything else may end anywhere.

    Raises
    ------
    NotWhole
        Where the viewer would show nothing of it.
    """
    if not (is_packed or is_object):
        return
    file.seek(0)
    nesting = _Nesting()
    for chunk in _unpacked(file) if is_packed else iter(lambda: file.read(_CHUNK_BYTES), b""):
        if is_object and not nesting.is_closed:
            nesting.read(chunk)
        if nesting.is_closed and not is_packed:
            return  # the viewer does not read on either
    if is_object and not nesting.is_closed:
        raise NotWhole("ends before its JSON does")


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    """What is in gzip data, one member after the other."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        while packed := file.read(_CHUNK_BYTES):
            while packed:
                if unpacker.eof:
                    unpacker = zlib.decompressobj(wbits=31)
                yield unpacker.decompress(packed, _CHUNK_BYTES)
                packed = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    except zlib.error:
        raise NotWhole("is damaged gzip data") from None
    yield unpacker.flush()
    if not unpacker.eof:
        raise NotWhole("ends before its gzip data does")


class _Nesting:
    """Follows the brackets of a JSON object over the chunks of its text, those in strings aside."""

    def __init__(self) -> None:
        self.is_closed = False
        self._depth = 0
        self._in_string = 0
        self._carry = b""

    def read(self, text: bytes) -> None:
        text = self._without_escapes(self._carry + text)
        marks = np.frombuffer(text.translate(None, _OTHERS), np.uint8)
        if not len(marks):
            return
        n_quotes = np.cumsum(marks == _QUOTE)
        is_outside = ((n_quotes + self._in_string) & 1 ^ 1).astype(np.int8)
        depth = np.cumsum(_STEPS[marks] * is_outside, dtype=np.int32)  # a chunk's own: it cannot overflow
        self.is_closed = self._depth + int(depth.min()) <= 0
        self._depth += int(depth[-1])
        self._in_string = (self._in_string + int(n_quotes[-1])) & 1

    def _without_escapes(self, text: bytes) -> bytes:
        """``text`` without any backslash and what it escapes; half an escape waits for the next chunk."""
        self._carry = b"\\" * ((len(text) - len(text.rstrip(b"\\"))) % 2)
        text = text.removesuffix(self._carry)
        return _ESCAPE.sub(b"", text) if b"\\" in text else text


def _steps() -> NDArray[np.int8]:
    steps = np.zeros(256, np.int8)
    steps[np.frombuffer(b"{[", np.uint8)] = 1
    steps[np.frombuffer(b"}]", np.uint8)] = -1
    return steps


_STEPS: Final = _steps()
