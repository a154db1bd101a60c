"""Which grids, blocks and words per track give a buffer of a size, told when its spec does not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.spec import MAX_THREADS, TraceSpec

# Tracks are in shared memory while the kernel runs, so none is longer than 228 KiB.
MAX_WORDS: Final = 1 << 16
# Of the ways out that change two things at once, so many of each kind.
N_NEAREST: Final = 2


def wrong_size(n_words: int, spec: TraceSpec) -> Diagnostic:
    """MGT201: a buffer of ``n_words`` words cannot have this spec; with what would fit."""
    fits = list(dict.fromkeys((*_one_changed(n_words, spec), *_two_changed(n_words, spec))))
    return Diagnostic(
        catalogue.WRONG_SIZE,
        f"buffer has {n_words} words, but {counted(spec.n_blocks, 'block')} x "
        f"{counted(spec.tracks_per_block, spec.scope.label)} x "
        f"{spec.words_per_track} words need {spec.n_words}",
        hint=f"would fit: {', '.join(fits)}" if fits else "check --grid, --block, --scope and --entries",
    )


def _one_changed(n_words: int, spec: TraceSpec) -> Iterator[str]:
    """Other words, another grid, or another block, the rest as it is said."""
    words, rest = divmod(n_words, spec.n_tracks)
    if not rest and words > layout.HEADER_WORDS:
        yield f"--entries {words}"
    blocks, rest = divmod(n_words, spec.tracks_per_block * spec.words_per_track)
    if not rest and blocks:
        yield f"--grid {blocks}"
    tracks, rest = divmod(n_words, spec.n_blocks * spec.words_per_track)
    if not rest and _is_block(tracks, spec):
        yield f"--block {tracks * spec.scope.value}"


def _two_changed(n_words: int, spec: TraceSpec) -> Iterator[str]:
    """A grid or a block together with other words, those nearest to the words that are said."""
    near = spec.words_per_track
    for words, blocks in _shares(n_words, spec.tracks_per_block, near):
        if blocks != spec.n_blocks:
            yield f"--grid {blocks} --entries {words}"
    for words, tracks in _shares(n_words, spec.n_blocks, near):
        if tracks != spec.tracks_per_block and _is_block(tracks, spec):
            yield f"--block {tracks * spec.scope.value} --entries {words}"


def _shares(n_words: int, fixed: int, near: int) -> list[tuple[int, int]]:
    """``(words, n)`` with ``words * n * fixed == n_words``, those nearest to ``near`` words."""
    whole, rest = divmod(n_words, fixed)
    if rest:
        return []
    low = [d for d in range(1, min(math.isqrt(whole), MAX_WORDS) + 1) if whole % d == 0]
    all_of_them = {*low, *(whole // d for d in low)} - {near}
    usable = [d for d in all_of_them if layout.HEADER_WORDS < d <= MAX_WORDS]
    return [(d, whole // d) for d in sorted(usable, key=lambda d: (abs(d - near), d))[:N_NEAREST]]


def _is_block(tracks: int, spec: TraceSpec) -> bool:
    return 0 < tracks * spec.scope.value <= MAX_THREADS
