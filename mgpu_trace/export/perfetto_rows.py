"""TrackEvent packets as rows of 64-bit words: a table of numbers becomes one array of bytes.

Numbers in protobuf may be written longer than they need be, so every packet of a kind has the same
layout, and a word of it is a few shifts of whole columns. Three words (24 bytes) begin or end a
slice; what a slice carries besides adds words to its begin.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.model import I32, I64, U8

Words = NDArray[np.uint64]

SEQUENCE: Final = 1  # of all packets of a file
ROW_WORDS: Final = 3
MAX_TIME_NS: Final = (1 << 63) - 1

_GROUP: Final = 7  # bits of a number in one byte
_LOW_BITS: Final = 5 * _GROUP
_LONG_BYTES: Final = 9
_SHORT_INT: Final = 1 << 3 * _GROUP
_BEGIN, _END, _COUNTER = 1, 2, 4


def varint(value: int, n_bytes: int) -> bytes:
    """``value`` in exactly so many bytes."""
    groups = [value >> _GROUP * k & 0x7F for k in range(n_bytes)]
    return bytes([g | 0x80 for g in groups[:-1]] + groups[-1:])


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text.ljust(8, b"\0"), "little"))


def spread(value: NDArray[Any], n_bytes: int, *, more: bool = False) -> Words:
    """The same for whole columns, in the low bytes of words; with ``more``, further bytes follow."""
    out = value.astype(np.uint64)
    above = np.empty_like(out)
    for k in range(1, n_bytes):
        # Added to itself, what lies above a byte's seven bits moves up by one.
        np.bitwise_and(out, np.uint64((1 << 64) - (1 << 8 * k - 1)), out=above)
        out += above
    out &= np.uint64((1 << 8 * n_bytes) - 1)
    out |= np.uint64(int.from_bytes(b"\x80" * (n_bytes - 1 + more), "little"))
    return out


def default_rows(uuid: Words, clock: int) -> Words:
    """``(n, 3)``: packets after which events are on the track ``uuid``, with times of that clock."""
    rows = np.empty((len(uuid), ROW_WORDS), np.uint64)
    head = bytes([0x0A, 22, 0x50, SEQUENCE, 0x68, 2, 0xDA, 3])
    rows[:, 0] = _word(head)
    rows[:, 1] = _word(bytes([6 + _LONG_BYTES, 0xD0, 3, clock, 0x5A, 1 + _LONG_BYTES, 0x58]))
    _put_uuid(rows, uuid)
    return rows


def begin_end_words(name_iid: I32) -> tuple[Words, Words]:
    """The last words of the packets that begin and end slices of these names."""
    begin = spread(name_iid, 3)
    begin <<= np.uint64(40)
    begin |= _word(bytes([0x5A, 6, 0x48, _BEGIN, 0x50]))
    return begin, begin + np.uint64(_END - _BEGIN << 24)


def whole_begin_end_words(name_iid: I32, uuid: Words) -> tuple[list[Words], list[Words]]:
    """The words from the third on of packets that begin and end slices and say their tracks themselves.

    There are three of a begin and two of an end; a packet is as many words longer than :data:`ROW_WORDS`.
    """
    low = spread(uuid, 1, more=True) << np.uint64(56)
    high = spread(uuid >> np.uint64(_GROUP), _LONG_BYTES - 1)
    name = spread(name_iid, 7) << np.uint64(8) | np.uint64(0x50)
    begin, end = (
        low | _word(bytes([0x5A, size, 0x48, *varint(kind, 3), 0x58]))
        for size, kind in ((22, _BEGIN), (14, _END))
    )
    return [begin, high, name], [end, high]


def put_times(rows: Words, ns: I64) -> None:
    """Write the first words of packets: the start of each and its time."""
    low = spread(ns, 5, more=True)
    low <<= np.uint64(24)
    low |= _word(bytes([0x0A, 22, 0x40]))
    rows[:, 0] = low
    rows[:, 1] = _high_word(ns)


def counter_rows(ns: I64, value: I64) -> Words:
    """``(n, 4)``: packets that set a counter to a value of at least 0."""
    rows = np.empty((len(ns), ROW_WORDS + 1), np.uint64)
    put_times(rows, ns)
    rows[:, 0] += np.uint64(8 << 8)
    rows[:, 2] = _word(bytes([0x5A, 14, 0x48, _COUNTER, 0xF0, 1]))
    rows[:, 2] |= spread(value, 2, more=True) << np.uint64(48)
    rows[:, 3] = spread(value >> 2 * _GROUP, 8)
    return rows


def named_begin_rows(uuid: Words, ns: I64, names: U8, category_iid: int) -> U8:
    """``(n, 40 + length)``: packets that begin slices with a category, each on a track of its own.

    Parameters
    ----------
    uuid, ns
        ``(n,)`` tracks and times.
    names
        ``(n, length)`` names in UTF-8, all of one length of at most 80 bytes.
    category_iid
        The interned category of all.
    """
    length = names.shape[1]
    rows = np.empty((len(ns), ROW_WORDS + 2), np.uint64)
    put_times(rows, ns)
    rows[:, 0] += np.uint64(16 + length << 8)
    rows[:, 2] = _word(bytes([0x5A, 22 + length, 0x48, *varint(_BEGIN, 3), 0x58]))
    _put_uuid(rows[:, :4], uuid)
    rows[:, 4] = _word(bytes([0x18, *varint(category_iid, 4), 0xBA, 1, length]))
    return np.concatenate((rows.view(np.uint8), names), axis=1)


def end_rows(uuid: Words, ns: I64) -> Words:
    """``(n, 4)``: packets that end slices, each on a track of its own."""
    rows = np.empty((len(ns), ROW_WORDS + 1), np.uint64)
    put_times(rows, ns)
    rows[:, 0] += np.uint64(8 << 8)
    rows[:, 2] = _word(bytes([0x5A, 14, 0x48, *varint(_END, 3), 0x58]))
    _put_uuid(rows, uuid)
    return rows


def _put_uuid(rows: Words, uuid: Words) -> None:
    """Write an id in nine bytes: the last of the word before the last, and the last word."""
    rows[:, -2] |= spread(uuid, 1, more=True) << np.uint64(56)
    rows[:, -1] = spread(uuid >> np.uint64(_GROUP), _LONG_BYTES - 1)


def _high_word(ns: I64) -> Words | np.uint64:
    """The rest of the time, mostly the same for all, and the packet's sequence."""
    rest = _word(bytes([0, 0, 0, 0, 0x50, SEQUENCE, 0x68, 2]))
    least, most = int(ns.min(initial=MAX_TIME_NS)) >> _LOW_BITS, int(ns.max(initial=0)) >> _LOW_BITS
    if least == most:
        return rest | _word(varint(most, 4))
    high: Words = spread(ns >> _LOW_BITS, 4)
    high |= rest
    return high


