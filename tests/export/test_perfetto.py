"""The TrackEvent writer against a slow reader: every slice, track and rank as the Timeline has it."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto_packets import Drawn, read
from strategies import corrupted_launches, random_launches, sound_launches
from tracks_by_hand import enter, launch, leave, track

from mgpu_trace.analyse.select import parse_selection
from mgpu_trace.diagnostics import catalogue
from mgpu_trace.export import FORMATS
from mgpu_trace.export.output import write_trace
from mgpu_trace.export.perfetto import PerfettoOptions, write_perfetto
from mgpu_trace.export.perfetto_rows import spread, varint
from mgpu_trace.model import Timeline, TraceBuffer, TrackFlag
from mgpu_trace.pipeline import Launch, open_launch

GOLDEN = sorted((Path(__file__).parents[2] / "fixtures" / "golden").glob("*.npy"))
LEVELS = 512


def written(source, **options):
    sink = io.BytesIO()
    found = write_perfetto(source, sink, PerfettoOptions(**options))
    return sink.getvalue(), found


def shown(name):
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in name) or "(empty name)"


def expected(timeline: Timeline, base=0, args=()) -> list[Drawn]:
    """Every slice as the Timeline has it, in its order."""
    spec, table, clock = timeline.spec, timeline.slices, timeline.clock
    begin = clock.to_ns(table.track, table.start_cyc)
    end = clock.to_ns(table.track, table.start_cyc + table.dur_cyc)
    top = (spec.device or "GPU", spec.kernel or "kernel")
    drawn = []
    for i, (of_track, lane, depth) in enumerate(
        zip(table.track.tolist(), table.lane.tolist(), table.depth.tolist(), strict=True)
    ):
        (x, y, z), unit = spec.place_of(of_track)
        line = f"block ({x},{y},{z}) · {spec.scope.label} {unit}"
        line += f" · overlap {lane + 1}" if lane else ""
        line += f" · deep {depth // LEVELS + 1}" if depth >= LEVELS else ""
        has = {"cycles": int(table.dur_cyc[i]), "block": f"{x},{y},{z}"}
        has["index"] = int(table.index[i]) if table.index is not None else -1
        has = {key: has[key] for key in args}
        if not table.closed[i]:
            lost = timeline.tracks.flags[of_track] & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL)
            has["truncated" if lost else "unclosed"] = True
        path = (*top, f"SM {timeline.tracks.sm[of_track]}", line)
        ns = int(begin[i]), int(end[i] - begin[i])
        name = shown(spec.name_of(int(table.name[i])))
        drawn.append(Drawn(path, base + ns[0], ns[1], depth % LEVELS, name, tuple(sorted(has.items()))))
    return drawn


@settings(max_examples=200)
@given(
    st.one_of(corrupted_launches(), random_launches(), sound_launches()),
    st.sampled_from([None, 1000.0, 1980.0, 1.0]),
    st.sampled_from([(), ("cycles",), ("cycles", "index", "block")]),
)
def test_every_slice_of_any_launch_is_there(made, sm_clock_mhz, args):
    stated = {"sm_clock_mhz": sm_clock_mhz, "sm_clock_source": "flag"}
    spec = made.spec if sm_clock_mhz is None else replace(made.spec, **stated)
    source = Launch(TraceBuffer(spec, made.words), with_index="index" in args)
    data, found = written(source, args=args)
    assert found == []
    assert Counter(read(data).drawn) == Counter(expected(source.timeline(), args=args))


@settings(max_examples=100)
@given(
    st.one_of(corrupted_launches(), random_launches(), sound_launches()),
    st.sampled_from(["name=*1", "name=a", "time=0:300ns", "time=100:", "unit=0", "sm=1"]),
)
def test_a_part_of_a_launch_nests(made, selection):
    """Without the regions around them the others move up; nothing else changes."""
    source = Launch(TraceBuffer(made.spec, made.words))
    source.selection = parse_selection([selection])
    drawn = read(written(source)[0]).drawn
    wanted = expected(source.timeline())
    flat = [d._replace(depth=0) for d in drawn]
    assert Counter(flat) == Counter(d._replace(depth=0) for d in wanted)
    by_line = {}
    for d in drawn:
        by_line.setdefault(d.path, []).append(d)
    for line in by_line.values():
        spans = [(d.ts, d.ts + d.dur, d.depth) for d in line if d.dur]
        for begin, end, depth in spans:
            around = sum(b <= begin and end <= e and d < depth for b, e, d in spans)
            if all(d.dur for d in line):
                assert depth == around


def test_the_tree_is_in_order():
    one = (enter(0, 5), leave(0, 50))
    sms = (7, 3, 3, 2**32 - 1, 0, 7)
    tracks = [track(10, sm, *one) for sm in sms for _ in range(2)]
    buffer = launch(*tracks, grid=(6, 1, 1), block=(256, 1, 1), kernel="gemm", device="H100")
    tree = read(written(Launch(buffer), roles={1: "mma"})[0]).lines()
    lines = [("H100",), ("H100", "gemm")]
    for sm, blocks in ((0, (4,)), (3, (1, 2)), (7, (0, 5)), (2**32 - 1, (3,))):
        lines.append(("H100", "gemm", f"SM {sm}"))
        for block in blocks:
            lines += [
                (*lines[1], f"SM {sm}", f"block ({block},0,0) · {unit}") for unit in ("warpgroup 0", "mma")
            ]
    assert tree == lines


def test_every_track_is_plain_and_says_how_it_is_ordered():
    for packet in read(written(open_launch(GOLDEN[0]))[0]).packets:
        if packet.HasField("track_descriptor"):
            about = packet.track_descriptor
            assert about.child_ordering == about.EXPLICIT
            assert about.sibling_merge_behavior == about.SIBLING_MERGE_BEHAVIOR_NONE
            assert not about.HasField("process")
            assert not about.HasField("thread")


def test_further_lines_of_a_track_follow_it():
    crossing = [enter(0, 0), enter(1, 50), leave(0, 100), leave(1, 150)]
    buffer = launch(track(0, 0, *crossing), track(0, 0, *crossing), words=20)
    names = [path[-1] for path in read(written(Launch(buffer))[0]).lines()][3:]
    plain = [f"block ({b},0,0) · warpgroup 0" for b in (0, 1)]
    assert names == [plain[0], f"{plain[0]} · overlap 2", plain[1], f"{plain[1]} · overlap 2"]


def test_ids_of_launches_keep_apart_and_a_device_is_one():
    one = [enter(0, 5), leave(0, 50)]
    files = []
    for start in (10, 11):
        buffer = launch(track(start, 0, *one), device="H100", device_id=3, kernel="k", launch=start)
        files.append(read(written(Launch(buffer))[0]))
    assert set(files[0].tracks) & set(files[1].tracks) == {files[0].children(None)[0]}
    together = read_together(files)
    assert together == [
        ("H100 · device 3",),
        ("H100 · device 3", "k · launch 10"),
        ("H100 · device 3", "k · launch 11"),
    ]


def read_together(files):
    """The two upper levels of files put one behind the other."""
    first, second = files
    first.tracks.update(second.tracks)
    return [path for path in first.lines() if len(path) < 3]


@pytest.mark.parametrize(
    ("before", "after", "base"),
    [
        (1_700_000_000_123_456_789, 1_700_000_000_999_999_999, 0),
        (None, 1_700_000_000_999_999_999, 1),
        (None, None, 2),
    ],
)
def test_the_base_is_the_hosts_time(before, after, base):
    buffer = launch(track(0, 0, enter(0, 0), leave(0, 100)), host_time_before_ns=before, host_time_ns=after)
    source = Launch(buffer)
    wanted = (before, after, 0)[base]
    result = read(written(source)[0])
    assert result.drawn == expected(source.timeline(), base=wanted)
    clocks = [p.clock_snapshot for p in result.packets if p.HasField("clock_snapshot")]
    if wanted:
        ((clock,),) = [c.clocks for c in clocks]
        assert (clock.clock_id, clock.timestamp, clocks[0].primary_trace_clock) == (1, wanted, 1)
    else:
        assert clocks == []
    assert read(written(source, base="zero")[0]).drawn == expected(source.timeline())


def test_names_of_every_kind():
    names = ("Init", "", "\ud83d alone", "a\x00b\x01\n\x7f", "🔥" * 3, "n" * 1_000_000, "\\")
    events = [(enter(i, 100 * i), leave(i, 100 * i + 50)) for i in range(len(names) + 1)]
    buffer = launch(track(7, 3, *(e for pair in events for e in pair)), words=100, names=names)
    data, found = written(Launch(buffer))
    assert [(d.code, d.count) for d in found] == [(catalogue.NAME_ALTERED, 2)]
    assert [d.name for d in read(data).drawn] == [*map(shown, names), f"name {len(names)} (unknown)"]
    assert len(data) < 1_010_000  # each name once


def test_more_levels_than_a_viewer_has():
    n = 1100
    deep = [enter(i % 3, 10 * i) for i in range(n)] + [
        leave(i % 3, 10 * (2 * n - i)) for i in reversed(range(n))
    ]
    source = Launch(launch(track(0, 1, *deep), words=3 + 4 * n))
    drawn = read(written(source)[0]).drawn
    assert Counter(drawn) == Counter(expected(source.timeline()))
    assert max(d.depth for d in drawn) == LEVELS - 1


def test_deeper_than_depths_are_counted():
    """Never left, 40,000 deep: every floor has its own line, and none more than 512 levels."""
    n = 40_000
    source = Launch(launch(track(0, 1, *(enter(0, i) for i in range(n))), words=3 + 2 * n))
    drawn = read(written(source)[0]).drawn
    assert len(drawn) == n
    assert {d.depth for d in drawn} == set(range(LEVELS))
    assert sorted(d.ts for d in drawn) == list(range(n))
    assert len({d.path for d in drawn}) == -(-n // LEVELS)


def test_times_near_the_largest():
    """What ends after 2^63 ns is left out and said; the rest is exact."""
    base = 2**63 - 1 - 1000
    events = [enter(0, 0), enter(1, 10), leave(1, 1000), enter(1, 1000), leave(1, 1000), leave(0, 1001)]
    source = Launch(launch(track(0, 0, *events), host_time_before_ns=base))
    data, found = written(source)
    assert [(d.code, d.count) for d in found] == [(catalogue.TIME_TOO_LONG, 1)]
    drawn = sorted(read(data).drawn, key=lambda d: d.ts)
    assert [(d.ts, d.dur, d.depth) for d in drawn] == [(base + 10, 990, 0), (2**63 - 1, 0, 0)]


def test_a_hundred_thousand_blocks(tmp_path: Path):
    one = np.array([track(0, 5, enter(0, 5), leave(0, 50))], np.uint32)
    words = np.repeat(one, 100_000, axis=0)
    words[:, 0] = np.arange(100_000)
    spec = launch(one[0].tolist(), words=7, grid=(1, 1, 1)).spec
    source = Launch(TraceBuffer(replace(spec, grid=(100_000, 1, 1)), words))
    write_trace(source, tmp_path / "t.pftrace")
    size = (tmp_path / "t.pftrace").stat().st_size
    assert size < 100_000 * (3 * 24 + 100)


def test_files_compressed_and_plain_are_equal(tmp_path: Path):
    for name in ("a.pftrace", "b.pftrace.gz", "c.pftrace.gz"):
        write_trace(open_launch(GOLDEN[0]), tmp_path / name, PerfettoOptions())
    plain = (tmp_path / "a.pftrace").read_bytes()
    packed = (tmp_path / "b.pftrace.gz").read_bytes()
    assert gzip.decompress(packed) == plain
    assert packed == (tmp_path / "c.pftrace.gz").read_bytes()
    assert plain.startswith(FORMATS["perfetto"].heads)


def test_nothing_at_all_is_a_trace_too():
    buffer = launch(track(0, 0), words=16)
    result = read(written(Launch(buffer))[0])
    assert result.drawn == []
    assert len(result.tracks) == 2


def test_a_whole_timeline_is_written_as_a_launch_is():
    data = [written(source)[0] for source in (open_launch(GOLDEN[0]), open_launch(GOLDEN[0]).timeline())]
    assert data[0] == data[1]


def test_chunks_end_between_tracks(monkeypatch):
    """However small they are: the file is the same but for the order of names."""
    source = open_launch(GOLDEN[0])
    whole = Counter(read(written(source)[0]).drawn)
    for size in (1, 2, 7, 50):
        monkeypatch.setattr("mgpu_trace.export.perfetto._CHUNK", size)
        assert Counter(read(written(source)[0]).drawn) == whole


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=20), st.integers(1, 8))
def test_columns_of_numbers_are_varints(values, n_bytes):
    cut = [v % (1 << 7 * n_bytes) for v in values]
    for word, value in zip(spread(np.array(cut), n_bytes).tolist(), cut, strict=True):
        assert word.to_bytes(8, "little") == varint(value, n_bytes).ljust(8, b"\0")
    more = spread(np.array(values), n_bytes, more=True)
    for word, value in zip(more.tolist(), values, strict=True):
        assert word.to_bytes(8, "little")[:n_bytes] == varint(value, n_bytes + 1)[:n_bytes]
