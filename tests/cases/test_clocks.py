"""Clocks: inputs that people have reported, from a file through the command line to the trace.

The tests bear the numbers of the list of reports.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from dumped import PAIRS, Dumped, cycles, saved, warpgroups
from rows import B, E, row


def test_18_the_cycle_counter_wraps(tmp_path: Path) -> None:
    events = [B(1, 2**32 - 100), B(2, 2**32 - 50), E(2, 20), E(1, 60)]
    dumped = Dumped(saved(tmp_path, [row(1000, 0, events)], 16), *warpgroups(1, 16), *cycles())
    assert [t[2:] for t in dumped.times()] == [(0, 160), (50, 70)]


def test_20_the_global_timer_is_about_to_wrap(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(2**32 - 20, 0, [B(1, 100), E(1, 150)])], 16)
    dumped = Dumped(path, *warpgroups(1, 16), *cycles())
    assert [t[2:] for t in dumped.times()] == [(0, 50)]
    assert dumped.metadata["clock"]["base_globaltimer_ns"] == 2**32 - 20


def test_21_a_launch_straddles_the_wrap(tmp_path: Path) -> None:
    pair = [B(1, 100), E(1, 150)]
    path = saved(tmp_path, [row(2**32 - 1000, 0, pair), row(500, 1, pair)], 16)
    dumped = Dumped(path, *warpgroups(1, 16, grid="2"), *cycles())
    assert [t[2:] for t in dumped.times()] == [(0, 50), (1500, 50)]


def test_24_times_are_raw_unless_a_correction_is_asked_for(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, 0, [B(1, 0), E(1, 50), B(1, 60), E(1, 72)])], 16)
    raw = Dumped(path, *warpgroups(1, 16), *cycles())
    assert [t[2:] for t in raw.times()] == [(0, 50), (60, 12)]
    assert raw.metadata["clock"]["overhead_source"] == "none"
    less = Dumped(path, *warpgroups(1, 16), *cycles("--overhead", 5))
    assert [t[2:] for t in less.times()] == [(0, 45), (50, 7)]
    assert less.metadata["clock"]["overhead_cyc_per_event"] == 5
    assert "MGT509" in less.codes()


def test_25_cycles_become_nanoseconds_by_the_rate(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, 0, [B(1, 0), E(1, 1755)])], 16)
    dumped = Dumped(path, *warpgroups(1, 16), "--sm-clock-mhz", 1755)
    assert [t[2:] for t in dumped.times()] == [(0, 1000)]
    bare = Dumped(path, *warpgroups(1, 16), "--args", "cycles")
    assert [t[2:] for t in bare.times()] == [(0, 1755)]
    assert bare.slices[0]["args"]["cycles"] == 1755
    assert bare.metadata["clock"]["unit"] == "cycles shown as ns"
    assert "MGT503" in bare.codes()


def test_39_blocks_keep_their_start_times(tmp_path: Path) -> None:
    starts = (0, 1000, 5000, 9000)
    path = saved(tmp_path, [row(s, i, [B(1, 77 * i), E(1, 77 * i + 9)]) for i, s in enumerate(starts)], 16)
    dumped = Dumped(path, *warpgroups(1, 16, grid="4"), *cycles())
    assert [t[2] for t in dumped.times()] == list(starts)


@pytest.mark.parametrize("step", [32, 1024])
def test_47_the_step_of_the_global_timer_is_said(tmp_path: Path, step: int) -> None:
    rows = [row(step * k, i, PAIRS) for i, k in enumerate((10, 11, 13, 18))]
    dumped = Dumped(saved(tmp_path, rows, 16), *warpgroups(1, 16, grid="4"), *cycles())
    assert f"start times quantised to {step} ns" in dumped.said
    assert dumped.metadata["clock"]["globaltimer_step_ns"] == step


def test_48_counters_of_two_sms_are_unrelated(tmp_path: Path) -> None:
    rows = [row(1000, i, [B(1, c), E(1, c + 50)]) for i, c in enumerate((5, 3_540_000_005))]
    dumped = Dumped(saved(tmp_path, rows, 16), *warpgroups(1, 16, grid="2"), *cycles())
    assert [t[2:] for t in dumped.times()] == [(0, 50), (0, 50)]
