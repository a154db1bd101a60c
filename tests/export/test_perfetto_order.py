"""The order of begins and ends on lines, against a stack."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from mgpu_trace.export.perfetto_order import order_of


def with_a_stack(lines: list[list[int]]) -> list[tuple[str, int]]:
    """What comes where, of lines of depths: a line, and the begins and ends of its slices."""
    out, number = [], 0
    for i, depths in enumerate(lines):
        out.append(("line", i))
        stack: list[int] = []
        for depth in depths:
            while len(stack) > depth:
                out.append(("end", stack.pop()))
            out.append(("begin", number))
            stack.append(number)
            number += 1
        out += [("end", ident) for ident in reversed(stack)]
    return out


@st.composite
def depths(draw):
    """A line's depths: the first is 0, and none is more than one deeper than the one before it."""
    out = [0]
    for up in draw(st.lists(st.integers(-12, 1), max_size=30)):
        out.append(max(0, out[-1] + up))
    return out


@given(st.lists(depths(), min_size=1, max_size=4))
@example([list(range(300)), [0], [*range(7), *range(6, -1, -1)]])
@example([[0, 1, 2, 2, 3, 3, 1, 0], [*range(6), 5, 5, 0]])
def test_every_begin_and_end_is_where_a_stack_puts_it(lines):
    depth = np.array([d for line in lines for d in line])
    starts = np.concatenate([np.arange(len(line)) == 0 for line in lines])
    order = order_of(depth, starts)
    found = [("", -1)] * order.size
    for what, places in (("line", order.line), ("begin", order.begin), ("end", order.end)):
        for i, at in enumerate(places.tolist()):
            found[at] = (what, i)
    assert found == with_a_stack(lines)
