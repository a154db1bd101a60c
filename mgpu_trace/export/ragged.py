"""Lines of different lengths, put together from ready-made pieces without a loop over lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO, Final, Self

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.model import I64

# Bytes of output gathered at a time; each costs one 8-byte index.
_CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Pool:
    """Pieces of text, back to back: piece ``i`` is ``text[start[i] : start[i] + length[i]]``."""

    text: NDArray[np.uint8]
    start: I64
    length: I64

    @classmethod
    def of(cls, pieces: Iterable[bytes]) -> Self:
        pieces = list(pieces)
        length = np.fromiter(map(len, pieces), np.int64, len(pieces))
        text = np.frombuffer(b"".join(pieces), np.uint8)
        return cls(text, np.cumsum(length) - length, length)


# Groups of four digits, and what follows the point with its trailing zeros cut off.
_GROUP: Final = 10_000
_DIGITS: Final = Pool.of(b"%04d" % n for n in range(_GROUP))
_FRACTIONS: Final = Pool.of(repr(n / 1000).encode()[1:] for n in range(1000))


def thousandths(values: I64, base: int) -> tuple[list[I64], list[I64]]:
    """Starts and lengths of the pieces that spell ``values / 1000`` as Python's ``repr`` does.

    Parameters
    ----------
    values
        ``(n,)``, not negative, below 2**53.
    base
        Where the digits and, behind them, the fractions are in the pool of the line.
    """
    whole, rest = np.divmod(values, 1000)
    starts = [base + len(_DIGITS.text) + _FRACTIONS.start[rest]]
    lengths = [_FRACTIONS.length[rest]]
    is_last = True
    while is_last or whole.any():
        whole, group = np.divmod(whole, _GROUP)
        n_digits = 1 + (group >= 10) + (group >= 100) + (group >= 1000)
        if not is_last:
            n_digits = np.where(group > 0, n_digits, 0)
        n_digits = np.where(whole > 0, 4, n_digits)
        starts.insert(0, base + _DIGITS.start[group] + 4 - n_digits)
        lengths.insert(0, n_digits)
        is_last = False
    return starts, lengths


def write_ragged(
    sink: BinaryIO, heads: Pool, head: I64, value: I64, tails: Pool, tail: I64, *, separator: bytes
) -> None:
    """Write a line ``head value/1000 tail`` for every row of the three columns, separated."""
    if not len(head):
        return
    between = np.frombuffer(separator, np.uint8)
    text = np.concatenate((heads.text, _DIGITS.text, _FRACTIONS.text, tails.text, between))
    n_heads, n_numbers = len(heads.text), len(_DIGITS.text) + len(_FRACTIONS.text)
    starts, lengths = thousandths(value, n_heads)
    after = np.full(len(head), len(text) - len(between))
    separated = np.full(len(head), len(between))
    separated[-1] = 0
    starts = [heads.start[head], *starts, n_heads + n_numbers + tails.start[tail], after]
    lengths = [heads.length[head], *lengths, tails.length[tail], separated]
    _gather(sink, text, np.stack(starts, axis=1), np.stack(lengths, axis=1))


def _gather(sink: BinaryIO, text: NDArray[np.uint8], starts: I64, lengths: I64) -> None:
    """Write ``text[start : start + length]`` of every piece, line by line of the two tables."""
    ends = np.cumsum(lengths.sum(axis=1))
    first = 0
    while first < len(ends):
        written = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, written + _CHUNK_BYTES, side="right")))
        length = lengths[first:last].ravel()
        to = np.cumsum(length) - length
        index = np.repeat(starts[first:last].ravel() - to, length)
        index += np.arange(len(index))
        sink.write(text[index].tobytes())
        first = last
