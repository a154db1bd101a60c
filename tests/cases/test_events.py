"""Events: inputs that people have reported, from a file through the command line to the trace.

The tests bear the numbers of the list of reports.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from dumped import PAIRS, Dumped, cycles, saved, warpgroups
from rows import B, E, row


def test_15_unknown_names_are_kept(tmp_path: Path) -> None:
    events = [B(0, 0), E(0, 10), B(1, 10), E(1, 20), B(9, 20), E(9, 30), (1 << 20, 40)]
    path = saved(tmp_path, [row(1000, 0, events)], 32)
    dumped = Dumped(path, *warpgroups(1, 32), *cycles("--names", "Init,load"))
    assert [t[1:] for t in dumped.times()] == [
        ("Init", 0, 10),
        ("load", 10, 10),
        ("name 9 (unknown)", 20, 10),
    ]
    assert "9" in dumped.line("MGT406")
    assert "block (0,0,0) warpgroup 0" in dumped.line("MGT406")
    assert dumped.status == 1  # an id of a million is corruption
    assert "MGT407" in dumped.codes()


def test_26_exits_without_enters(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, 0, [E(1, 100), B(1, 150)])], 16)
    dumped = Dumped(path, *warpgroups(1, 16), *cycles())
    assert {"MGT404", "MGT403"} <= dumped.codes()
    assert [t[1:] for t in dumped.times()] == [("region_1", 50, 0)]
    path = saved(tmp_path, [row(1000, 0, [B(1, 100), E(2, 150)])], 16)
    dumped = Dumped(path, *warpgroups(1, 16), *cycles())
    assert [t[1:] for t in dumped.times()] == [("region_1", 0, 50)]
    assert dumped.slices[0]["args"] == {"unclosed": True}


def test_27_zeros(tmp_path: Path) -> None:
    np.save(tmp_path / "zero.npy", np.zeros(4 * 16, np.uint32))
    dumped = Dumped(tmp_path / "zero.npy", *warpgroups(2, 16, grid="2"))
    assert dumped.status == 1
    assert "no events in 4 tracks" in dumped.line("MGT305")
    assert Dumped(tmp_path / "zero.npy", *warpgroups(2, 16, grid="2"), "--allow-empty").status == 0


def test_29_a_plausible_tail_is_not_read(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, 0, [*PAIRS, B(1, 500), E(1, 600)], used=8)], 32)
    assert len(Dumped(path, *warpgroups(1, 32)).slices) == 2


def test_30_sm_ids_of_every_kind(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, sm, PAIRS) for sm in (0, 131, 147, 65535)], 16)
    dumped = Dumped(path, *warpgroups(2, 16, grid="2"))
    assert dumped.status == 0
    assert {pid for pid, _ in dumped.threads} == {0, 131, 147, 65535}
    assert {"MGT307", "MGT308"} <= dumped.codes()


def test_31_5000_repeats_are_5000_slices_with_their_number(tmp_path: Path) -> None:
    events = [event for i in range(5000) for event in (B(1, 10 * i), E(1, 10 * i + 5))]
    path = saved(tmp_path, [row(1000, 0, events)], 20_016)
    dumped = Dumped(path, *warpgroups(1, 20_016), *cycles("--names", "Init,load", "--args", "index"))
    assert [e["args"]["index"] for e in dumped.slices] == list(range(5000))
    assert {e["name"] for e in dumped.slices} == {"load"}
    assert [round(e["ts"] * 1000) for e in dumped.slices] == list(range(0, 50_000, 10))


def test_40_crossing_regions_take_two_threads(tmp_path: Path) -> None:
    path = saved(tmp_path, [row(1000, 0, [B(1, 0), B(2, 50), E(1, 100), E(2, 150)])], 16)
    dumped = Dumped(path, *warpgroups(1, 16), *cycles())
    assert dumped.times() == [
        ("block (0,0,0) · warpgroup 0", "region_1", 0, 100),
        ("block (0,0,0) · warpgroup 0 · overlap 2", "region_2", 50, 100),
    ]
