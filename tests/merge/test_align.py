"""Devices against each other: a region that ends everywhere at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace.merge.align import align, impossible

TIMES = st.dictionaries(st.integers(0, 50), st.integers(0, 10**15), min_size=1, max_size=20)


@given(TIMES, st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=5))
def test_devices_that_are_off_by_a_constant_are_aligned_exactly(instants, offsets):
    found = align([{key: ns - off for key, ns in instants.items()} for off in offsets])
    aligned = [off - shift for off, shift in zip(offsets, found.shift_ns.tolist(), strict=True)]
    assert len({*aligned}) == 1
    assert set(found.uncertainty_ns[1:].tolist()) <= ({0} if len(instants) > 1 else {-1})


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=40), st.integers(-(10**9), 10**9))
def test_the_shift_is_within_the_stated_uncertainty_of_every_instant_range(jitter, offset):
    reference = {i: i * 10**6 for i in range(len(jitter))}
    device = {i: i * 10**6 - offset + late for i, late in enumerate(jitter)}
    found = align([reference, device])
    assert abs(found.shift_ns[1] - (offset - np.median(jitter))) <= 1000
    assert found.uncertainty_ns[1] == -(-(max(jitter) - min(jitter)) // 2)


def test_a_device_without_a_common_instant_stays_and_says_so():
    found = align([{1: 10, 2: 20}, {7: 3}])
    assert found.shift_ns.tolist() == [0, 0]
    assert found.uncertainty_ns.tolist() == [0, -1]
    assert found.n_instants.tolist() == [2, 0]


def test_waits_that_end_before_their_signal_are_counted():
    signals = [np.array([10, 20, 30]), np.array([5])]
    waits = [np.array([11, 18, 40]), np.array([5])]
    assert impossible(signals, waits) == (1, 4, 2)
