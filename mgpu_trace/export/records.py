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
# int64 has at most 19 digits: five groups.
_MAX_GROUPS: Final = 5


@cache
def _tables() -> tuple[U32, U32]:
    """Text of 0 to 9999: with the leading zeros as spaces then with them kept; and of ".000" to ".999"."""
    number = np.arange(_GROUP)
    digits = np.stack([number // 10**k % 10 for k in (3, 2, 1, 0)], axis=1).astype(np.uint8) + ord("0")
    blank = digits.copy()
    for k, least in enumerate((1000, 100, 10)):
        blank[number < least, k] = ord(" ")
    decimals = digits[:1000].copy()
    decimals[:, 0] = ord(".")
    group = np.concatenate((blank, digits)).view(np.uint32).reshape(-1)
    return group, decimals.view(np.uint32).reshape(-1)


def n_groups(largest: int) -> int:
    """Groups of four digits that numbers up to ``largest`` need."""
    return max(1, -(-len(str(largest)) // CHARS))


def put_integer(out: U32, column: int, groups: int, value: I64) -> None:
    """Write ``value`` (``(n,)``, not negative) right-aligned into ``groups`` columns of ``out``."""
    text, _ = _tables()
    for at in range(column + groups - 1, column, -1):
        rest = value // _GROUP
        group = value - rest * _GROUP
        # Below a higher group that is not zero, leading zeros count.
        group += (rest > 0) * value.dtype.type(_GROUP)
        out[:, at] = text[group]
        value = rest
    first = text[value]
    if groups > 1:
        first[value == 0] = _BLANK
    out[:, column] = first


def put_micros(out: U32, column: int, groups: int, ns: I64) -> None:
    """Write ``ns`` as microseconds with three decimals into ``groups + 1`` columns of ``out``."""
    _, decimals = _tables()
    micros = ns // 1000
    out[:, column + groups] = decimals[ns - micros * 1000]
    put_integer(out, column, groups, micros)


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
    groups: int


class Record:
    """The layout of one kind of record, and an array of them to fill.

    Parameters
    ----------
    parts
        Constant text (``bytes``) and variable fields (``(name, columns)``), in order. Spaces are put
        before a field so that it begins at a whole column.
    rows
        Rows of the array.
    """

    def __init__(self, parts: Sequence[bytes | tuple[str, int]], rows: int) -> None:
        self.fields: dict[str, Field] = {}
        text = b""
        for part in parts:
            if isinstance(part, bytes):
                text += part
            else:
                name, columns = part
                text += b" " * (-len(text) % CHARS)
                self.fields[name] = Field(len(text) // CHARS, columns)
                text += b" " * (columns * CHARS)
        text += b" " * (-len(text) % CHARS)
        self.width = len(text)
        row = np.frombuffer(text, np.uint32)
        self.array: NDArray[np.uint32] = np.empty((rows, len(row)), np.uint32)
        self.array[:] = row

    def put(self, name: str, rows: int, value: Any) -> None:
        """Fill a field's columns with ready-made words, ``(rows,)`` or ``(rows, columns)``."""
        field = self.fields[name]
        if value.ndim == 1:
            self.array[:rows, field.column] = value
        else:
            self.array[:rows, field.column : field.column + field.groups] = value
