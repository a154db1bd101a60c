"""Texts as a dictionary column: each is held once, a row has its number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.columns import EXTRA
from mgpu_trace.extras import needs
from mgpu_trace.model import I32, distinct


def as_text(text: str) -> str:
    """``text`` with U+FFFD for lone surrogates, which are not text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


class Texts:
    """Different texts, numbered as they come.

    Attributes
    ----------
    n_altered
        How many of them could not be kept as they are.
    """

    def __init__(self, clean: Callable[[str], str] = as_text) -> None:
        self._clean = clean
        self._number: dict[str, int] = {}
        self._array: Any = None
        self._n_in_array = 0
        self.n_altered = 0

    def number_of(self, text: str) -> int:
        """The number of ``text``; a new one where it is new."""
        kept = self._clean(text)
        self.n_altered += kept != text
        return self._number.setdefault(kept, len(self._number))

    def column(self, numbers: NDArray[Any], missing: NDArray[Any] | None = None) -> Any:
        """``(n,)`` numbers as a column of pyarrow; null where ``missing``."""
        pa = needs("pyarrow", EXTRA, "a table")
        if self._array is None or self._n_in_array < len(self._number):
            # Never an empty dictionary: DuckDB 1.1 and 1.2 end the process on one.
            self._array = pa.array(list(self._number) or [""], pa.string())
            self._n_in_array = len(self._number)
        indices = pa.array(numbers.astype(np.int32, copy=False), pa.int32(), mask=missing)
        return pa.DictionaryArray.from_arrays(indices, self._array)


class Regions:
    """The numbers of one launch's names among texts that several launches may share.

    Names of the launch's own table come first, in its order; ids that it lacks as they are met.
    """

    def __init__(self, name_of: Callable[[int], str], n_known: int, texts: Texts) -> None:
        self._name_of = name_of
        self._numbers: I32 = np.full(n_known, -1, np.int32)
        self._are_ids = True  # a name's number is its id, as it is where no two are equal
        self.texts = texts
        self._learn(np.arange(n_known))

    def numbers(self, name: I32) -> I32:
        """``(n,)`` name ids as numbers of texts; new ids get one."""
        largest = int(name.max(initial=-1))
        if largest >= len(self._numbers):  # ids are below 2**20, whatever the buffer holds
            more = np.full(largest + 1 - len(self._numbers), -1, np.int32)
            self._numbers = np.concatenate((self._numbers, more))
        elif self._are_ids:
            return name
        numbers = self._numbers[name]
        new = numbers < 0
        if new.any():
            self._learn(distinct(name[new]))
            numbers = self._numbers[name]
        return numbers

    def _learn(self, ids: NDArray[Any]) -> None:
        for i in ids.tolist():
            self._numbers[i] = self.texts.number_of(self._name_of(i))
        self._are_ids = bool((self._numbers == np.arange(len(self._numbers))).all())
