"""The order in which slices of a line begin and end: what a format of begins and ends needs.

Perfetto sorts by time and keeps the order of the file where times are equal, so this order is what
its nesting comes from: children end before their parents, and a region of no length begins and
ends where the kernel left it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.model import I64, Bool, Slices

# Depths are counted up to this.
_COUNTED: Final = np.iinfo(np.int16).max
# With something inside at no more levels than this, one look per level is cheaper than sorting by level.
_LEVELS_BY_LOOK: Final = 6


@dataclass(frozen=True, slots=True)
class Order:
    """The sequence of all begins and ends, in which each line has one more place before them.

    Attributes
    ----------
    begin, end
        ``(n_slices,)`` places of begins and ends.
    line
        ``(n_lines,)`` places before each line's own.
    """

    begin: I64
    end: I64
    line: I64

    @property
    def size(self) -> int:
        """Places in all."""
        return 2 * len(self.begin) + len(self.line)


@dataclass(frozen=True, slots=True)
class Placed:
    """Slices by line, then by enter.

    Attributes
    ----------
    slices
        The slices. Their own depths may be those of a table from which some were taken away.
    first
        ``(n_lines,)`` row of the first slice of each line.
    floor
        ``(n_lines,)`` which line of its lane it is: what nests deeper than 512 levels has more of them.
    order
        Where each begins and ends.
    ns
        Times in that order; at the place before a line its first one.
    """

    slices: Slices
    first: I64
    floor: I64
    order: Order
    ns: I64


def place(slices: Slices, begin: I64, end: I64, levels: int) -> Placed:
    """The lines of slices (whole tracks, by track and enter) of so many levels, and the order on them."""
    if slices.lane.any():
        rows = np.lexsort((slices.lane, slices.track))
        slices, begin, end = slices.where(rows), begin[rows], end[rows]
    starts = _is_new(slices.track) | _is_new(slices.lane)
    depth = slices.depth.astype(np.int64)
    if _is_nested(depth, starts) and depth.max(initial=0) < levels:
        order = order_of(depth, starts)
        ns = _in_order(order, begin, end)
        if not _goes_back(order, ns):
            first = np.flatnonzero(starts)
            return Placed(slices, first, np.zeros_like(first), order, ns)
    line = np.cumsum(starts) - 1
    depth = nested_again(slices.start_cyc, slices.start_cyc + slices.dur_cyc, depth, line)
    floor = depth // levels
    rows = np.lexsort((floor, line))
    slices, begin, end, floor, line = slices.where(rows), begin[rows], end[rows], floor[rows], line[rows]
    starts = _is_new(line) | _is_new(floor)
    order = order_of(depth[rows] % levels, starts)
    first = np.flatnonzero(starts)
    return Placed(slices, first, floor[first], order, _in_order(order, begin, end))


def order_of(depth: I64, starts: Bool) -> Order:
    """The order of slices that nest, from their depths alone.

    Parameters
    ----------
    depth
        ``(n_slices,)`` by line, then by enter. The first of a line has depth 0, and no slice is more
        than one deeper than the one before it.
    starts
        Which slices are a line's first.
    """
    n = len(depth)
    # Before a slice begins, all before it have begun, and all but those around it have ended.
    begin = np.arange(0, 2 * n, 2)
    begin -= depth
    end = _ends(depth, begin)
    n_lines = np.cumsum(starts)
    begin += n_lines
    end += n_lines
    return Order(begin, end, begin[starts] - 1)


def _ends(depth: I64, begin: I64) -> I64:
    """``(n_slices,)`` places of ends: a slice ends when it and all inside it have begun and ended."""
    n = len(depth)
    end = begin + 1
    inside = depth[1:] > depth[:-1]
    if not inside.any():
        return end
    deepest = int(depth[:-1][inside].max())  # with something inside
    if deepest >= _LEVELS_BY_LOOK:
        return _ends_by_sorting(depth, begin)
    narrow = depth.astype(np.int8)
    for level in range(deepest + 1):
        # Of those no deeper, the next one is the first that is not inside.
        here = np.flatnonzero(narrow <= level)
        of = np.flatnonzero(narrow[here] == level)
        mine = here[of]
        follows = np.append(here, n)[of + 1]
        follows -= mine
        follows -= 1
        follows *= 2
        end[mine] += follows
    return end


def _ends_by_sorting(depth: I64, begin: I64) -> I64:
    """The same for any depth."""
    n = len(depth)
    is_end = np.ones(2 * n, np.bool_)
    is_end[begin] = False
    places = np.flatnonzero(is_end)
    level = places - np.arange(1, 2 * n, 2)
    # Of one depth, begins and ends alternate.
    end = np.empty(n, np.int64)
    kind = np.uint8 if depth.max(initial=0) < 256 else np.uint16
    end[_by_level(depth, kind)] = places[_by_level(level, kind)]
    return end


def _by_level(level: I64, kind: type[np.uint8 | np.uint16]) -> I64:
    # NumPy sorts numbers this narrow digit by digit: one pass over them for each byte.
    return np.argsort(level.astype(kind), kind="stable")


def _is_new(of: NDArray[Any]) -> Bool:
    """Where a value differs from the one before it; the first does."""
    new = np.ones(len(of), np.bool_)
    np.not_equal(of[1:], of[:-1], out=new[1:])
    return new


def _is_nested(depth: I64, starts: Bool) -> bool:
    """Whether the depths are those of whole lines: each begins at 0 and goes down one at a time."""
    jumps = depth[1:] > depth[:-1] + 1
    return not (depth[starts].any() or jumps.any())


def _in_order(order: Order, begin: I64, end: I64) -> I64:
    ns = np.empty(order.size, np.int64)
    ns[order.begin] = begin
    ns[order.end] = end
    ns[order.line] = ns[order.line + 1]
    return ns


def _goes_back(order: Order, ns: I64) -> bool:
    """Whether a time on a line is before the one before it."""
    back = ns[1:] < ns[:-1]
    back[order.line[1:] - 1] = False
    return bool(back.any())


def nested_again(begin: I64, end: I64, depth: I64, line: I64) -> I64:
    """Depths among the slices that are there, of a table from which some were taken away.

    Parameters
    ----------
    begin, end
        ``(n_slices,)`` times, by line, then by enter.
    depth
        What it was when all slices were there.
    line
        Which line each slice is on.
    """
    follows = line[1:] == line[:-1]
    inside = depth[1:] > depth[:-1]
    inside &= (begin[1:] < end[:-1]) | ((begin[1:] == end[:-1]) & (end[1:] == begin[1:]))
    # A line where no slice lies in the one before it is flat.
    deep = np.zeros(int(line[-1]) + 1, np.bool_)
    deep[line[1:][follows & inside]] = True
    found = np.zeros(len(depth), np.int64)
    rows = np.flatnonzero(deep[line])
    stack: list[tuple[int, int]] = []
    previous = -1
    columns = (line[rows], begin[rows], end[rows], depth[rows])
    for row, of, first, last, was in zip(rows, *(c.tolist() for c in columns), strict=True):
        if of != previous:
            stack, previous = [], of
        while stack and not _lies_in(first, last, was, *stack[-1]):
            stack.pop()
        found[row] = len(stack)
        stack.append((last, was))
    return found


def _lies_in(begin: int, end: int, depth: int, outer_end: int, outer_depth: int) -> bool:
    """Whether a slice lies in one that was entered before it."""
    # Depths that are counted no further are all the same, and say nothing.
    if depth <= outer_depth < _COUNTED:
        return False
    return begin < outer_end or begin == end == outer_end
