"""How well one number of words per track explains a buffer: every row of words as a header.

Each row looked at falls in one class. *Good*: the header can be one and its events nest.
*Overfull*: it counts more words than the row has, and the row is full of events. *Damaged*: parts
of it can be a header, and its start time is near that of the good ones. *Idle*: a header without
events, likewise. *Zero*: nothing but zeros, which every layout explains. *Bad*: the rest.
A good row among random words is out of the question: SM id, count and tags alone are 50 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mgpu_trace import layout
from mgpu_trace.layout import Word2
from mgpu_trace.model import I64, Bool
from mgpu_trace.read.look import Look
from mgpu_trace.read.nesting import read_rows

# A damaged or idle row is worth less than a good one, but enough that two tracks of which one is
# damaged (1 + 0.6) beat one track of both (1).
_PARTIAL = 0.6
_BAD = 0.5
# Fewer stale events than these, at a place that looks like a header, could pass for an overfull track.
_MIN_OVERFULL = 6
# So many events that nest stand for a header whose SM id is none.
_MIN_STRANGE = 4
# Start times of one launch; 100 ms either way is 5 % of the timer's circle.
_NEAR_NS = 100_000_000


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
    good, broken, idle
        Which of them are good, overfull or damaged, and idle.
    n_good, n_overfull, n_idle, n_damaged, n_bad
        Estimates for all rows; exact when all were looked at.
    """

    words: int
    word2: Word2
    n_rows: int
    rows: I64
    used: I64
    good: Bool
    broken: Bool
    idle: Bool
    n_good: float
    n_overfull: float
    n_idle: float
    n_damaged: float
    n_bad: float

    @property
    def value(self) -> float:
        """Headers explained, less what is explained by nothing."""
        n_partial = self.n_overfull + self.n_idle + self.n_damaged
        return self.n_good + _PARTIAL * n_partial - _BAD * self.n_bad

    @property
    def value_without_overfull(self) -> float:
        """The same where overfull rows are neither: only their events can say whether they are any."""
        return self.value - _PARTIAL * self.n_overfull

    @property
    def is_plausible(self) -> bool:
        """Whether there are headers, and not too much besides them.

        Overfull tracks alone must leave hardly a row unexplained: stale events can look like one.
        """
        if self.n_good < 1 and self.n_bad > 0.1 * self.n_rows:
            return False
        n_headers = self.n_good + self.n_overfull
        sound = n_headers + self.n_idle
        return n_headers >= 1 and 2 * (sound + self.n_damaged) >= self.n_bad and 8 * sound >= self.n_damaged


def rows_to_look_at(n_rows: int, limit: int) -> I64:
    """At most ``limit`` rows: a quarter from the start, the rest at random places, in order.

    Even spacing would always meet the true headers of a multiple or a part.
    """
    if n_rows <= limit:
        return np.arange(n_rows, dtype=np.int64)
    first = limit // 4
    rest = np.random.default_rng(0).integers(first, n_rows, limit - first)
    return np.concatenate((np.arange(first, dtype=np.int64), np.unique(rest)))


@dataclass(frozen=True, slots=True)
class _Rows:
    """The words at the headers' places, ``(n_looked,)`` each, and what they can be by themselves.

    ``sized``: the count is one of whole events; ``fits``: and the track has room for them;
    ``tags``: the first tag and the last one in the track can be tags.
    """

    base: I64
    start: I64
    sm: I64
    used: I64
    first: I64
    n_events: I64
    old: bool
    is_sm: Bool
    sized: Bool
    fits: Bool
    tags: Bool
    ends: Bool
    zero: Bool


