"""Whether the words after a row's header read as events: tags, order in time, and nesting."""

from __future__ import annotations

import numpy as np

from mgpu_trace import layout
from mgpu_trace.model import I64, Bool
from mgpu_trace.read.look import Look

_MAX_EVENTS_PER_ROW = 4096
_MAX_EVENTS = 1 << 17
# Hardware steps back by a few cycles, and no region takes 0.1 s. More than that, once in a while, is
# a damaged reading; at a header that was taken for events there are three such steps in a row.
_STEP_BACK_CYC = -64
_STEP_ON_CYC = 1 << 28
# A region left open before the end is believed where another one was closed.
_MIN_UNCLOSED = 3


def read_rows(look: Look, base: I64, n_events: I64) -> Bool:
    """Which of the rows whose headers are at ``base`` have events that nest.

    That is, in the first ``n_events`` (at least 1): every tag can be one, some are enters and some
    exits, no exit is without its enter, the clock hardly ever jumps, and regions are closed. Rows
    that there is no time for count as such.
    """
    out = np.ones(len(base), np.bool_)
    n = np.minimum(n_events, _MAX_EVENTS_PER_ROW)
    picked = np.arange(len(base))
    if int(n.sum()) > _MAX_EVENTS:
        order = np.random.default_rng(1).permutation(len(base))
        picked = np.sort(order[: max(1, int(np.searchsorted(np.cumsum(n[order]), _MAX_EVENTS)))])
    if len(picked):
        out[picked] = _read(look, base[picked], n[picked], n[picked] == n_events[picked])
    return out


def _read(look: Look, base: I64, n: I64, whole: Bool) -> Bool:
    begin = np.cumsum(n) - n
    within = np.arange(int(n.sum())) - np.repeat(begin, n)
    at = np.repeat(base + layout.FIRST_TAG_WORD, n) + layout.WORDS_PER_EVENT * within
    per_row = max(1, len(at) // len(n))
    tag, clock = look.at(at, per_row), look.at(at + 1, per_row)
    is_exit = tag >= layout.EXIT_BIT
    n_exits = np.add.reduceat(is_exit.astype(np.int64), begin)
    tags = np.logical_and.reduceat((tag & layout.NAME_MASK) <= layout.MAX_NAME_ID, begin)
    tags &= np.where(n > 1, (n_exits > 0) & (n_exits < n), ~is_exit[begin])

    change = np.where(is_exit, -1, 1)
    depth = np.cumsum(change)
    depth -= np.repeat(depth[begin] - change[begin], n)
    step = np.diff(clock, prepend=clock[:1]).astype(np.uint32).view(np.int32)
    jumps = ((step < _STEP_BACK_CYC) | (step > _STEP_ON_CYC)) & (within > 0)
    n_jumps = np.add.reduceat(jumps.astype(np.int64), begin)
    thrice = jumps & np.append(False, jumps[:-1]) & np.append([False] * 2, jumps[:-2])[: len(jumps)]
    smooth = (n_jumps <= n // 8) & ~np.logical_or.reduceat(thrice & (within > 2), begin)
    closed = (depth[begin + n - 1] == 0) | ~whole | (n >= _MIN_UNCLOSED)
    nests: Bool = tags & (np.minimum.reduceat(depth, begin) >= 0) & smooth & closed
    return nests
