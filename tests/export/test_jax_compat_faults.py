"""The known faults of JAX's decoder: its wrong answer, as it gives it, and ours beside it.

`seen` is what JAX writes, `meant` what --compat jax writes, and the timeline what everything else does.
"""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from jax_dump import CLOSES_OPEN_REGIONS, jax_events, jax_text
from tracks_by_hand import compat, compat_events, enter, launch, leave, track

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.export.chrome import write_chrome
from mgpu_trace.model import Slices, Timeline, TraceBuffer
from mgpu_trace.pipeline import Launch

SOUND = track(1000, 0, enter(1, 100), leave(1, 200))


def timeline(buffer: TraceBuffer) -> Timeline:
    return Launch(buffer).timeline()


def cycles(slices: Slices) -> list[tuple[int, int]]:
    """(start, duration) of every slice."""
    return list(zip(slices.start_cyc.tolist(), slices.dur_cyc.tolist(), strict=True))


def codes(buffer: TraceBuffer) -> set[Code]:
    return {d.code for d in timeline(buffer).report}


def seen(buffer: TraceBuffer) -> list[float]:
    """JAX's times in thousandths."""
    return [e["ts"] for e in jax_events(buffer.words, buffer.spec)]


def meant(buffer: TraceBuffer) -> list[float]:
    return [e["ts"] for e in compat_events(buffer)]


def test_start_plus_time_wraps_at_32_bits() -> None:
    buffer = launch(track(2**32 - 20, 0, enter(1, 100), leave(1, 150)))
    assert seen(buffer) == [4294967.276, 0.019]  # it ends 71 minutes before it begins
    assert meant(buffer) == [4294967.276, 4294967.315]
    assert cycles(timeline(buffer).slices) == [(0, 50)]
    assert compat(buffer)[1][0].code is catalogue.COMPAT_DIFFERS


def test_the_check_for_a_wrapped_timer_is_dead() -> None:
    """A reading before the first was to leave the track out; unsigned numbers are never negative."""
    buffer = launch(track(1000, 0, enter(1, 100), leave(1, 90)))
    assert seen(buffer) == [1.0, 0.979]  # 1000 + 2**32 - 10 - 11, in 32 bits
    assert meant(buffer) == [1.0, 1.001]
    assert cycles(timeline(buffer).slices) == [(0, 0)]
    assert catalogue.CLOCK_STEP_BACK in codes(buffer)


def test_one_early_event_squashes_the_rest_of_the_track() -> None:
    events = (enter(0, 1000), enter(1, 990), leave(1, 2000), enter(2, 3000), leave(2, 4000), leave(0, 5000))
    buffer = launch(track(0, 0, *events))
    assert seen(buffer)[1:] == [4294967.275, 4294967.276, 4294967.277, 4294967.278, 4294967.279]
    assert meant(buffer) == [0.0, 0.001, 0.978, 1.967, 2.956, 3.945]
    assert cycles(timeline(buffer).slices) == [(0, 4000), (0, 1000), (2000, 1000)]


def test_two_events_at_one_clock_turn_the_correction_into_plus_one_an_event() -> None:
    buffer = launch(track(0, 0, enter(0, 0), enter(1, 0), leave(1, 100), leave(0, 100)))
    assert seen(buffer) == [0.0, 0.001, 0.102, 0.103]
    assert meant(buffer) == [0.0, 0.001, 0.1, 0.101]
    assert cycles(timeline(buffer).slices) == [(0, 100), (0, 100)]


def test_truncation_is_invisible() -> None:
    buffer = launch(track(0, 0, enter(0, 10), leave(0, 30), enter(1, 50), enter(2, 70)), words=12)
    events = [(e["name"], e["ph"]) for e in jax_events(buffer.words, buffer.spec)]
    recorded = [("Init", "B"), ("Init", "E"), ("load", "B"), ("mma", "B")]
    assert events == recorded + ([("mma", "E"), ("load", "E")] if CLOSES_OPEN_REGIONS else [])
    ours = timeline(buffer)
    assert ours.slices.closed.tolist() == [True, False, False]
    assert ours.report.of_code(catalogue.TRUNCATED_TRACK) is not None


@pytest.mark.parametrize(
    ("used", "words", "code"),
    [
        (3, "odd number of trace events", catalogue.ODD_COUNT),
        (14, "Insufficient space to capture a full trace", catalogue.OVERFULL_TRACK),
    ],
)
def test_one_bad_track_costs_all_the_others_and_is_not_named(used: int, words: str, code: Code) -> None:
    bad = track(0, 0, enter(1, 0), leave(1, 50), used=used)
    buffer = launch(SOUND, bad, SOUND)
    with pytest.raises(RuntimeError, match=words) as refusal:
        jax_text(buffer.words, buffer.spec)
    assert not any(c.isdigit() for c in str(refusal.value))  # no block, no warpgroup, no count
    assert [e["tid"] for e in compat_events(buffer)] == [1, 1, 3, 3]
    found = timeline(buffer).report.of_code(code)
    assert found is not None
    assert (found.count, found.block, found.unit) == (1, (1, 0, 0), 0)