def integer_words(name_iid: int, value: I64) -> list[Words]:
    """Columns of words that annotate slices with a number of at least 0."""
    if value.max(initial=0) < _SHORT_INT:
        head = _word(bytes([0x22, 6, 0x08, name_iid, 0x20]))
        return [head | spread(value, 3) << np.uint64(40)]
    head = _word(bytes([0x22, 14, 0x08, *varint(name_iid, 3), 0x20]))
    return _long(head, value)


def text_words(name_iid: int, texts: list[bytes]) -> Words:
    """``(n, words)``: words that annotate slices with one of these texts, which differ by a few bytes.

    Numbers in between take what is left: up to five bytes for each length, and ten for the name's id.
    """
    words = -(-(6 + max(map(len, texts))) // 8)
    rows = []
    for text in texts:
        left = 8 * words - 6 - len(text)
        of_iid = min(left, 9)
        of_outer = min(left - of_iid, 4)
        of_text = left - of_iid - of_outer
        inner = b"\x08" + varint(name_iid, 1 + of_iid) + b"\x32" + varint(len(text), 1 + of_text) + text
        rows.append(b"\x22" + varint(len(inner), 1 + of_outer) + inner)
    return np.frombuffer(b"".join(rows), np.uint64).reshape(len(texts), words)


def _long(head: np.uint64, value: I64) -> list[Words]:
    """A number in nine bytes: the last of the word ``head``, and another word."""
    first = spread(value, 1, more=True)
    return [head | first << np.uint64(56), spread(value >> _GROUP, _LONG_BYTES - 1)]


def true_words(name_iid: I64) -> Words:
    """Words that annotate slices with a name that is true."""
    return _word(bytes([0x22, 6, 0x08, 0, 0, 0, 0x10, 1])) | spread(name_iid, 3) << np.uint64(24)
