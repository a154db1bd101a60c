"""The clock model against launches whose true time is known, and against cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgpu_trace.clock import fit_clock
from mgpu_trace.clock.starts import find_step, unwrap_starts
from mgpu_trace.decode import Decoder, decode
from mgpu_trace.diagnostics import catalogue
from mgpu_trace.model import TraceBuffer
from mgpu_trace.pipeline import Launch
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth import SynthConfig, synthesise

EXIT = 1 << 31
TURN = 1 << 32


def launch(*rows, words_per_track=32, tracks_per_block=1, **spec):
    """A launch of rows ``(start_ns, sm, [(tag, clock), ...])``."""
    words = np.full((len(rows), words_per_track), 0xDEADBEEF, np.uint32)
    for row, (start, sm, events) in zip(words, rows, strict=True):
        flat = [word for event in events for word in event]
        row[:3] = start, sm, len(flat)
        row[3 : 3 + len(flat)] = flat
    blocks = len(rows) // tracks_per_block
    known = TraceSpec(
        grid=(blocks, 1, 1), block=(128 * tracks_per_block, 1, 1), words_per_track=words_per_track, **spec
    )
    return Launch(TraceBuffer.from_flat(words.reshape(-1), known))


def begins_and_ends(a_launch):
    slices = a_launch.timeline().slices
    begin, end = a_launch.clock.begin_end_ns(slices.track, slices.start_cyc, slices.dur_cyc)
    return list(zip(begin.tolist(), end.tolist(), strict=True))


def region(begin, end, name=1):
    return [(name, begin % TURN), (name | EXIT, end % TURN)]


CONFIGS = st.builds(
    SynthConfig,
    n_sms=st.integers(1, 9),
    resident=st.integers(1, 3),
    grid=st.integers(1, 40).map(lambda n: (n, 1, 1)),
    sm_clock_mhz=st.sampled_from([210.0, 1410.0, 1755.0, 1980.0, 2520.0]),
    step_ns=st.sampled_from([32, 1024]),
    start_ns=st.sampled_from([0, 10**12, TURN - 1, 3 * TURN - 20_000, 5 * TURN - 3_000]),
    lead_cyc=st.integers(0, 60),
)


@settings(max_examples=80, deadline=None)
@given(CONFIGS, st.integers(0, 2**32))
def test_every_slice_is_shown_within_a_step_of_its_true_time(config, seed):
    """With the true rate stated: never later than the truth, and less than a step (and the lead) earlier."""
    made = synthesise(config, seed)
    decoded = decode(made.buffer)
    clock, diagnostics = fit_clock(made.spec, decoded.tracks)
    assert not diagnostics

    slices, truth = decoded.slices, made.truth
    assert slices.track.tolist() == truth.track.tolist()
    begin, end = clock.begin_end_ns(slices.track, slices.start_cyc, slices.dur_cyc)
    true_begin = truth.launch_start_ns + truth.start_cyc * 1_000_000 // truth.sm_clock_khz
    error = (clock.base_ns + begin - true_begin + TURN // 2) % TURN - TURN // 2
    lead_ns = config.lead_cyc * 1000 / config.sm_clock_mhz
    assert error.max() <= 2
    assert error.min() >= -config.step_ns - lead_ns - 2
    assert np.abs((end - begin) - truth.dur_cyc * 1e6 / truth.sm_clock_khz).max() <= 1
    if clock.step_ns is not None:
        assert clock.step_ns % config.step_ns == 0


@settings(max_examples=40, deadline=None)
@given(CONFIGS, st.integers(0, 2**32))
def test_the_rate_comes_from_the_data_when_the_baseline_allows_it(config, seed):
    import dataclasses

    config = dataclasses.replace(config, state_clock=False, grid=(config.n_sms * 40, 1, 1))
    made = synthesise(config, seed)
    clock, diagnostics = fit_clock(made.spec, Decoder(made.buffer).tracks)
    codes = [d.code for d in diagnostics]
    if clock.rate_mhz is None:
        # Refused: the steps are too coarse for so short a launch.
        assert catalogue.RATE_UNKNOWN in codes
        assert config.step_ns == 1024 or config.n_sms * config.resident > 40
        return
    assert catalogue.RATE_ESTIMATED in codes
    assert clock.rate_source == "data"
    off_ppm = abs(clock.rate_mhz / config.sm_clock_mhz - 1) * 1e6
    assert clock.rate_uncertainty_ppm is not None
    # Twice the stated two standard deviations: 1 in 16,000 for noise that is not even normal.
    assert off_ppm <= 2 * clock.rate_uncertainty_ppm + 1


def test_a_short_baseline_is_refused_and_said():
    clock = launch((1000, 0, region(5, 90)), (1032, 1, region(7, 80)), (1064, 2, region(9, 70))).clock
    assert clock.rate_mhz is None
    assert clock.rate_source == "none"
    assert "a trace shows 1 cycle as 1 ns" in clock.describe()


def test_without_a_rate_one_cycle_is_one_nanosecond():
    one = launch((1000, 0, region(500, 2255)))
    assert begins_and_ends(one) == [(0, 1755)]
    assert one.report.of_code(catalogue.RATE_UNKNOWN) is not None
    assert one.clock.to_dict()["unit"] == "cycles shown as ns"


def test_without_a_rate_nothing_is_said_about_how_well_sms_are_aligned():
    rows = [(1024 + 32 * i, i, region(500, 2255)) for i in range(3)]
    one = launch(*rows)
    assert (one.clock.step_ns, one.clock.alignment_ns) == (32, None)
    assert "aligned" not in one.clock.describe()
    assert launch(*rows, sm_clock_mhz=1000.0).clock.alignment_ns == 32.0


def test_a_stated_rate_makes_nanoseconds():
    assert begins_and_ends(launch((1000, 0, region(500, 2255)), sm_clock_mhz=1755.0)) == [(0, 1000)]


def test_a_devices_nominal_clock_is_said_to_be_assumed():
    one = launch((1000, 0, region(0, 1980)), device="NVIDIA H100 80GB HBM3")
    assert begins_and_ends(one) == [(0, 1000)]
    assert one.clock.rate_source == "nominal"
    assert one.report.of_code(catalogue.RATE_ASSUMED) is not None
    pcie = launch((1000, 0, region(0, 1755)), device="NVIDIA H100 PCIe")
    assert begins_and_ends(pcie) == [(0, 1000)]


def test_start_offsets_of_blocks_are_kept():
    rows = [
        (5000 + start, sm, region(77 * sm, 77 * sm + 100)) for sm, start in enumerate((0, 1000, 5000, 9000))
    ]
    assert [b for b, _ in begins_and_ends(launch(*rows))] == [0, 1000, 5000, 9000]
    assert [b for b, _ in begins_and_ends(launch(*rows, sm_clock_mhz=2000.0))] == [0, 1000, 5000, 9000]


def test_counters_of_different_sms_are_aligned_by_start_time_only():
    rows = (640, 0, region(5, 105)), (640, 1, region(3_540_000_005, 3_540_000_105))
    assert begins_and_ends(launch(*rows, sm_clock_mhz=1000.0)) == [(0, 100), (0, 100)]


def test_blocks_of_one_sm_are_placed_by_its_counter_not_by_the_timer():
    """The timer steps by 1024 ns; the counter is exact: 300 cycles apart at 1000 MHz is 300 ns."""
    rows = (2048, 0, region(1000, 1100)), (2048, 0, region(1300, 1400)), (4096, 1, region(9, 10))
    spans = begins_and_ends(launch(*rows, sm_clock_mhz=1000.0))
    assert spans[1][0] - spans[0][0] == 300


def test_a_start_near_the_timers_wrap_does_not_change_a_duration():
    assert begins_and_ends(launch((TURN - 20, 0, region(100, 150)))) == [(0, 50)]


def test_a_launch_that_straddles_the_timers_wrap():
    rows = (TURN - 1000, 0, region(0, 10)), (500, 1, region(0, 10))
    one = launch(*rows)
    assert [b for b, _ in begins_and_ends(one)] == [0, 1500]
    assert one.clock.base_ns == TURN - 1000


def test_a_launch_as_long_as_half_the_timers_turn_is_said_to_be_unsure():
    rows = [(sm * 1_200_000_000, sm, region(0, 10)) for sm in range(3)]
    assert launch(*rows).report.of_code(catalogue.LAUNCH_TOO_LONG) is not None


def test_a_known_rate_tells_how_often_the_counter_turned():
    """2.1 s at 2500 MHz is 5.25e9 cycles: more than one turn of the 32-bit counter."""
    rows = (0, 0, region(10, 20)), (2_100_000_000, 0, region(10 + 5_250_000_000, 20 + 5_250_000_000))
    assert begins_and_ends(launch(*rows, sm_clock_mhz=2500.0))[1] == (2_100_000_000, 2_100_000_004)
    assert launch(*rows).report.of_code(catalogue.WRAP_AMBIGUOUS) is not None


def test_a_wrong_rate_contradicts_the_start_times():
    rows = [(i * 100_000, 0, region(i * 200_000, i * 200_000 + 10)) for i in range(20)]
    assert launch(*rows, sm_clock_mhz=2000.0).report.of_code(catalogue.CLOCKS_DISAGREE) is None
    found = launch(*rows, sm_clock_mhz=1000.0).report.of_code(catalogue.CLOCKS_DISAGREE)
    assert found is not None
    assert "1 of 1 SMs" in found.message


def test_one_garbage_start_time_moves_no_other_track():
    rows = [(i * 3200, 0, region(i * 6400, i * 6400 + 10)) for i in range(9)]
    sound = begins_and_ends(launch(*rows, sm_clock_mhz=2000.0))
    rows[4] = (1_000_000_000, 0, rows[4][2])
    broken = launch(*rows, sm_clock_mhz=2000.0)
    assert begins_and_ends(broken) == sound
    assert broken.report.of_code(catalogue.CLOCKS_DISAGREE) is not None


def test_no_start_times_at_all():
    rows = (0, 0, region(500, 600)), (0, 0, region(123_456, 123_500))
    assert begins_and_ends(launch(*rows)) == [(0, 100), (0, 44)]


@pytest.mark.parametrize(
    ("starts", "step"),
    [([32, 64, 96], 32), ([1024, 4096, 8192], 1024), ([5, 5, 5], None), ([0, 32], None), ([0, 7, 15], 1)],
)
def test_step_of_the_timer(starts, step):
    since, _, _ = unwrap_starts(np.array(starts, np.uint32))
    assert find_step(since) == step


@given(st.lists(st.integers(0, TURN // 2 - 2), min_size=1, max_size=50), st.integers(0, TURN - 1))
def test_unwrapped_starts_are_the_true_ones(since, first):
    since = [s - min(since) for s in since]
    read = np.array([(first + s) % TURN for s in since], np.uint32)
    unwrapped, zero, sure = unwrap_starts(read)
    assert unwrapped.tolist() == since
    assert zero == first
    assert sure


def test_overhead_is_taken_off_per_event_and_said():
    events = [(1, 100), (2, 150), (2 | EXIT, 175), (1 | EXIT, 300)]
    words = np.full((1, 32), 0xDEADBEEF, np.uint32)
    words[0, :3] = 0, 1, 8
    words[0, 3:11] = np.array(events).reshape(-1)
    spec = TraceSpec(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=32)
    one = Launch(TraceBuffer(spec, words), overhead=10)
    slices = one.timeline().slices
    # 0, 50, 75, 200 less 0, 10, 20, 30.
    assert list(zip(slices.start_cyc.tolist(), slices.dur_cyc.tolist(), strict=True)) == [(0, 170), (40, 15)]
    assert slices.removed_cyc.tolist() == [30, 10]
    assert one.removed_cyc_by_name() == {"region_1": 30, "region_2": 10}
    assert "10 cycles of probe cost" in one.clock.describe()
    said = one.report.of_code(catalogue.OVERHEAD_REMOVED)
    assert said is not None
    assert said.message.endswith("in cycles: region_1 30, region_2 10")
    assert one.more_facts()["overhead_removed_cyc"] == {"region_1": 30, "region_2": 10}
    # Automatic: the smallest gap is 25, the bound is 12, less one.
    assert Launch(TraceBuffer(spec, words), overhead="auto").clock.overhead_cyc == 11


def test_times_beyond_64_bits_saturate():
    """Four million garbage readings in a row at 1 MHz: 2**63 ns and more."""
    clock = launch((1000, 0, region(0, 10)), sm_clock_mhz=1.0).clock
    track, cyc = np.zeros(2, np.int32), np.array([7, 1 << 60])
    assert clock.to_ns(track, cyc).tolist() == [7000, 1 << 62]
    for both in (clock.begin_end_ns, clock.narrow_begin_end_ns):
        begin, end = both(track, np.zeros(2, np.int64), cyc)
        assert (begin.tolist(), end.tolist()) == ([0, 0], [7000, 1 << 62])
