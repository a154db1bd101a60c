"""Looking at words here and there in a buffer that may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mgpu_trace.model import I64, U32

# From this size on, what a look brought into memory is let go of before the next one.
_LARGE_WORDS = 1 << 25
# A look at one word of a memory map brings a whole neighbourhood into memory, up to a megabyte of it.
_PLACES = 128


class Look:
    """The words of a buffer, to be looked at in few places.

    Parameters
    ----------
    flat
        ``(n_words,)`` words.
    let_go
        Lets a memory map give its pages back; None for words in memory.

    Attributes
    ----------
    size
        Number of words.
    """

    def __init__(self, flat: U32, let_go: Callable[[], None] | None = None) -> None:
        self._flat = flat
        self.size = flat.size
        self._let_go = let_go if flat.size >= _LARGE_WORDS else None

    @property
    def is_large(self) -> bool:
        """Whether looks are dear: they come in batches, with the pages let go of in between."""
        return self._let_go is not None

    def at(self, index: I64, per_place: int = 1) -> I64:
        """The words at ``index``, ``(n,)``; about ``per_place`` of them in a row are neighbours."""
        if self._let_go is None:
            return self._flat[index].astype(np.int64)
        out = np.empty(len(index), np.int64)
        step = _PLACES * per_place
        for first in range(0, len(index), step):
            out[first : first + step] = self._flat[index[first : first + step]]
            self._let_go()
        return out

    def between(self, first: int, last: int) -> U32:
        """The words from ``first`` to before ``last``."""
        if self._let_go is not None:
            self._let_go()
        return self._flat[first:last]