def _read_headers(look: Look, words: int, rows: I64) -> _Rows:
    base = rows * words
    start, sm, count, first, clock = (look.at(base + i) for i in range(5))
    old = _is_old(sm, count, words)
    used = np.where(count == 0, 0, count - layout.HEADER_WORDS) if old else count
    sized = (used >= layout.WORDS_PER_EVENT) & (used % layout.WORDS_PER_EVENT == 0)
    sized &= used <= words + layout.MAX_OVERRUN_WORDS
    fits = sized & (used <= layout.capacity_words(words))
    n_events = np.minimum(used // layout.WORDS_PER_EVENT, layout.capacity_events(words))
    last = look.at(np.where(sized, base + 1 + layout.WORDS_PER_EVENT * n_events, base))
    tags = ((first | last) & layout.NAME_MASK) <= layout.MAX_NAME_ID
    ends = fits & (n_events > 1) & tags & (last >= layout.EXIT_BIT)
    tail = look.at(base + words - 1) | look.at(base + words // 2)
    zero = (start | sm | count | first | clock | tail) == 0
    is_sm = sm <= layout.MAX_PLAUSIBLE_SM
    return _Rows(base, start, sm, used, first, n_events, old, is_sm, sized, fits, tags, ends, zero)


def fit(look: Look, words: int, n_rows: int, rows: I64, *, deep: bool) -> Fit:
    """Classify ``rows``; ``deep`` also reads their events, as far as is affordable."""
    at = _read_headers(look, words, rows)
    header = at.sized & at.tags & (at.first <= layout.MAX_NAME_ID)
    header &= at.is_sm | (at.fits & (at.n_events >= _MIN_STRANGE))
    if deep:
        maybe = np.flatnonzero(header)
        header[maybe] = read_rows(look, at.base[maybe], at.n_events[maybe])
    good = header & at.fits & at.is_sm
    over = header & ~at.fits & (layout.capacity_events(words) >= _MIN_OVERFULL)
    near, usual = _like_the_headers(at.start, at.first, good | over)
    over &= near

    known = near & at.is_sm & ~good & ~over & ((at.start | at.sm | at.first) != 0)
    idle = known & (at.used == 0)
    victim = at.sized & _is_overrun(look, at, words)
    damaged = known & ~idle & (usual | at.ends | victim)
    damaged |= header & at.fits & ~at.is_sm & near
    zero = _all_zero(look, at.base, words, at.zero) if deep else at.zero
    bad = ~(good | over | idle | damaged | zero)

    word2 = Word2.USED_PLUS_HEADER if at.old else Word2.USED
    counts = [_scaled(mask, rows, n_rows) for mask in (good, over, idle, damaged, bad)]
    return Fit(words, word2, n_rows, rows, at.used, good, over | damaged, idle, *counts)


def _is_overrun(look: Look, at: _Rows, words: int) -> Bool:
    """Whether the row before is of the same SM and counts more words than it has."""
    before = np.maximum(at.base - words, 0)
    used = look.at(before + layout.USED_WORD) - (layout.HEADER_WORDS if at.old else 0)
    overran = (used > words) & (used <= words + layout.MAX_OVERRUN_WORDS) & (used % 2 == 0)
    victim: Bool = overran & (look.at(before + layout.SM_WORD) == at.sm) & (at.base > 0)
    return victim


def _is_old(sm: I64, count: I64, words: int) -> bool:
    """Whether more counts can be words plus 3 than words."""
    can_be = (sm <= layout.MAX_PLAUSIBLE_SM) & (count >= 2)
    can_be &= count <= words + layout.MAX_OVERRUN_WORDS
    return int(np.count_nonzero(can_be & (count % 2 == 1))) > int(np.count_nonzero(can_be & (count % 2 == 0)))


def _scaled(mask: Bool, rows: I64, n_rows: int) -> float:
    """Estimate of a class over all rows: what the leading rows have, and the rate of the others."""
    if len(rows) == n_rows:
        return float(np.count_nonzero(mask))
    lead = int(np.count_nonzero(rows == np.arange(len(rows))))
    others = mask[lead:]
    rate = float(np.count_nonzero(others)) / max(1, len(others))
    return float(np.count_nonzero(mask[:lead])) + rate * (n_rows - lead)


def _like_the_headers(start: I64, first: I64, headers: Bool) -> tuple[Bool, Bool]:
    """Which rows start near the headers in time, and which have their usual first tag."""
    if not headers.any():
        return headers, headers
    offset = (start - start[headers][0]).astype(np.uint32).view(np.int32).astype(np.int64)
    span = int(np.abs(offset[headers]).max())
    values, counts = np.unique(first[headers], return_counts=True)
    return np.abs(offset) <= max(_NEAR_NS, span + span // 2), first == values[np.argmax(counts)]


def _all_zero(look: Look, base: I64, words: int, maybe: Bool) -> Bool:
    """Which of the rows that begin with zeros are zeros throughout."""
    zero = maybe.copy()
    for i in np.flatnonzero(maybe)[:: max(1, int(maybe.sum()) * words // (1 << 20))]:
        zero[i] = not look.between(base[i], base[i] + words).any()
    return zero
