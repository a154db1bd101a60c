"""Bins of time that grow while spans are added."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace.analyse.raster import Raster


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 10**6), st.integers(1, 10**5)), max_size=30),
    st.integers(1, 6), st.integers(1, 20),
)  # fmt: skip
def test_bins_that_grow(spans, n_rows, n_columns):
    """Spans in any order of time: what was added before bins grew is still in its cell."""
    sm = np.array([0, 5, 5, 7, 900, 2**32 - 1])
    raster = Raster(sm, np.ones(6, np.bool_), -3, n_rows, n_columns)
    for track, begin, dur in spans:
        raster.add(np.array([track], np.int32), np.array([begin]), np.array([begin + dur]))
    end = max((begin + dur for _, begin, dur in spans), default=0)
    cells = raster.cells(-3, end)
    assert cells.n_sms.sum() == 5
    for row in range(len(cells.first_sm)):
        on = (sm >= cells.first_sm[row]) & (sm <= cells.last_sm[row])
        mine = [(begin, begin + dur) for track, begin, dur in spans if on[track]]
        assert cells.active_cyc[row].sum() == sum(end - begin for begin, end in mine)
        for column, (lo, hi) in enumerate(zip(cells.edge_cyc, cells.edge_cyc[1:], strict=False)):
            assert cells.active_cyc[row, column] == sum(max(0, min(b, hi) - max(a, lo)) for a, b in mine)
