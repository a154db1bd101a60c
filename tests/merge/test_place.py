"""Launches on the host's time line: against launches whose true times are known."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace.merge.place import MAX_DUR_NS, MAX_HOST_NS, TURN_NS, UNKNOWN, Bounds, contradictions, place
from mgpu_trace.merge.scan import Entry
from mgpu_trace.merge.scan import bounds_of as bounds_of_entries
from mgpu_trace.synth import SynthConfig, synthesise

EPOCH_NS = 1_790_000_000_000_000_000


def bounds_of(rows):
    """Rows of (timer, duration, earliest, latest)."""
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return Bounds(*columns, np.arange(len(rows)))


def seen(true_ns, offset_ns, dur_ns, slack_before, slack_after):
    """What is noted of a launch that truly began then, on a device whose timer is off by so much."""
    return (
        (true_ns - offset_ns) % TURN_NS,
        dur_ns,
        true_ns - slack_before,
        true_ns + dur_ns + slack_after,
    )


launches = st.lists(
    st.tuples(
        st.integers(0, 10 * TURN_NS),  # since the launch before it
        st.integers(0, 10**8),
        st.integers(0, 10**9),
        st.integers(0, 10**9),
    ),
    min_size=1,
    max_size=30,
)


@given(launches, st.integers(-(2**60), 2**60))
def test_every_launch_is_where_it_was_to_within_the_uncertainty(rows, offset):
    true = EPOCH_NS + np.cumsum([row[0] for row in rows])
    bounds = bounds_of([seen(int(t), offset, *row[1:]) for t, row in zip(true, rows, strict=True)])
    found = place(bounds)
    assert found.is_on_host
    assert (found.n_fits >= 1).all()
    assert not found.stretch.any()  # one offset explains all of them
    sure = found.n_fits == 1
    assert (abs(found.begin_ns - true)[sure] <= found.uncertainty_ns[sure]).all()
    # Launches of one stretch are exact against each other.
    assert len({*(found.begin_ns - true)[sure].tolist()}) <= 1
    assert not any(column[sure].any() for column in contradictions(bounds, found))


@given(launches, st.integers(-(2**60), 2**60))
def test_more_launches_never_make_it_less_certain(rows, offset):
    true = EPOCH_NS + np.cumsum([row[0] for row in rows])
    noted = [seen(int(t), offset, *row[1:]) for t, row in zip(true, rows, strict=True)]
    assert place(bounds_of(noted)).uncertainty_ns[0] <= place(bounds_of(noted[:1])).uncertainty_ns[0]


def test_a_launch_that_waited_longer_than_a_turn_is_found_by_the_others():
    """Its own bounds are 20 s apart; the offset that the others leave picks one of five turns: said."""
    rows = [seen(EPOCH_NS + i * 10**10, 12345, 10**6, 10**5, 10**5) for i in range(3)]
    rows.insert(1, seen(EPOCH_NS + 5 * 10**9, 12345, 10**6, 10**10, 10**10))
    found = place(bounds_of(rows))
    assert found.n_fits.tolist() == [1, 5, 1, 1]
    off = (found.begin_ns[1] - EPOCH_NS - 5 * 10**9 + TURN_NS // 2) % TURN_NS - TURN_NS // 2
    assert abs(off) <= found.uncertainty_ns[1] <= 10**5


def test_a_timer_that_was_reset_begins_a_stretch():
    rows = [seen(EPOCH_NS + i * 10**9, 0, 1000, 500, 500) for i in range(4)]
    rows += [seen(EPOCH_NS + i * 10**9, 10**9, 1000, 500, 500) for i in range(4, 7)]
    found = place(bounds_of(rows))
    assert found.stretch.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert (abs(found.begin_ns - EPOCH_NS - np.arange(7) * 10**9) <= 500).all()


def test_without_host_times_launches_follow_each_other_by_number():
    rows = [(100, 10, UNKNOWN, UNKNOWN), (50, 10, UNKNOWN, UNKNOWN), (70, 10, UNKNOWN, UNKNOWN)]
    found = place(bounds_of(rows))
    assert not found.is_on_host
    assert found.begin_ns.tolist() == [0, TURN_NS - 50, TURN_NS - 30]
    assert found.n_fits.tolist() == [0, 0, 0]


def test_one_bound_alone_is_taken_to_be_within_a_turn_of_the_launch():
    rows = [(7, 10, EPOCH_NS, UNKNOWN), (9, 10, UNKNOWN, EPOCH_NS + 10**6)]
    found = place(bounds_of(rows))
    assert found.n_fits.tolist() == [0, 0]
    assert EPOCH_NS <= found.begin_ns[0] < EPOCH_NS + TURN_NS
    assert EPOCH_NS - TURN_NS < found.begin_ns[1] <= EPOCH_NS + 10**6


HOST_NS = st.sampled_from([UNKNOWN, 0, 1, TURN_NS, EPOCH_NS, EPOCH_NS + TURN_NS, MAX_HOST_NS]) | st.integers(
    EPOCH_NS, EPOCH_NS + 10 * TURN_NS
)


@given(
    st.lists(
        st.tuples(
            st.integers(0, TURN_NS - 1),
            st.sampled_from([0, 10**6, TURN_NS, MAX_DUR_NS]),
            HOST_NS,
            HOST_NS,
        ),
        min_size=1,
        max_size=12,
    )
)
def test_whatever_the_host_noted_what_is_not_within_it_is_said(rows):
    """A slow check of each launch by itself; nothing overflows, and no launch is without a place."""
    bounds = bounds_of(rows)
    found = place(bounds)
    before, after = (column.tolist() for column in contradictions(bounds, found))
    columns = (found.begin_ns.tolist(), found.uncertainty_ns.tolist(), found.stretch.tolist())
    offsets = {}
    for (timer, dur, earliest, latest), begin, sure, stretch, *wrong in zip(
        rows, *columns, before, after, strict=True
    ):
        offsets.setdefault(stretch, set()).add((begin - timer) % TURN_NS)
        if found.is_on_host:
            early = earliest != UNKNOWN and begin + sure < earliest
            late = latest != UNKNOWN and begin + dur - sure > latest
            assert wrong == [early, late]
    if found.is_on_host:
        assert all(len(of) == 1 for of in offsets.values())  # launches of a stretch are exact


def test_bounds_that_contradict_themselves_say_nothing_about_the_others():
    rows = [seen(EPOCH_NS + i * 10**9, 7, 1000, 10**6, 10**6) for i in range(5)]
    timer, dur, earliest, latest = rows[2]
    rows[2] = (timer, dur, latest, earliest)
    bounds = bounds_of(rows)
    found = place(bounds)
    assert found.stretch.tolist() == [0] * 5
    assert (abs(found.begin_ns - EPOCH_NS - np.arange(5) * 10**9) <= 10**6).all()
    rows[2] = (timer, dur, latest + 10**8, latest)
    bounds = bounds_of(rows)
    assert contradictions(bounds, place(bounds))[0].tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("off", [10**8, -(10**8)])
def test_one_launch_with_wrong_times_moves_no_other(off):
    rows = [seen(EPOCH_NS + i * 10**9, 7, 1000, 10**6, 10**6) for i in range(5)]
    rows[2] = ((rows[2][0] + off) % TURN_NS, *rows[2][1:])
    bounds = bounds_of(rows)
    found = place(bounds)
    assert found.stretch.tolist() == [0] * 5
    right = [0, 1, 3, 4]
    assert (abs(found.begin_ns - EPOCH_NS - np.arange(5) * 10**9)[right] <= found.uncertainty_ns[right]).all()
    wrong = np.logical_or(*contradictions(bounds, found))
    assert wrong.tolist() == [False, False, True, False, False]


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.integers(10**4, 10**7), st.integers(10**4, 10**6)),
        min_size=3,
        max_size=20,
    ),
    st.integers(-(2**60), 2**60),
)
def test_kernels_of_one_program_that_run_before_the_first_callback(programs, offset):
    """Only the first launch of a program begins after the first time that is noted for it."""
    entries, true, now, over = [], [], EPOCH_NS, EPOCH_NS - 10**6
    made = synthesise(SynthConfig(), seed=0).buffer.spec
    for number, (n_kernels, gap, dur) in enumerate(programs):
        now += gap
        begins = [now + i * dur for i in range(n_kernels)]
        now += n_kernels * dur
        for i, begin in enumerate(begins):
            now += 20_000  # the callback
            times = {"host_time_before_ns": over, "host_time_ns": now}
            spec = replace(made, jax_version="0.10.2", kernel=f"k{i}", launch=number, **times)
            entries.append(Entry("", spec, (begin - offset) % TURN_NS, dur - 1, True, 1, 1, 0))
            true.append(begin)
            over = now
    bounds = bounds_of_entries(entries)
    found = place(bounds)
    assert not np.logical_or(*contradictions(bounds, found)).any()
    assert not found.stretch.any()
    away = found.begin_ns - np.array(true)
    assert len({*away.tolist()}) == 1  # exact against each other
    assert (abs(away) <= found.uncertainty_ns).all()


def test_one_bound_says_nothing_about_the_offset():
    """Its window is an assumption: the launch waited for longer than a turn."""
    both = [seen(EPOCH_NS + i * 10**9, 7, 1000, 10**9, 10**9) for i in range(3)]
    late = seen(EPOCH_NS + 10**9 // 2, 7, 1000, 0, 5 * TURN_NS + 10**9)
    rows = [both[0], (late[0], late[1], UNKNOWN, late[3]), *both[1:]]
    found = place(bounds_of(rows))
    alone = place(bounds_of(both))
    assert found.begin_ns[[0, 2, 3]].tolist() == alone.begin_ns.tolist()
    assert found.uncertainty_ns[0] == alone.uncertainty_ns[0]


def test_the_turn_that_later_launches_leave_is_the_only_one_that_fits():
    """The first two launches leave two turns for the second one; the third decides."""
    rows = [
        seen(EPOCH_NS, 0, 0, 2 * 10**9, 2 * 10**9),
        seen(EPOCH_NS + 4 * 10**9, 0, 0, 10**9, 3 * 10**9),
        seen(EPOCH_NS + 9 * 10**9, 0, 0, 1000, 1000),
    ]
    assert place(bounds_of(rows[:2])).n_fits.tolist() == [1, 2]
    found = place(bounds_of(rows))
    assert found.n_fits.tolist() == [1, 1, 1]
    assert found.uncertainty_ns.tolist() == [1000] * 3


def test_windows_of_centuries_are_counted_not_listed():
    rows = [(5, 10, 0, MAX_HOST_NS), (7, 10, EPOCH_NS, EPOCH_NS + 1000)]
    found = place(bounds_of(rows))
    assert found.n_fits.tolist() == [MAX_HOST_NS // TURN_NS, 1]
