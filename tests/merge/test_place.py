"""Launches on the host's time line: against launches whose true times are known."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace.merge.place import TURN_NS, UNKNOWN, Bounds, contradictions, place

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
    assert not contradictions(bounds, found)[sure].any()


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
