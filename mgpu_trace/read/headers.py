"""How well one number of words per track explains a buffer: every row of words as a header.

Each row looked at falls in one class. *Good*: the header can be one and its events nest.
*Damaged*: parts of it can, and its start time is near that of the good ones. *Idle*: a header
without events, likewise. *Zero*: nothing but zeros, which every layout explains. *Bad*: the rest.
A good row among random words is out of the question: SM id, count and tags alone are 50 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mgpu_trace import layout
from mgpu_trace.layout import Word2
from mgpu_trace.model import I64, U32, Bool

# A damaged or idle row is worth less than a good one, but enough that two tracks of which one is
# damaged (1 + 0.6) beat one track of both (1).
_PARTIAL = 0.6
_BAD = 0.5
# Start times of one launch; 100 ms either way is 5 % of the timer's circle.
_NEAR_NS = 100_000_000
_MAX_EVENTS_PER_ROW = 4096
_MAX_EVENTS = 1 << 17
# Hardware steps back by a few cycles; more than that, once in a while, is a damaged reading.
_STEP_BACK_CYC = -64


@dataclass(frozen=True, slots=True)
class Fit:
    """How ``words`` per track fits. Columns are ``(n_looked,)``; counts are scaled to all rows.

    Attributes
    ----------
    words, word2
        The layout.
    n_rows
        Rows of the buffer, as far as it is not zero.
    rows, used
        The rows looked at, and their counts of used words.
    good, partial
        Which of them are good, and which are damaged or idle.
    n_good, n_idle, n_damaged, n_bad
        Estimates for all rows; exact when all were looked at.
    """

    words: int
    word2: Word2
    n_rows: int
    rows: I64
    used: I64
    good: Bool
    partial: Bool
    n_good: float
    n_idle: float
    n_damaged: float
    n_bad: float

    @property
    def value(self) -> float:
        """Headers explained, less what is explained by nothing."""
        return self.n_good + _PARTIAL * (self.n_idle + self.n_damaged) - _BAD * self.n_bad

    @property
    def is_plausible(self) -> bool:
        """Whether there is a good header, and not more than two thirds are broken."""
        return self.n_good >= 1 and 2 * (self.n_good + self.n_idle) >= self.n_damaged + self.n_bad


def rows_to_look_at(n_rows: int, limit: int) -> I64:
    """At most ``limit`` rows: a quarter from the start, the rest at random places, in order.

    Even spacing would always meet the true headers of a multiple or a part.
    """
    if n_rows <= limit:
        return np.arange(n_rows, dtype=np.int64)
    first = limit // 4
    rest = np.random.default_rng(0).integers(first, n_rows, limit - first)
    return np.concatenate((np.arange(first, dtype=np.int64), np.unique(rest)))


def fit(flat: U32, words: int, n_rows: int, rows: I64, *, deep: bool) -> Fit:
    """Classify ``rows`` of ``flat``; ``deep`` also reads their events, as far as is affordable."""
    base = rows * words
    start, sm, count, first, clock = (flat[base + i].astype(np.int64) for i in range(5))
    old = _is_old(sm, count, words)
    used = np.where(count == 0, 0, count - layout.HEADER_WORDS) if old else count
    is_sm = sm <= layout.MAX_PLAUSIBLE_SM
    counted = is_sm & (used >= 2) & (used % 2 == 0) & (used <= layout.capacity_words(words))
    last = flat[np.where(counted, base + used + 1, base)].astype(np.int64)
    is_tag = (last & layout.NAME_MASK) <= layout.MAX_NAME_ID
    good = counted & (first <= layout.MAX_NAME_ID) & is_tag
    if deep:
        good = _check_events(flat, base, used, good, words)
    near, usual = _like_the_good(start, first, good)
    known = near & is_sm & ~good & ((start | sm | first) != 0)
    idle = known & (used == 0)
    ends = counted & (used > layout.WORDS_PER_EVENT) & is_tag & (last >= layout.EXIT_BIT)
    damaged = known & ~idle & (usual | ends)
    tail = flat[base + words - 1] | flat[base + words // 2]
    zero = (start | sm | count | first | clock | tail.astype(np.int64)) == 0
    if deep:
        zero = _all_zero(flat, base, words, zero)
    bad = ~(good | idle | damaged | zero)
    word2 = Word2.USED_PLUS_HEADER if old else Word2.USED
    counts = [_scaled(mask, rows, n_rows) for mask in (good, idle, damaged, bad)]
    return Fit(words, word2, n_rows, rows, used, good, idle | damaged, *counts)


def _is_old(sm: I64, count: I64, words: int) -> bool:
    """Whether more counts can be words plus 3 than words."""
    can_be = (sm <= layout.MAX_PLAUSIBLE_SM) & (count >= 2) & (count <= words)
    return int(np.count_nonzero(can_be & (count % 2 == 1))) > int(np.count_nonzero(can_be & (count % 2 == 0)))


def _scaled(mask: Bool, rows: I64, n_rows: int) -> float:
    """Estimate of a class over all rows: what the leading rows have, and the rate of the others."""
    if len(rows) == n_rows:
        return float(np.count_nonzero(mask))
    lead = int(np.count_nonzero(rows == np.arange(len(rows))))
    others = mask[lead:]
    rate = float(np.count_nonzero(others)) / max(1, len(others))
    return float(np.count_nonzero(mask[:lead])) + rate * (n_rows - lead)


def _like_the_good(start: I64, first: I64, good: Bool) -> tuple[Bool, Bool]:
    """Which rows start near the good ones in time, and which have the usual first tag."""
    if not good.any():
        return np.zeros_like(good), np.zeros_like(good)
    offset = (start - start[good][0]).astype(np.uint32).view(np.int32).astype(np.int64)
    span = int(np.abs(offset[good]).max())
    values, counts = np.unique(first[good], return_counts=True)
    return np.abs(offset) <= max(_NEAR_NS, span + span // 2), first == values[np.argmax(counts)]


def _all_zero(flat: U32, base: I64, words: int, maybe: Bool) -> Bool:
    """Which of the rows that begin with zeros are zeros throughout."""
    zero = maybe.copy()
    for i in np.flatnonzero(maybe)[:: max(1, int(maybe.sum()) * words // (1 << 20))]:
        zero[i] = not flat[base[i] : base[i] + words].any()
    return zero


def _check_events(flat: U32, base: I64, used: I64, maybe: Bool, words: int) -> Bool:
    """Which of the rows that may be good are: their events can be ones, and nest.

    All regions are closed, or the track is full. Rows that there was no time for count as good.
    """
    good = maybe.copy()
    picked = np.flatnonzero(maybe)
    n = np.minimum(used[picked] // layout.WORDS_PER_EVENT, _MAX_EVENTS_PER_ROW)
    if int(n.sum()) > _MAX_EVENTS:
        chosen = np.random.default_rng(1).permutation(len(picked))
        chosen = np.sort(chosen[: max(1, int(np.searchsorted(np.cumsum(n[chosen]), _MAX_EVENTS)))])
        picked, n = picked[chosen], n[chosen]
    if len(picked) == 0:
        return good
    begin = np.cumsum(n) - n
    within = np.arange(int(n.sum())) - np.repeat(begin, n)
    at = np.repeat(base[picked] + layout.FIRST_TAG_WORD, n) + layout.WORDS_PER_EVENT * within
    tag, clock = flat[at].astype(np.int64), flat[at + 1].astype(np.int64)
    is_tag = (tag & layout.NAME_MASK) <= layout.MAX_NAME_ID
    is_exit = tag >= layout.EXIT_BIT
    depth = np.cumsum(np.where(is_exit, -1, 1))
    depth -= np.repeat(depth[begin] - 1, n)  # every such row begins with an enter
    step = np.diff(clock, prepend=clock[:1]).astype(np.uint32).view(np.int32)
    back = (step < _STEP_BACK_CYC) & (within > 0)
    sound = (
        np.logical_and.reduceat(is_tag, begin)
        & (np.minimum.reduceat(depth, begin) >= 0)
        & (np.add.reduceat(back.astype(np.int64), begin) <= 1 + n // 8)
    )
    whole = n * layout.WORDS_PER_EVENT == used[picked]
    full = used[picked] == layout.WORDS_PER_EVENT * layout.capacity_events(words)
    cut = full & np.logical_or.reduceat(is_exit, begin)
    closed = (depth[begin + n - 1] == 0) | cut | ~whole
    good[picked] = sound & closed
    return good
