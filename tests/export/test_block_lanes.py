"""Lanes of blocks: none overlap on one, and there are as few as there can be."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace.export.block_lanes import lanes_of_blocks

SPAN = st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 12)).map(
    lambda s: (s[0], s[1], s[1] + s[2])
)


@given(st.lists(SPAN, max_size=40))
def test_as_few_as_there_can_be(spans):
    columns = np.array(spans, np.int64).reshape(-1, 3).T
    lanes = lanes_of_blocks(*columns).tolist()
    for sm in range(3):
        mine = [(lane, begin, end) for lane, (on, begin, end) in zip(lanes, spans, strict=True) if on == sm]
        most = max((sum(b <= t <= e for _, b, e in mine) for _, t, _ in mine), default=0)
        assert {lane for lane, *_ in mine} == set(range(most))
        for i, (lane, begin, end) in enumerate(mine):
            for other, b, e in mine[:i]:
                assert lane != other or end < b or e < begin


def test_many_short_blocks_one_after_the_other():
    n = 100_000
    begin = np.arange(n) * 10
    sm = np.zeros(n, np.int64)
    assert set(lanes_of_blocks(sm, begin, begin + 9)) == {0}
    assert set(lanes_of_blocks(sm, begin, begin + 10)) == {0, 1}
    assert set(lanes_of_blocks(sm, begin, begin)) == {0}
