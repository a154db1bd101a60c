"""Sizes and headers: inputs that people have reported, from a file through the command line to the trace.

The tests bear the numbers of the list of reports.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dumped import PAIRS, Dumped, cycles, saved, warpgroups
from rows import B, E, row


def test_1_an_overflow_is_named_and_the_other_tracks_are_written(tmp_path: Path) -> None:
    full = [event for i in range(15) for event in (B(1, 10 * i), E(1, 10 * i + 5))]
    path = saved(tmp_path, [row(1000, 0, PAIRS), row(1000, 0, PAIRS), row(1000, 0, full, used=66)], 64)
    dumped = Dumped(path, *warpgroups(3, 64), *cycles())
    assert dumped.status == 1
    line = dumped.line("MGT301")
    assert "block (0,0,0) warpgroup 2 used 66 > capacity 61 words (30 events)" in line
    assert "profile_space >= 18" in line
    assert ">= 9 " in line
    assert "MGT302" not in dumped.codes()  # the last track of its block: it overran nothing of ours
    assert [t[1:] for t in dumped.times() if "warpgroup 2" not in t[0]] == 2 * [
        ("region_0", 10, 10),  # of one SM: warpgroup 2 began 10 cycles before
        ("region_1", 30, 20),
    ]


def test_1_the_proposed_size_would_have_been_enough(tmp_path: Path) -> None:
    """profile_space 18 is 72 words, 69 of them for events: what was used fits."""
    events = [event for i in range(16) for event in (B(1, 10 * i), E(1, 10 * i + 5))] + [B(1, 500)]
    assert 2 * len(events) == 66
    path = saved(tmp_path, [row(1000, 0, events)], 72)
    assert "MGT301" not in Dumped(path, "--profile-space", 18, "--grid", 1, "--block", 128).codes()


def test_2_the_victim_of_an_overflow_is_named(tmp_path: Path) -> None:
    full = [event for i in range(15) for event in (B(1, 10 * i), E(1, 10 * i + 5))]
    victim = [(0xDEADBEEF, 7), *PAIRS, *PAIRS]
    path = saved(tmp_path, [row(1000, 0, full, used=70), row(1000, 0, victim), row(1000, 0, PAIRS)], 64)
    dumped = Dumped(path, *warpgroups(3, 64))
    assert dumped.status == 1
    assert "block (0,0,0) warpgroup 0 used 70" in dumped.line("MGT301")
    assert "block (0,0,0) warpgroup 1" in dumped.line("MGT302")
    assert "by 6 words; first 3 events unreliable" in dumped.line("MGT302")


# 3, 16: truncation


def test_3_a_truncated_track_says_so_in_its_slices(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, 0, [B(0, 10), E(0, 20), B(1, 30), B(2, 40)])], 12)
    dumped = Dumped(path, *warpgroups(1, 12), *cycles("--names", "Init,a,b"))
    assert dumped.status == 0
    assert [t[1:] for t in dumped.times()] == [("Init", 0, 10), ("a", 20, 10), ("b", 30, 0)]
    assert [e.get("args", {}).get("truncated") for e in dumped.slices] == [None, True, True]
    assert "1 track" in dumped.line("MGT401")
    assert "8 of 8" in dumped.line("MGT401")


def test_3_a_full_and_balanced_track_is_possibly_truncated(tmp_path: Path) -> None:
    dumped = Dumped(saved(tmp_path, [row(1000, 0, PAIRS)], 12), *warpgroups(1, 12))
    assert "possibly truncated" in dumped.line("MGT402")


# 4, 5: counts


def test_4_an_odd_count_costs_one_track(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, 0, PAIRS), row(1000, 0, PAIRS, used=3)], 16)
    dumped = Dumped(path, *warpgroups(2, 16))
    assert dumped.status == 1
    assert "warpgroup 1" in dumped.line("MGT303")
    assert len(dumped.slices) == 2


def test_5_counts_that_are_all_odd_are_the_old_layout(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, 0, [B(1, 10), E(1, 30)], used=7)], 16)
    dumped = Dumped(path, *warpgroups(1, 16), *cycles())
    assert dumped.status == 0
    assert [t[1:] for t in dumped.times()] == [("region_1", 0, 20)]
    assert "0.7.2" in dumped.line("MGT309")


def test_5_mixed_parity_is_corruption(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, 0, PAIRS), row(1000, 0, [B(1, 10), E(1, 30)], used=7)], 16)
    dumped = Dumped(path, *warpgroups(2, 16))
    assert dumped.status == 1
    assert "MGT303" in dumped.codes()


# 6, 7, 8, 10: layout


@pytest.mark.parametrize(
    ("entries", "units", "since"), [(256, 8, "before JAX 0.10"), (128, 4, "0.10 and later")]
)
def test_6_profile_space_is_read_by_the_size(tmp_path: Path, entries: int, units: int, since: str) -> None:
    path = saved(tmp_path, [row(1000, i, PAIRS) for i in range(2)], entries)
    dumped = Dumped(path, "--profile-space", 32, "--grid", 2, "--block", 128)
    assert dumped.status == 0
    assert since in dumped.line("MGT212")
    assert f"{units} words per unit" in dumped.line("MGT212")
    assert dumped.metadata["spec"]["words_per_track"] == entries


def test_6_any_other_size_lists_both_candidates(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, i, PAIRS) for i in range(2)], 200)
    dumped = Dumped(path, "--profile-space", 32, "--grid", 2, "--block", 128)
    assert dumped.status == 1
    assert "128 words per track (JAX 0.10 and later)" in dumped.line("MGT201")
    assert "nor as 256 (before)" in dumped.line("MGT201")


def test_7_warp_scope(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, 0, PAIRS[:2]) for _ in range(4)], 16)
    dumped = Dumped(path, "--grid", 1, "--block", 128, "--entries", 16, "--scope", "warp")
    assert dumped.status == 0
    assert sorted(dumped.threads.values()) == [f"block (0,0,0) · warp {i}" for i in range(4)]
    assert len(dumped.slices) == 4  # 8 events


@pytest.mark.parametrize(
    ("block", "scope", "tracks"),
    [("96,1,1", "warpgroup", None), ("96,1,1", "warp", 3), ("64,2,1", "warpgroup", 1), ("100", "warp", None)],
)
def test_8_blocks_of_whole_units(tmp_path: Path, block: str, scope: str, tracks: int | None) -> None:
    path = saved(tmp_path, [row(1000, 0, PAIRS) for _ in range(tracks or 1)], 16)
    dumped = Dumped(path, "--grid", 1, "--block", block, "--entries", 16, "--scope", scope)
    if tracks is None:
        assert dumped.status == 1
        assert f"Block size is not a multiple of {32 if scope == 'warp' else 128}" in dumped.line("MGT207")
    else:
        assert dumped.status == 0
        assert len(dumped.threads) == tracks


def test_10_blocks_count_with_x_slowest(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, i, PAIRS) for i in range(6)], 16)
    dumped = Dumped(path, *warpgroups(1, 16, grid="2,3,1"))
    names = {pid: name.split(" · ")[0] for (pid, _), name in dumped.threads.items()}
    assert names == {
        i: "block ({},{},{})".format(*(int(v) for v in np.unravel_index(i, (2, 3, 1)))) for i in range(6)
    }
