"""First events of all tracks, SM by SM: the points through which a clock model must go.

On one SM all warps read the same cycle counter, so its tracks' first clocks are one unwrapped
time line; different SMs' counters have unrelated offsets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace import layout
from mgpu_trace.model import F64, I64, Bool

# SM clocks lie between these; outside them a slope is not a clock rate.
MIN_CYC_PER_NS: Final = 0.2
MAX_CYC_PER_NS: Final = 4.0
# Starts further apart than this may hide a whole turn of the 32-bit counter.
_SURE_GAP_NS: Final = int((layout.WORD_RANGE // 2) / MAX_CYC_PER_NS)


@dataclass(frozen=True, slots=True)
class FirstEvents:
    """One row per track that has events, sorted by (SM, start). All columns ``(n_rows,)``.

    Attributes
    ----------
    track
        Row of ``Tracks``.
    group
        0, 1, 2, ... : the SM, densely numbered.
    start_ns
        Start time since the launch's earliest.
    clock_cyc
        Unwrapped clock of the first event since the SM's first row's.
    is_fit
        Whether start and clock belong together (no events were skipped in between).
    """

    track: I64
    group: I64
    start_ns: I64
    clock_cyc: I64
    is_fit: Bool

    @property
    def group_starts(self) -> I64:
        """First row of each SM."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))


def first_events(
    track: I64, sm: I64, start_ns: I64, clock: I64, is_fit: Bool, rate_cyc_per_ns: float | None
) -> tuple[FirstEvents, int]:
    """Sort by SM and unwrap each SM's counter; also count the gaps that may hide a turn of it.

    A neighbour in start order is less than half a turn away, or the rate tells how many whole turns
    lie in between. Without a rate the number of turns of a longer gap is a guess, and is counted.
    """
    order = np.lexsort((clock, start_ns, sm))
    sm, start, raw = sm[order], start_ns[order], clock[order]
    new_sm = np.diff(sm, prepend=-1) != 0
    step_ns = np.diff(start, prepend=start[:1])
    step = np.diff(raw, prepend=raw[:1])
    expected = step_ns * (rate_cyc_per_ns if rate_cyc_per_ns is not None else 1.0)
    unsure = (step_ns > _SURE_GAP_NS) & ~new_sm
    if rate_cyc_per_ns is None:
        # Short gaps: the nearest reading modulo 2**32 is exact whatever the rate.
        expected = np.where(unsure, expected, 0.0)
    step = step + np.rint((expected - step) / layout.WORD_RANGE).astype(np.int64) * layout.WORD_RANGE
    step[new_sm] = 0
    total = np.cumsum(step)
    group = np.cumsum(new_sm) - 1
    total -= total[np.flatnonzero(new_sm)][group]
    n_unsure = int(np.count_nonzero(unsure)) if rate_cyc_per_ns is None else 0
    return FirstEvents(track[order], group, start, total, is_fit[order]), n_unsure


def residual_ns(first: FirstEvents, ns_per_cyc: float) -> F64:
    """Start time less the counter's time: the SM's offset as each of its tracks sees it."""
    out: F64 = first.start_ns - first.clock_cyc * ns_per_cyc
    return out
