"""Random numbers that are the same under every NumPy: fixtures are made again and compared.

NumPy may change the streams of its generators between versions (NEP 19); these are SplitMix64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.model import I64, U32

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Noise:
    """A stream of random integers; equal seeds give equal streams."""

    def __init__(self, seed: int) -> None:
        self._key = _mix(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64))
        self._used = 0

    def bits(self, n: int) -> NDArray[np.uint64]:
        """``(n,)`` random 64-bit numbers."""
        index = np.arange(self._used, self._used + n, dtype=np.uint64)
        self._used += n
        return _mix(self._key + (index + np.uint64(1)) * _GOLDEN)

    def words(self, n: int) -> U32:
        """``(n,)`` random 32-bit words."""
        return (self.bits(n) >> np.uint64(32)).astype(np.uint32)

    def integers(self, low: int, high: int, n: int) -> I64:
        """``(n,)`` random integers in ``low <= x < high``."""
        return low + (self.bits(n) % np.uint64(high - low)).astype(np.int64)

    def permutation(self, n: int) -> I64:
        """The numbers ``0 .. n-1`` in random order."""
        return np.argsort(self.bits(n), kind="stable")


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
