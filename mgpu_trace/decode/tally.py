"""Counts of findings while a buffer goes by in runs; the sentences are in checks.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from mgpu_trace.diagnostics import Code
from mgpu_trace.model import I64, Bool

# Enough to name the culprits; a corrupted buffer may have a million different ids.
IDS_KEPT: Final = 64


@dataclass(slots=True)
class Count:
    """What was found of one code: how often, where first, and the evidence for the sentence.

    Attributes
    ----------
    n
        Tracks, events or slices, as docs/format.md says for the code.
    track
        First track, in buffer order.
    value
        The code's measure at the first track (words used, cycles, ...).
    largest
        The largest such measure.
    ids
        Name ids it is about; at most a few are kept.
    """

    n: int = 0
    track: int = -1
    value: int = 0
    largest: int = 0
    ids: set[int] = field(default_factory=set)


class Tally(dict[Code, Count]):
    """Findings by code, added up over runs of tracks."""

    def tracks(self, code: Code, where: Bool, *, largest: Any = None, first_track: int = 0) -> None:
        """Count the tracks of a mask; ``largest`` is a column of measures beside it."""
        rows = np.flatnonzero(where)
        if rows.size:
            values = None if largest is None else np.asarray(largest)[rows].astype(np.int64)
            self.add(code, rows.size, first_track + int(rows[0]), values)

    def add(self, code: Code, n: int, track: int, values: I64 | None = None, ids: Any = ()) -> None:
        """Add ``n`` findings, the first of them in ``track``; runs come in buffer order."""
        if n == 0:
            return
        count = self.setdefault(code, Count())
        if count.track < 0:
            count.track = track
            count.value = 0 if values is None else int(values[0])
        count.n += n
        if values is not None:
            count.largest = max(count.largest, int(values.max()))
        if len(count.ids) < IDS_KEPT:
            count.ids.update(int(i) for i in ids)
