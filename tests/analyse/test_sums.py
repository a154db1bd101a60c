"""Sums by code, against Python's own integers."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mgpu_trace.analyse import sums
from mgpu_trace.analyse.sums import MAX_SUM, Sums, added, exact_sums

VALUES = st.one_of(
    st.integers(0, 100),
    st.integers(0, 2**62),
    st.sampled_from((2**26 - 1, 2**26, 2**52, 2**53, 2**53 + 1, 2**61 + 1, 2**62 - 1, 2**62)),
)


def stopped(total: int) -> int:
    return min(total, MAX_SUM)


@given(st.lists(st.tuples(st.integers(0, 4), VALUES), max_size=30))
@example([(0, 2**53), (0, 1), (0, 1)])  # float64 would lose both ones
@example([(0, 2**62)] * 5)
def test_exact_where_float64_is_not(rows) -> None:
    code, column = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    want = [stopped(sum(value for c, value in rows if c == code_)) for code_ in range(5)]
    assert exact_sums(code, column, 5).tolist() == want


@given(st.lists(st.lists(VALUES, min_size=4, max_size=4), max_size=4))
def test_sums_of_sums_stop_too(rows) -> None:
    parts = np.array(rows, np.int64).reshape(len(rows), 4)
    assert added(parts, axis=1).tolist() == [stopped(sum(row)) for row in rows]


RUNS = st.lists(
    st.lists(
        st.tuples(st.integers(0, 6) | st.sampled_from((10**6, 2**40)), VALUES, st.booleans()), max_size=8
    ),
    max_size=6,
)


@pytest.mark.parametrize("max_partial", [1 << 20, 1, 3])
@given(runs=RUNS)
def test_many_runs_are_one(runs, max_partial) -> None:
    """Whatever the codes, and however often partial sums are put together in between."""
    want: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "_MAX_PARTIAL", max_partial)
        total = Sums(2)
        for run in runs:
            codes = np.array([code for code, _, _ in run], np.int64)
            values = np.array([value for _, value, _ in run], np.int64)
            total.add(codes, [values, np.array([flag for _, _, flag in run], np.bool_)])
            for code, value, flag in run:
                row = want[code]
                row[:] = row[0] + 1, stopped(row[1] + value), row[2] + flag
        codes, found = total.result()
    assert codes.tolist() == sorted(want)
    assert found.T.tolist() == [want[code] for code in sorted(want)]
