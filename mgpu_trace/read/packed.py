"""Buffers without the words that no event uses: ``packed``, ``kept`` and ``shape`` in place of ``words``.

Most launches fill little of their tracks. What lies behind the used words is stale shared memory
that no reader may look at (docs/format.md), so it need not be stored.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mgpu_trace import layout
from mgpu_trace.model import U32

PACKED_NAMES: Final = ("packed", "kept", "shape")
_CHUNK_WORDS: Final = 1 << 22


def kept_words(tracks: U32) -> U32:
    """How many words of each track have to be kept: header and used words, or all of a broken one.

    Parameters
    ----------
    tracks
        ``(n_tracks, words_per_track)``.
    """
    words = tracks.shape[1]
    used = tracks[:, layout.USED_WORD].astype(np.int64)
    # Enough for both variants of word 2, for the count may already include the header.
    kept = np.where(used <= words, np.minimum(used + layout.HEADER_WORDS, words), words)
    return kept.astype(np.uint32)


def pack(tracks: U32, kept: U32) -> U32:
    """The first ``kept`` words of each track, one track after the other: ``(kept.sum(),)``."""
    n_tracks, words = tracks.shape
    step = max(1, _CHUNK_WORDS // words)
    within = np.arange(words, dtype=np.uint32)
    parts = [tracks[at : at + step][within < kept[at : at + step, None]] for at in range(0, n_tracks, step)]
    return np.concatenate(parts)


def unpack(packed: U32, kept: U32, words: int) -> U32:
    """The buffer again, flat, with zeros where nothing was kept.

    Parameters
    ----------
    packed, kept
        As :func:`pack` makes them; ``kept`` sums up to ``packed.size`` and no element is above ``words``.
    """
    n_tracks = kept.size
    flat = np.zeros(n_tracks * words, np.uint32)
    tracks = flat.reshape(n_tracks, words)
    widest = int(kept.max(initial=0))  # words beyond it need no memory until they are looked at
    step = max(1, _CHUNK_WORDS // max(1, widest))
    within = np.arange(widest, dtype=np.uint32)
    taken = 0
    for at in range(0, n_tracks, step):
        mask = within < kept[at : at + step, None]
        n = int(np.count_nonzero(mask))
        tracks[at : at + step, :widest][mask] = packed[taken : taken + n]
        taken += n
    return flat
