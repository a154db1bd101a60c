"""Unions of slices by name, and innermost slices, of any part of the slices of whole tracks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slow_stats import Row, self_times
from strategies import corrupted_launches, random_launches, sound_launches

from mgpu_trace.analyse import selftime
from mgpu_trace.analyse.inside import Inside
from mgpu_trace.analyse.stretches import Spans
from mgpu_trace.decode import decode
from mgpu_trace.model import TraceBuffer


def listed(spans: Spans) -> list[tuple[int, int, int, int]]:
    """Track, thing, begin and end of each."""
    columns = (spans.track, spans.thing, spans.begin_cyc, spans.end_cyc)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("max_levels", [512, 1])
@given(st.one_of(sound_launches(), random_launches(), corrupted_launches()), st.data())
def test_any_part_of_any_launch(max_levels, made, data):
    slices = decode(TraceBuffer(made.spec, made.words)).slices
    columns = (slices.track, slices.name, slices.start_cyc, slices.dur_cyc)
    rows = [Row(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    counts = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    mask = np.array(counts, np.bool_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selftime, "_MAX_LEVELS", max_levels)
        inside = Inside(slices)
        unions = listed(inside.unions(mask))
        spans, weight = inside.of_innermost(mask)
    want: dict[tuple[int, int], int] = {}
    for key in {(row.track, row.name) for row, one in zip(rows, counts, strict=True) if one}:
        mine = [row for row, one in zip(rows, counts, strict=True) if one and (row.track, row.name) == key]
        edges = sorted({cyc for row in mine for cyc in (row.start, row.start + row.dur)})
        want[key] = sum(
            end - begin
            for begin, end in pairwise(edges)
            if any(row.start <= begin and row.start + row.dur >= end for row in mine)
        )
    found: dict[tuple[int, int], int] = dict.fromkeys(want, 0)
    for track, name, begin, end in unions:
        assert begin < end
        found[track, name] += end - begin
    assert found == want
    ordered = sorted(unions)
    assert all(a[3] <= b[2] for a, b in pairwise(ordered) if a[:2] == b[:2])  # apart
    own = sum(cyc for cyc, one in zip(self_times(rows), counts, strict=True) if one)
    assert int((spans.dur_cyc * weight).sum()) == own
