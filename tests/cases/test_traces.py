"""The trace itself: inputs that people have reported, from a file through the command line to the trace.

The tests bear the numbers of the list of reports.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from dumped import PAIRS, Dumped, saved, warpgroups
from rows import B, E, row


def test_46_the_number_of_dropped_events_is_always_said(tmp_path: Path) -> None:
    dumped = Dumped(saved(tmp_path, [row(1000, 0, PAIRS)], 16), *warpgroups(1, 16))
    assert "1 track, 2 slices, 0 dropped" in dumped.said
    assert dumped.metadata["n_lost_events"] == 0


def test_52_53_58_59_75_what_viewers_trip_over(tmp_path: Path) -> None:
    sms = (5, 10, 2, 100, 0, 101)
    events = [*PAIRS, B(2, 50), E(2, 50), B(3, 50), B(1, 60), E(1, 61), E(3, 61)]
    path = saved(tmp_path, [row(1000 + 32 * i, sm, events) for i, sm in enumerate(sms)], 32)
    dumped = Dumped(path, *warpgroups(1, 32, grid="6"), "--sm-clock-mhz", 1755, "--overhead", 12)
    everything = dumped.trace["traceEvents"]
    assert {e["ph"] for e in everything} == {"X", "M"}  # 52
    assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in dumped.slices)  # 58
    tids = {tid for _, tid in dumped.threads}
    assert min(tids) > 0  # 59
    assert not tids & set(sms)
    assert not any("cname" in e for e in everything)  # 75
    assert all(not any(c.isdigit() for c in e["name"].removeprefix("region_")[1:]) for e in dumped.slices)
    order = [e["pid"] for e in everything if e.get("name") == "process_name"]
    assert order == sorted(sms)  # 60
    ranks = {e["pid"]: e["args"]["sort_index"] for e in everything if e.get("name") == "process_sort_index"}
    assert sorted(ranks, key=lambda sm: ranks[sm]) == sorted(sms)


def test_62_names_are_raw_utf8(tmp_path: Path) -> None:
    names = ["Init", "🔥", 'a"b\\', "new\nline", "", "\ud83d"]
    (tmp_path / "names.json").write_text(json.dumps(names))
    events = [event for i in range(6) for event in (B(i, 10 * i), E(i, 10 * i + 5))]
    path = saved(tmp_path, [row(1000, 0, events)], 32)
    dumped = Dumped(path, *warpgroups(1, 32), "--names", tmp_path / "names.json")
    assert dumped.status == 0
    text = (tmp_path / "buffer.trace.json").read_bytes()
    assert "🔥".encode() in text
    assert b"\\ud83d" not in text.lower()
    assert [e["name"] for e in dumped.slices] == [*names[:4], "(empty name)", "\ufffd"]
    assert "MGT604" in dumped.codes()


def test_66_67_the_file_is_whole_and_starts_as_a_trace(tmp_path: Path) -> None:
    np.save(tmp_path / "zero.npy", np.zeros(16, np.uint32))
    Dumped(tmp_path / "zero.npy", *warpgroups(1, 16), "--allow-empty")
    text = (tmp_path / "zero.trace.json").read_bytes()
    assert text.startswith(b'{"traceEvents"')
    assert json.loads(text)["traceEvents"] == []