def test_a_count_of_0xfffffffe_passes_the_size_check() -> None:
    """`used + 3` is 1 in 32 bits: the dump runs off the end of the track instead."""
    tags = [word for _ in range(6) for word in (1, 5)]
    buffer = launch([0, 0, 0xFFFFFFFE, *tags, 1], SOUND)
    with pytest.raises(IndexError, match="out of bounds"):
        jax_text(buffer.words, buffer.spec)
    assert [e["tid"] for e in compat_events(buffer)] == [2, 2]
    assert catalogue.GARBAGE_HEADER in codes(buffer)


def test_an_unknown_name_is_a_key_error() -> None:
    buffer = launch(track(0, 0, enter(9, 0), leave(9, 50)), SOUND)
    with pytest.raises(KeyError) as refusal:
        jax_text(buffer.words, buffer.spec)
    assert refusal.value.args == (9,)
    assert [e["name"] for e in compat_events(buffer)] == ["name 9 (unknown)"] * 2 + ["load"] * 2
    assert catalogue.UNKNOWN_NAME in codes(buffer)


def test_an_exit_of_nothing_is_an_index_error_or_nothing_at_all() -> None:
    buffer = launch(track(0, 0, leave(1, 0), enter(1, 50)))
    if CLOSES_OPEN_REGIONS:
        with pytest.raises(IndexError, match="pop from empty list"):
            jax_text(buffer.words, buffer.spec)
    else:
        assert [e["ph"] for e in jax_events(buffer.words, buffer.spec)] == ["E", "B"]
    assert [e["ph"] for e in compat_events(buffer, close_open=True)] == ["E", "B", "E"]
    assert catalogue.ORPHAN_EXIT in codes(buffer)


def chrome(buffer: TraceBuffer) -> dict[str, Any]:
    sink = io.BytesIO()
    write_chrome(Launch(buffer), sink)
    return dict(json.loads(sink.getvalue()))


def test_processes_and_threads_have_no_names() -> None:
    buffer = launch(SOUND)
    assert {e["ph"] for e in jax_events(buffer.words, buffer.spec)} == {"B", "E"}
    named = {e["name"]: e["args"].get("name") for e in chrome(buffer)["traceEvents"] if e["ph"] == "M"}
    assert named["process_name"] == "SM"
    assert "warpgroup 0" in named["thread_name"]


def test_cycles_are_shown_as_nanoseconds() -> None:
    """1755 cycles at 1755 MHz are one microsecond; JAX draws 1.755 (less its correction)."""
    buffer = launch(track(0, 0, enter(1, 0), leave(1, 1755)), sm_clock_mhz=1755.0)
    assert seen(buffer) == meant(buffer) == [0.0, 1.744]
    ours = timeline(buffer)
    assert ours.clock.to_ns(ours.slices.track, ours.slices.dur_cyc).tolist() == [1000]
    (drawn,) = [e for e in chrome(buffer)["traceEvents"] if e["ph"] == "X" and "cat" not in e]
    assert (drawn["ts"], drawn["dur"]) == (0.0, 1.0)


def test_the_correction_shortens_regions_and_shifts_tracks() -> None:
    """100 regions of 50 cycles: each is drawn 39, and after 200 events the track is 2.2 us early."""
    clocks = 100 * np.arange(200)
    clocks[1::2] = clocks[::2] + 50
    busy = [enter(1, int(c)) if i % 2 == 0 else leave(1, int(c)) for i, c in enumerate(clocks)]
    busy += [enter(2, 100_000), leave(2, 100_050)]
    quiet = [enter(2, 0), leave(2, 100_050)]
    buffer = launch(track(0, 0, *busy), track(0, 1, *quiet), words=420)
    events = jax_events(buffer.words, buffer.spec)
    assert events[1]["ts"] == 0.039
    ends = [e["ts"] for e in events if (e["name"], e["ph"]) == ("mma", "E")]
    assert round(ends[1] - ends[0], 3) == 2.2  # both end at cycle 100 050
    ours = timeline(buffer).slices
    assert set(ours.dur_cyc[ours.name == 1].tolist()) == {50}
    assert (ours.start_cyc + ours.dur_cyc)[ours.name == 2].tolist() == [100_050, 100_050]


def test_a_launch_that_straddles_the_wrap_of_the_global_timer_is_torn_apart() -> None:
    buffer = launch(
        track(2**32 - 1000, 0, enter(1, 0), leave(1, 50)), track(500, 1, enter(1, 0), leave(1, 50))
    )
    assert seen(buffer) == meant(buffer) == [0.5, 0.539, 4294966.296, 4294966.335]
    ours = timeline(buffer)
    assert ours.clock.to_ns(ours.slices.track, ours.slices.start_cyc).tolist() == [0, 1500]
