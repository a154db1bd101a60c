"""Start times: undo the 32-bit wrap of the global timer, and find its step."""

from __future__ import annotations

from typing import Final

import numpy as np

from mgpu_trace import layout
from mgpu_trace.model import I64, U32, distinct

# A step found from the data must be seen on this many different start times ...
_MIN_DISTINCT: Final = 3
# ... and be one that hardware has (32 ns and 1024 ns are known).
_MAX_STEP_NS: Final = 4096


def unwrap_starts(start_ns: U32) -> tuple[I64, int, bool]:
    """Start times as nanoseconds since the earliest, with the 32-bit wrap undone.

    ``%globaltimer_lo`` wraps every 4.29 s and a launch may straddle that. All start times lie on a
    circle of 2**32 ns; the launch begins after the largest gap on it.

    Parameters
    ----------
    start_ns
        ``(n_tracks,)`` readings, at least one.

    Returns
    -------
    since_first_ns, first_ns, sure
        ``(n_tracks,)`` times; the earliest reading; False when the launch covers more than half
        of the circle, so that the cut may be wrong.
    """
    readings = distinct(start_ns).astype(np.int64)
    gaps = np.diff(readings, append=readings[0] + layout.WORD_RANGE)
    cut = int(np.argmax(gaps))
    first = int(readings[(cut + 1) % len(readings)])
    since = (start_ns.astype(np.int64) - first) % layout.WORD_RANGE
    return since, first, bool(gaps[cut] * 2 >= layout.WORD_RANGE)


def find_step(since_first_ns: I64) -> int | None:
    """The greatest common step of the start times, or None when too few differ to tell."""
    readings = distinct(since_first_ns)
    if len(readings) < _MIN_DISTINCT:
        return None
    step = int(np.gcd.reduce(readings))
    return step if step <= _MAX_STEP_NS else None
