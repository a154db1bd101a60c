"""The layout of a bare buffer, from the structure of its headers.

Words per track divide the number of words. Every divisor is scored on a sample of rows, the best
ones on all rows with their events (:mod:`mgpu_trace.read.headers`). Multiples of the truth look
like headers too and explain fewer of them; parts of it explain as many where the unused words are
zero. So the winner is the largest number that loses no header.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.layout import Word2
from mgpu_trace.model import U32
from mgpu_trace.read.grouping import tracks_per_block
from mgpu_trace.read.headers import Fit, fit, rows_to_look_at
from mgpu_trace.read.look import Look

_SAMPLE_ROWS = 256
_ALL_ROWS = 1 << 14
_MAX_FINALISTS = 24
_MAX_LISTED = 8
# Half of the best: a multiple of the truth explains half of its headers at most.
_FINALIST = 0.5
_RIVAL = 0.6
# Estimates from samples differ by a few percent.
_EQUAL = 0.85
_ZERO_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Layout:
    """What was inferred.

    Attributes
    ----------
    words_per_track, word2
        The layout.
    tracks_per_block
        From runs of one SM id; 1 where that is not sure.
    sureness
        ``"sure"``, ``"likely"`` or ``"guess"``.
    evidence
        Why, in words.
    """

    words_per_track: int
    word2: Word2
    tracks_per_block: int
    sureness: str
    evidence: str


def infer_layout(flat: U32, let_go: Callable[[], None] | None = None) -> Layout:
    """Find the layout of ``flat``, the ``(n_words,)`` words of a whole buffer.

    Parameters
    ----------
    flat
        The words.
    let_go
        Called between two looks at a large buffer, so that a memory map need not keep its pages;
        None where there is none.

    Raises
    ------
    MgpuTraceError
        MGT204 when several fit about as well, MGT205 when none does.
    """
    look = Look(flat, let_go)
    n_used = _without_trailing_zeros(look)
    if n_used == 0:
        raise _no_layout(f"all {flat.size} words are zero: the kernel never ran, or this is another array")
    finalists = [f for f in _finalists(look, n_used) if f.is_plausible]
    if not finalists:
        raise _no_layout(f"no number of words per track makes these {flat.size} words look like tracks")
    best = max(finalists, key=lambda f: (f.value, f.words))
    winner = max((f for f in finalists if _loses_nothing(best, f)), key=lambda f: f.words)
    rivals = [f.words for f in finalists if _is_rival(f, winner)]
    if rivals:
        raise _ambiguous([winner.words, *rivals])
    parts = [f for f in finalists if winner.words % f.words == 0 and f.value >= 0.75 * winner.value]
    winner = _by_what_is_filled(look, winner, parts)
    others = [f.words for f in parts if f is not winner]
    return _layout(look, winner, others)


def _finalists(look: Look, n_used: int) -> list[Fit]:
    """The layouts that explain at least half as much as the best one, looked at closely."""
    tried = []
    for words in _divisors(look.size):
        n_rows = -(-n_used // words)
        tried.append(fit(look, words, n_rows, rows_to_look_at(n_rows, _SAMPLE_ROWS), deep=False))
    top = max((f.value_without_overfull for f in tried if f.is_plausible), default=0.0)
    kept = [f for f in tried if f.is_plausible and f.value > 0 and f.value >= _FINALIST * top]
    kept.sort(key=lambda f: f.value, reverse=True)
    n_looks = _ALL_ROWS // 4 if look.is_large else _ALL_ROWS
    return [
        fit(look, f.words, f.n_rows, rows_to_look_at(f.n_rows, n_looks), deep=True)
        for f in kept[:_MAX_FINALISTS]
    ]


def _divisors(n: int) -> list[int]:
    """Divisors of ``n`` that leave room for an event."""
    small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    lowest = layout.HEADER_WORDS + layout.WORDS_PER_EVENT
    return [d for d in sorted({*small, *(n // d for d in small)}) if d >= lowest]


def _without_trailing_zeros(look: Look) -> int:
    """The number of words up to the last one that is not zero."""
    for end in range(look.size, 0, -_ZERO_CHUNK):
        start = max(0, end - _ZERO_CHUNK)
        found = np.flatnonzero(look.between(start, end))
        if len(found):
            return start + int(found[-1]) + 1
    return 0


def _loses_nothing(best: Fit, other: Fit) -> bool:
    """Whether ``other``, a multiple of ``best``, has all its headers, but for rows inside of tracks."""
    if other.words % best.words:
        return False
    if other.words == best.words:
        return True
    if other.value < _EQUAL * best.value:
        return False
    header = best.good | best.broken | best.idle
    row, within = np.divmod(best.rows[header] * best.words, other.words)
    place = np.minimum(np.searchsorted(other.rows, row), len(other.rows) - 1)
    seen = other.rows[place] == row
    # The last clock and zeros after it look like the header of an idle track.
    end = within + np.where(best.idle[header], 1, layout.FIRST_CLOCK_WORD)
    inside = other.good[place] & (end <= other.used[place] + layout.HEADER_WORDS)
    lost = seen & (within != 0) & ~inside
    return not lost.any()


def _is_rival(other: Fit, winner: Fit) -> bool:
    """Whether another, unrelated layout explains about as much."""
    related = winner.words % other.words == 0 or other.words % winner.words == 0
    return not related and other.value >= _RIVAL * winner.value


def _by_what_is_filled(look: Look, winner: Fit, parts: list[Fit]) -> Fit:
    """Choose a part of ``winner`` when the unused words of its rows are filled just that far.

    Unused words are stale memory. Where they stop at the same place in every track, and zeros
    follow, the zeros are tracks of blocks that never ran.

    Raises
    ------
    MgpuTraceError
        MGT204 when only one track says so.
    """
    rows = np.flatnonzero(winner.good)[:64]
    filled = []
    for i in rows:
        start = int(winner.rows[i]) * winner.words
        tail = np.flatnonzero(look.between(start, start + winner.words))
        end = int(tail[-1]) + 1 if len(tail) else 0
        if end > int(winner.used[i]) + layout.HEADER_WORDS + 1:
            filled.append(end)
    for part in parts:
        if part is not winner and filled and filled.count(part.words) >= 0.9 * len(filled):
            if len(filled) == 1:
                raise _ambiguous([part.words, winner.words])
            return part
    return winner


def _layout(look: Look, winner: Fit, others: list[int]) -> Layout:
    looked = len(winner.rows)
    n_good = int(np.count_nonzero(winner.good))
    spoilt = winner.n_bad + winner.n_damaged + winner.n_overfull
    if others or n_good < 4 or spoilt > 0.1 * winner.n_good:
        sureness = "guess" if n_good < 2 else "likely"
    else:
        sureness = "sure"
    evidence = f"{n_good} of {looked} {'' if looked == winner.n_rows else 'sampled '}headers fit"
    if winner.word2 is Word2.USED_PLUS_HEADER:
        evidence += ", with the old count in word 2 (JAX up to 0.7.2)"
    if others:
        listed = ", ".join(str(w) for w in sorted(others, reverse=True)[:_MAX_LISTED])
        evidence += f", and {listed} would fit if whole tracks between were empty"
    per_block = tracks_per_block(look, winner.words)
    return Layout(winner.words, winner.word2, per_block, sureness, evidence)


def _ambiguous(words: list[int]) -> MgpuTraceError:
    listed = [str(w) for w in sorted(set(words))[:_MAX_LISTED]]
    return MgpuTraceError(
        Diagnostic(
            catalogue.AMBIGUOUS_LAYOUT,
            f"several layouts fit: {', '.join(listed)} words per track",
            hint=f"give {' or '.join(f'--entries {w}' for w in listed)}",
        )
    )


def _no_layout(message: str) -> MgpuTraceError:
    return MgpuTraceError(
        Diagnostic(catalogue.NO_LAYOUT, message, hint="if it is a buffer, give --grid, --block and --entries")
    )
