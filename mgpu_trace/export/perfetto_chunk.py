"""The packets of a chunk of slices: each line's own, and then its begins and ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from mgpu_trace.export.perfetto_order import Placed
from mgpu_trace.export.perfetto_rows import (
    ROW_WORDS,
    Words,
    begin_end_words,
    default_rows,
    put_times,
    whole_begin_end_words,
)
from mgpu_trace.model import I64

# With fewer slices per line than this each packet says its line. It takes more bytes than saying it
# once for all that follow; but that makes the engine copy all it knows of a sequence, and unpack each
# name again: a few kB for every line.
_LONG_LINE: Final = 64
_WORD_LENGTH: Final = np.uint64(8 << 8)  # eight bytes, at the place of a length


@dataclass(frozen=True, slots=True)
class Carried:
    """What begins carry besides name and time.

    Attributes
    ----------
    columns
        ``(n_slices,)`` each: words of all slices.
    marked, marks
        ``(n,)``: slices with one word more, and it.
    """

    columns: list[Words]
    marked: I64
    marks: Words


def chunk_packets(placed: Placed, uuids: Words, clock: int, carried: Carried) -> Words:
    """All of them, one behind the other.

    Parameters
    ----------
    placed
        The slices, with whole times.
    uuids
        ``(n_lines,)`` ids of their lines.
    clock
        Which clock the times are of.
    carried
        What else the slices carry.
    """
    order, name_iid = placed.order, placed.slices.name + 1
    rows = np.empty((order.size, ROW_WORDS), np.uint64)
    put_times(rows, placed.ns)
    if len(name_iid) >= _LONG_LINE * len(uuids):
        one, other = begin_end_words(name_iid)
        if not carried.columns and not carried.marked.size:
            rows[order.begin, 2], rows[order.end, 2] = one, other
            rows[order.line] = default_rows(uuids, clock)
            return rows
        return _of_columns(placed, rows, [one], [other], default_rows(uuids, clock), carried)
    n_slices = np.diff(placed.first, append=len(name_iid))
    begin, end = whole_begin_end_words(name_iid, np.repeat(uuids, n_slices))
    return _of_columns(placed, rows, begin, end, np.empty((len(uuids), 0), np.uint64), carried)


def _of_columns(
    placed: Placed, times: Words, begin: list[Words], end: list[Words], lines: Words, carried: Carried
) -> Words:
    """Packets of several widths.

    Parameters
    ----------
    times
        ``(n_places, >= 2)`` the words of times, for packets of three words.
    begin, end
        Columns of the words that follow them.
    lines
        ``(n_lines, width)`` the packets of lines.
    """
    order = placed.order
    more = len(carried.columns)
    size = np.empty(len(times), np.int64)
    size[order.begin] = 2 + len(begin) + more
    size[order.begin[carried.marked]] += 1
    size[order.end] = 2 + len(end)
    size[order.line] = lines.shape[1]
    at = np.cumsum(size)
    words = np.empty(int(at[-1]), np.uint64)
    at -= size

    own = np.full(len(order.begin), _WORD_LENGTH * np.uint64(more))
    own[carried.marked] += _WORD_LENGTH
    first = times[order.begin, 0] + (own + _WORD_LENGTH * np.uint64(len(begin) - 1))
    begins = [first, times[order.begin, 1], begin[0] + own, *begin[1:], *carried.columns]
    first = times[order.end, 0] + _WORD_LENGTH * np.uint64(len(end) - 1)
    ends = [first, times[order.end, 1], *end]
    for places, columns in ((order.begin, begins), (order.end, ends), (order.line, list(lines.T))):
        to = at[places]
        for column in columns:
            words[to] = column
            to += 1
    words[at[order.begin[carried.marked]] + len(begins)] = carried.marks
    return words
