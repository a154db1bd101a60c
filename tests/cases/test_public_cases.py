"""Inputs that people have hit, from a file through the command line to the trace.

The numbers are those of the public list.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import invoke
from numpy.typing import NDArray
from rows import POISON, B, E, row

Trace = dict[str, Any]

PAIRS = [B(0, 10), E(0, 20), B(1, 30), E(1, 50)]


def words_of(rows: list[list[int]], entries: int) -> NDArray[np.uint32]:
    return np.array([(r + [POISON] * entries)[:entries] for r in rows], np.uint32).reshape(-1)


def saved(folder: Path, rows: list[list[int]], entries: int) -> Path:
    np.save(folder / "buffer.npy", words_of(rows, entries))
    return folder / "buffer.npy"


class Dumped:
    """What ``dump`` made of a file: its status, what it said, and the trace."""

    def __init__(self, path: Path, *args: object) -> None:
        out = path.with_suffix(".trace.json")
        result = invoke("dump", path, "-o", out, *args)
        self.status = result.exit_code
        self.said = result.stderr
        self.trace: Trace = json.loads(out.read_bytes()) if out.exists() else {}
        events = self.trace.get("traceEvents", [])
        self.threads = {
            (e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"
        }
        self.slices = [e for e in events if e["ph"] == "X"]
        self.metadata = self.trace.get("metadata", {})

    def times(self) -> list[tuple[str, str, int, int]]:
        """(thread, name, start in ns, duration in ns) of every slice, in file order."""
        return [
            (self.threads[e["pid"], e["tid"]], e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000))
            for e in self.slices
        ]

    def line(self, code: str) -> str:
        (line,) = [text for text in self.said.splitlines() if f"[{code}]" in text]
        return line

    def codes(self) -> set[str]:
        return {text.split("[")[1][:6] for text in self.said.splitlines() if "[MGT" in text}


def warpgroups(n: int, entries: int, grid: str = "1") -> list[object]:
    return ["--grid", grid, "--block", 128 * n, "--entries", entries]


def cycles(*more: object) -> list[object]:
    """At 1000 MHz a cycle is a nanosecond."""
    return ["--sm-clock-mhz", 1000, *more]


# 1, 2: overflow


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
    assert "first 3 events unreliable" in dumped.line("MGT302")


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


# 13, 78, 81: files


def test_13_an_empty_json_is_an_interrupted_dump(tmp_path: Path) -> None:
    (tmp_path / "gemm-trace.json").touch()
    result = invoke("dump", tmp_path / "gemm-trace.json", "-o", tmp_path / "out.json")
    assert result.exit_code == 1
    assert "empty file: the dump failed or was interrupted" in result.stderr
    assert len(result.stderr.splitlines()) == 2
    assert not (tmp_path / "out.json").exists()


def test_78_a_truncated_array_says_how_many_words_are_there(tmp_path: Path) -> None:
    path = tmp_path / "cut.npy"
    np.save(path, np.arange(256, dtype=np.uint32))
    whole = path.read_bytes()
    body = len(whole) - 1024
    for size, says in ((body + 400, "100 of 256 words"), (3, "0 words"), (50, "0 words"), (0, "empty file")):
        path.write_bytes(whole[:size])
        result = invoke("dump", path, "-o", tmp_path / "out.json")
        assert result.exit_code == 1
        assert says in result.stderr
        assert str(path) in result.stderr
        assert "pickle" not in result.stderr
        assert len(result.stderr.splitlines()) == 2


@pytest.mark.parametrize("dtype", [">u4", "<i4", "<u8", "<i8", ">i8"])
def test_81_integers_of_other_kinds(tmp_path: Path, dtype: str) -> None:
    words = words_of([row(1000, 0, PAIRS)], 16)
    np.save(tmp_path / "a.npy", words.view(np.int32).astype(dtype) if "i" in dtype else words.astype(dtype))
    dumped = Dumped(tmp_path / "a.npy", *warpgroups(1, 16), *cycles())
    assert dumped.status == 0
    assert [t[1:] for t in dumped.times()] == [("region_0", 0, 10), ("region_1", 20, 20)]
    assert ("MGT112" in dumped.codes()) == dtype.endswith("8")


def test_81_arrays_that_are_not_words(tmp_path: Path) -> None:
    words = words_of([row(1000, 0, PAIRS)], 16)
    bad = {
        "MGT107": words.view(np.float32),
        "MGT106": np.array([None, 1], object),
        "MGT108": words.astype(np.uint64) << 8,
        "MGT104": np.uint32(5),
    }
    for code, array in bad.items():
        np.save(tmp_path / "a.npy", array, allow_pickle=True)
        dumped = Dumped(tmp_path / "a.npy", *warpgroups(1, 16))
        assert dumped.status == 1
        assert dumped.codes() == {code}


def test_81_fortran_order_and_several_arrays(tmp_path: Path) -> None:
    words = words_of([row(1000, i // 2, [B(i, 10), E(i, 20)]) for i in range(4)], 16).reshape(2, 2, 16)
    np.save(tmp_path / "a.npy", np.asfortranarray(words))
    dumped = Dumped(tmp_path / "a.npy", *cycles())
    assert [t[:2] for t in dumped.times()] == [
        (f"block ({i // 2},0,0) · warpgroup {i % 2}", f"region_{i}") for i in range(4)
    ]
    np.savez_compressed(tmp_path / "b.npz", one=words, two=words)
    assert "--array" in Dumped(tmp_path / "b.npz").line("MGT109")
    assert Dumped(tmp_path / "b.npz", "--array", "two").times() == dumped.times()


# 15, 26, 27, 29, 30, 31, 40: events


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


# 18, 20, 21, 24, 25, 39, 47, 48: clocks


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


# 37, 46, 52, 53, 58, 59, 60, 62, 66, 75: the trace


def test_46_the_number_of_dropped_events_is_always_said(tmp_path: Path) -> None:
    dumped = Dumped(saved(tmp_path, [row(1000, 0, PAIRS)], 16), *warpgroups(1, 16))
    assert "1 tracks, 2 slices, 0 dropped" in dumped.said
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
