"""Fixed-width text records: a table of numbers becomes one (rows, width) array of bytes.

Every record of a chunk has the same width. The constant text is written into the array once; for
each row only the numbers are filled in, four characters at a time, by looking up groups of four
digits in a table of ready-made text. Padding is spaces between JSON tokens, which JSON allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.model import I64, U32

CHARS: Final = 4  # characters that one uint32 holds
_GROUP: Final = 10**CHARS


# Text of all times up to this is kept ready, in 128 KiB.
_SHORT_NS: Final = 1 << 14


@cache
def _tables() -> tuple[U32, U32, NDArray[np.uint64]]:
    """Ready-made text of groups of digits.

    Returns
    -------
    group
        0 to 9999 with the leading zeros as spaces, then 0 to 9999 with them kept.
    decimals
        ".000" to ".999".
    late_decimals
        The same in the second half of eight characters.
    """
    number = np.arange(_GROUP)
    digits = np.stack([number // 10**k % 10 for k in (3, 2, 1, 0)], axis=1).astype(np.uint8) + ord("0")
    blank = digits.copy()
    for k, least in enumerate((1000, 100, 10)):
        blank[number < least, k] = ord(" ")
    decimals = digits[:1000].copy()
    decimals[:, 0] = ord(".")
    late = np.zeros((1000, 2, CHARS), np.uint8)
    late[:, 1] = decimals
    group = np.concatenate((blank, digits)).view(np.uint32).reshape(-1)
    return (
        group,
        decimals.view(np.uint32).reshape(-1),
        late.reshape(1000, 2 * CHARS).view(np.uint64).reshape(-1),
    )


@cache
def _early_groups() -> NDArray[np.uint64]:
    """0 to 9999 with leading spaces, in the first half of eight characters."""
    early = np.zeros((_GROUP, 2), np.uint32)
    early[:, 0] = _tables()[0][:_GROUP]
    return early.view(np.uint64).reshape(-1)


def n_groups(largest: int) -> int:
    """Groups of four digits that numbers up to ``largest`` need."""
    return max(1, -(-len(str(largest)) // CHARS))


def put_integer(out: U32, column: int, groups: int, value: NDArray[Any]) -> None:
    """Write ``value`` (``(n,)``, not negative) right-aligned into ``groups`` columns of ``out``."""
    text = _tables()[0]
    last = column + groups - 1
    for at in range(last, column, -1):
        rest = value // _GROUP
        group = value - rest * _GROUP
        # Below a higher group that is not zero, leading zeros count.
        group += (rest > 0) * value.dtype.type(_GROUP)
        out[:, at] = _blank_zeros(text[group.astype(np.intp)], value, at < last)
        value = rest
    out[:, column] = _blank_zeros(text[value.astype(np.intp)], value, groups > 1)


def _blank_zeros(words: U32, value: NDArray[Any], is_leading: bool) -> U32:
    """A group before the last says nothing where the number ends after it."""
    if is_leading:
        words[value == 0] = _BLANK
    return words


def put_micros(out: U32, column: int, groups: int, ns: NDArray[Any]) -> None:
    """Write ``ns`` as microseconds with three decimals into ``groups + 1`` columns of ``out``."""
    if groups == 1 and column % 2 == 0 and out.shape[1] % 2 == 0:
        out.view(np.uint64)[:, column // 2] = _eight_characters(ns)
        return
    micros = ns // 1000
    out[:, column + groups] = _tables()[1][(ns - micros * 1000).astype(np.intp)]
    put_integer(out, column, groups, micros)


def _eight_characters(ns: NDArray[Any]) -> NDArray[np.uint64]:
    """``ns`` below 10 ms as microseconds in eight characters; short times are looked up whole."""
    is_long = ns >= _SHORT_NS
    if np.count_nonzero(is_long) * 8 > len(ns):
        return _put_together(ns)
    index = ns.astype(np.intp)
    long = np.flatnonzero(is_long)
    index[long] = 0
    text = _short_times()[index]
    text[long] = _put_together(ns[long])
    return text


def _put_together(ns: NDArray[Any]) -> NDArray[np.uint64]:
    micros = ns // 1000
    # An index of another type than NumPy's own is converted first, at three times the cost.
    text = _early_groups()[micros.astype(np.intp)]
    text |= _tables()[2][(ns - micros * 1000).astype(np.intp)]
    return text


@cache
def _short_times() -> NDArray[np.uint64]:
    """0 to :data:`_SHORT_NS` nanoseconds as text: most slices are that short."""
    return _put_together(np.arange(_SHORT_NS))


_BLANK: Final = np.frombuffer(b"    ", np.uint32)[0]


def texts(parts: Sequence[bytes]) -> tuple[U32, NDArray[np.int64]]:
    """Texts as rows of words, padded with spaces to the longest; and the bytes of each."""
    lengths = np.array([len(p) for p in parts], np.int64)
    width = -(-max(1, int(lengths.max(initial=0))) // CHARS) * CHARS
    joined = b"".join(p.ljust(width) for p in parts)
    return np.frombuffer(joined, np.uint32).reshape(len(parts), width // CHARS), lengths


@dataclass(frozen=True, slots=True)
class Field:
    """A place in a record: its first column and its number of columns (of four characters)."""

    column: int
    columns: int


class Record:
    """The layout of one kind of record.

    Parameters
    ----------
    parts
        Constant text (``bytes``) and variable fields (``(name, columns)``), in order. Spaces are put
        before a field so that it begins at a whole column (an even one where it has two, so that they
        can be written as one), and at the end so that the width is even.

    Attributes
    ----------
    fields
        Places of the fields by name.
    row
        ``(columns,)`` the constant text, with spaces for the fields.
    """

    def __init__(self, parts: Sequence[bytes | tuple[str, int]]) -> None:
        self.fields: dict[str, Field] = {}
        text = b""
        for part in parts:
            if isinstance(part, bytes):
                text += part
            else:
                name, columns = part
                text = _padded(text, 2 * CHARS if columns == 2 else CHARS)
                self.fields[name] = Field(len(text) // CHARS, columns)
                text += b" " * (columns * CHARS)
        self.row: U32 = np.frombuffer(_padded(text, 2 * CHARS), np.uint32)
        self._array: U32 = np.empty((0, len(self.row)), np.uint32)

    @property
    def width_bytes(self) -> int:
        return len(self.row) * CHARS

    def filled(self, templates: U32, which: I64) -> U32:
        """A copy of template ``which[i]`` in row ``i``: ``(n, columns)``, valid until the next call.

        The same memory each time: it is still in the processor's cache.
        """
        if len(which) > len(self._array):
            self._array = np.empty((len(which), len(self.row)), np.uint32)
        array = self._array[: len(which)]
        # Clipping changes no index, and lets NumPy write to the array without a copy in between.
        templates.take(which, axis=0, out=array, mode="clip")
        return array

    def put(self, array: U32, name: str, words: U32) -> None:
        """Fill a field of ``array`` (``(..., columns)``) with ready-made words."""
        field = self.fields[name]
        for k in range(field.columns):
            array[..., field.column + k] = words[..., k]


def _padded(text: bytes, unit: int) -> bytes:
    return text + b" " * (-len(text) % unit)
