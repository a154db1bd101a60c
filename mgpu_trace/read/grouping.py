"""How many tracks one block has, from the SM ids and start times of neighbouring tracks."""

from __future__ import annotations

import numpy as np

from mgpu_trace import layout
from mgpu_trace.read.look import Look

_MAX_ROWS = 1 << 14
_MAX_TRACKS_PER_BLOCK = 32  # 1024 threads in warps
_MIN_BLOCKS = 4
_MOST = 0.8
# The threads of a block start together; blocks of a wave may too, but on other SMs.
_TOGETHER_NS = 1 << 16


def tracks_per_block(look: Look, words_per_track: int) -> int:
    """The tracks of a block where that is sure, else 1.

    Sure means: in every group of that many neighbours the SM ids are equal and the start times
    close, and from nearly each group to the next the SM changes, over at least four blocks. Groups
    that never ran or have a broken header do not count, as long as they are few.
    """
    n_tracks = look.size // words_per_track
    rows = np.arange(min(n_tracks, _MAX_ROWS)) * words_per_track
    sm, start = look.at(rows + layout.SM_WORD), look.at(rows + layout.START_WORD)
    for group in range(_MAX_TRACKS_PER_BLOCK, 1, -1):
        blocks = len(sm) // group
        if n_tracks % group or blocks < _MIN_BLOCKS:
            continue
        sms, starts = (c[: blocks * group].reshape(blocks, group) for c in (sm, start))
        spread = np.abs((starts - starts[:, :1]).astype(np.uint32).view(np.int32).astype(np.int64))
        told = (sms <= layout.MAX_PLAUSIBLE_SM).all(axis=1) & ((sms != 0) | (starts != 0)).any(axis=1)
        same = (sms == sms[:, :1]).all(axis=1) & (spread.max(axis=1) <= _TOGETHER_NS)
        both = told[1:] & told[:-1]
        changes = np.count_nonzero(both & (sms[1:, 0] != sms[:-1, 0]))
        enough = np.count_nonzero(told) >= max(_MIN_BLOCKS, _MOST * blocks)
        if enough and same[told].all() and changes >= _MOST * max(1, int(np.count_nonzero(both))):
            return group
    return 1
