"""Self times: every moment in which a region is open belongs to one slice of its track."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import reference
import slow_stats
from hypothesis import given
from hypothesis import strategies as st
from slow_stats import Row
from strategies import corrupted_launches, random_launches, sound_launches
from tracks_by_hand import enter, launch, leave, track

from mgpu_trace.analyse import selftime
from mgpu_trace.analyse.selftime import self_cyc
from mgpu_trace.decode import decode
from mgpu_trace.model import Slices, TraceBuffer


def rows_of(slices: Slices) -> list[Row]:
    columns = (slices.track, slices.name, slices.start_cyc, slices.dur_cyc, slices.closed)
    return [Row(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]


def own_of(*events: tuple[int, int]) -> list[tuple[int, int]]:
    """Name and self time of the slices of a track written down by hand."""
    slices = decode(launch(track(0, 0, *events), words=3 + 2 * len(events) + 2)).slices
    return list(zip(slices.name.tolist(), self_cyc(slices).tolist(), strict=True))


def test_children_are_taken_off_once() -> None:
    """a holds b, b holds c: what c takes is missing from b, and not once more from a."""
    own = own_of(enter(0, 0), enter(1, 10), enter(2, 30), leave(2, 70), leave(1, 100), leave(0, 1000))
    assert own == [(0, 910), (1, 50), (2, 40)]


def test_where_regions_cross_the_one_entered_last_has_the_moment() -> None:
    own = own_of(enter(0, 0), enter(1, 10), leave(0, 100), leave(1, 130))
    assert own == [(0, 10), (1, 120)]
    # a and c share a lane, b crosses both: a is under b all the time until b's end.
    own = own_of(enter(0, 0), enter(1, 10), enter(2, 20), leave(1, 50), leave(2, 60), leave(0, 100))
    assert own == [(0, 50), (1, 10), (2, 40)]


def test_an_unclosed_region_has_what_its_children_leave() -> None:
    own = own_of(enter(0, 0), enter(1, 10), leave(1, 30), enter(2, 50), leave(2, 60))
    assert own == [(0, 30), (1, 20), (2, 10)]


def test_no_slices() -> None:
    assert self_cyc(decode(launch(track(0, 0))).slices).tolist() == []


@pytest.mark.parametrize("max_levels", [512, 1, 2])
@given(
    made=st.one_of(sound_launches(), random_launches(), corrupted_launches()),
    overhead=st.sampled_from((0, 9)),
)
def test_any_launch(made, overhead, max_levels) -> None:
    """As the slow one says; and those of a track add up to the time in which a region is open."""
    slices = decode(TraceBuffer(made.spec, made.words), overhead_cyc=overhead).slices
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selftime, "_MAX_LEVELS", max_levels)
        own = self_cyc(slices).tolist()
    rows = rows_of(slices)
    assert own == slow_stats.self_times(rows)
    of_track: Counter[int] = Counter()
    for row, cyc in zip(rows, own, strict=True):
        of_track[row.track] += cyc
    for number, cyc in of_track.items():
        assert cyc == slow_stats.time_in_regions(row for row in rows if row.track == number)


@pytest.mark.parametrize("n", [300, 511, 512, 513, 40_000])
@pytest.mark.parametrize("n_closed", [0, 1, None])
def test_nested_deeper_than_depth_counts(n: int, n_closed: int | None) -> None:
    """Depth stops at 32,767; beside it lies a track that nests as kernels do."""
    n_closed = n if n_closed is None else n_closed
    names = np.arange(n) % 7
    gaps = np.arange(2 * n) % 11
    clock = np.cumsum(gaps).tolist()
    deep = [enter(int(names[i]), clock[i]) for i in range(n)]
    deep += [leave(int(names[n - 1 - i]), clock[n + i]) for i in range(n_closed)]
    plain = [enter(0, 5), enter(1, 6), leave(1, 16), leave(0, 25)]
    slices = decode(launch(track(0, 0, *deep), track(0, 0, *plain), words=3 + 4 * n + 2)).slices
    assert len(slices) == n + 2
    own = self_cyc(slices).tolist()
    assert own == slow_stats.self_times(rows_of(slices))
    assert own[-2:] == [10, 10]


def test_the_levels_of_a_long_track() -> None:
    """Few children among many slices, and many: parents are found in two ways."""
    rng = np.random.default_rng(3)
    events, clock, stack = [], 0, []
    for step in rng.random(4000):
        clock += int(rng.integers(0, 50))
        if stack and step < 0.5 + 0.01 * len(stack):
            events.append(leave(stack.pop(), clock))
        else:
            stack.append(int(rng.integers(0, 5)))
            events.append(enter(stack[-1], clock))
    slices = decode(launch(track(0, 0, *events), words=3 + 2 * len(events) + 2)).slices
    assert slices.depth.max() > 10
    assert np.count_nonzero(slices.depth == slices.depth.max()) * 16 < len(slices)
    assert self_cyc(slices).tolist() == slow_stats.self_times(rows_of(slices))


def test_the_reference_says_the_same_of_crossing_regions_by_event() -> None:
    """The slow self times against the lanes of the slow decoder: in a lane, slices nest."""
    events = [enter(0, 0), enter(1, 10), enter(2, 12), leave(0, 40), leave(2, 50), leave(1, 80)]
    buffer = launch(track(0, 0, *events), words=3 + 2 * len(events) + 2)
    slices = [s for t in reference.decode(buffer.words, buffer.spec).tracks for s in t.slices]
    rows = [Row(s.track, s.name, s.start_cyc, s.dur_cyc, s.closed) for s in slices]
    assert slow_stats.self_times(rows) == [10, 2 + 30, 38]
