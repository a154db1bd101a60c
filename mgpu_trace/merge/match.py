"""Two recordings of the same launches, on clocks of their own: which belongs to which.

They may have begun and ended at different times, so the n-th of one need not be the n-th of the other. Of
the offsets that would put some launch beside some slice of its kernel the one counts that does so for most
launches, of all kernels together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace.model import I64

# Ways to put one sequence beside the other that are looked at closely, for each kernel.
_CANDIDATES: Final = 32
# Further apart, the two recordings have little in common.
_MAX_SHIFT: Final = 2000
# A launch and a slice belong together where they are closer than this part of the distance between slices.
_NEAR: Final = 0.25
_NEAREST_NS: Final = 1000
_FARTHEST_NS: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class Kernels:
    """Kernel slices of a host trace, by begin. All columns ``(n,)``.

    Attributes
    ----------
    begin_ns, end_ns
        On the trace's own time line.
    device
        The number in the name of its process (``/device:GPU:3``); -1 where there is none.
    """

    begin_ns: I64
    end_ns: I64
    device: I64

    def of_device(self, device: int) -> Kernels:
        """Those of one device; all, where no process has a number."""
        if not (self.device >= 0).any():
            return self
        keep = self.device == device
        return Kernels(self.begin_ns[keep], self.end_ns[keep], self.device[keep])


@dataclass(frozen=True, slots=True)
class Sequences:
    """Launches of one kernel ``(n,)``, by begin, and its slices in the other recording."""

    begin_ns: I64
    end_ns: I64
    theirs: Kernels


Rows = tuple[I64, I64]


def matches(pairs: Sequence[Sequences]) -> list[Rows]:
    """For each kernel the rows of launches and slices that belong together.

    A launch lies inside its slice, so the two are no further apart than the slice is longer. Where clocks
    are not good enough for that (less than a third is matched so) they may be a quarter of the distance
    between slices apart.
    """
    slices = np.sort(np.concatenate([pair.theirs.begin_ns for pair in pairs]))
    gap = float(np.median(np.diff(slices))) if len(slices) > 1 else float(_FARTHEST_NS)
    offsets = sorted({offset for pair in pairs for offset in _offsets(pair)})
    enough = min(len(slices), sum(len(pair.begin_ns) for pair in pairs)) / 3
    found: list[Rows] = []
    for near in (2 * _slack_ns(pairs), _NEAR * gap):
        found = _best(pairs, offsets, int(np.clip(near, _NEAREST_NS, _FARTHEST_NS)))
        if sum(len(mine) for mine, _ in found) >= enough:
            break
    return found


def _slack_ns(pairs: Sequence[Sequences]) -> float:
    """How much longer slices are than launches, in the median."""
    theirs = np.concatenate([pair.theirs.end_ns - pair.theirs.begin_ns for pair in pairs])
    ours = np.concatenate([pair.end_ns - pair.begin_ns for pair in pairs if len(pair.theirs.begin_ns)])
    return float(np.median(theirs) - np.median(ours))


def _best(pairs: Sequence[Sequences], offsets: Sequence[int], near_ns: int) -> list[Rows]:
    """What the offset matches that matches most; of equally good ones the one that matches best."""
    best: tuple[int, float] | None = None
    found: list[Rows] = []
    for offset in offsets:
        rows, away = _beside(pairs, offset, near_ns)
        key = (-len(away), float(np.ptp(away)) if len(away) else 0.0)
        if best is None or key < best:
            best, found = key, rows
    return found


def _offsets(pair: Sequences) -> list[int]:
    """Offsets that put the sequences beside each other, those first for which distances agree best."""
    ours, theirs = pair.begin_ns, pair.theirs.begin_ns
    n, m = len(ours), len(theirs)
    found = []
    for shift in range(max(1 - n, -_MAX_SHIFT), min(m, _MAX_SHIFT + 1)):
        first = max(0, -shift)
        count = min(n - first, m - first - shift)
        away = theirs[first + shift : first + shift + count] - ours[first : first + count]
        middle = int(np.partition(away, count // 2)[count // 2])
        found.append((float(np.abs(away - middle).mean()) / count, middle))
    return [middle for _, middle in sorted(found)[:_CANDIDATES]]


def _beside(pairs: Sequence[Sequences], offset: int, near_ns: int) -> tuple[list[Rows], I64]:
    """Launches and slices that an offset puts beside each other, each once, and how far apart they are."""
    found: list[Rows] = []
    away = []
    for pair in pairs:
        at = pair.begin_ns + offset
        theirs = pair.theirs.begin_ns
        if not len(theirs):
            found.append((np.zeros(0, np.int64), np.zeros(0, np.int64)))
            continue
        after = np.minimum(np.searchsorted(theirs, at), len(theirs) - 1)
        before = np.maximum(after - 1, 0)
        row = np.where(np.abs(theirs[after] - at) <= np.abs(theirs[before] - at), after, before)
        distance = theirs[row] - at
        mine = np.flatnonzero(np.abs(distance) <= near_ns)
        # Of several launches beside one slice the nearest has it.
        order = mine[np.lexsort((np.abs(distance[mine]), row[mine]))]
        keep = order[np.diff(row[order], prepend=-1) != 0]
        found.append((keep, row[keep]))
        away.append(distance[keep])
    return found, np.concatenate(away) if away else np.zeros(0, np.int64)
