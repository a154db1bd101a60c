"""The TrackEvent writer against a slow reader: every slice, track and rank as the Timeline has it."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from perfetto_packets import BLOCK, LOSS, Drawn, read
from picture_by_hand import HOWS, picture
from strategies import corrupted_launches, random_launches, sound_launches
from tracks_by_hand import enter, launch, leave, track

from mgpu_trace.analyse.select import parse_selection
from mgpu_trace.diagnostics import catalogue
from mgpu_trace.export import FORMATS
from mgpu_trace.export.output import write_trace
from mgpu_trace.export.perfetto import write_perfetto
from mgpu_trace.export.perfetto_counters import steps
from mgpu_trace.export.perfetto_options import PerfettoOptions
from mgpu_trace.export.perfetto_rows import counter_rows, default_rows, spread, text_words, varint
from mgpu_trace.model import TraceBuffer, TrackFlag
from mgpu_trace.pipeline import Launch, open_launch

GOLDEN = sorted((Path(__file__).parents[2] / "fixtures" / "golden").glob("*.npy"))
LEVELS = 512
LONG_LINE = "mgpu_trace.export.perfetto_chunk._LONG_LINE"  # with 0 no packet says its line itself


def written(source, **options):
    sink = io.BytesIO()
    found = write_perfetto(source, sink, PerfettoOptions(**options))
    return sink.getvalue(), found


def shown(name):
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" or c == "\0" else c for c in name) or "(empty name)"


def expected(source: Launch, how=("sm", False), base=0, args=()) -> list[Drawn]:
    """Every slice as the Timeline has it, in its order, and then those of blocks."""
    timeline = source.timeline()
    spec, table, clock = timeline.spec, timeline.slices, timeline.clock
    begin = clock.to_ns(table.track, table.start_cyc)
    end = clock.to_ns(table.track, table.start_cyc + table.dur_cyc)
    top = (spec.device or "GPU", spec.kernel or "kernel")
    whole = picture(source, *how)
    levels = LEVELS - how[1]
    drawn = []
    for i, (of_track, lane, depth) in enumerate(
        zip(table.track.tolist(), table.lane.tolist(), table.depth.tolist(), strict=True)
    ):
        group, line = whole.line_of[of_track]
        line += f" · overlap {lane + 1}" if lane else ""
        line += f" · deep {depth // levels + 1}" if depth >= levels else ""
        has = {"cycles": int(table.dur_cyc[i]), "block": "{},{},{}".format(*spec.place_of(of_track)[0])}
        has["index"] = int(table.index[i]) if table.index is not None else -1
        has = {key: has[key] for key in args}
        if not table.closed[i]:
            lost = timeline.tracks.flags[of_track] & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL)
            has["truncated" if lost else "unclosed"] = True
        inside = how[1] and not lane and depth < levels
        ns = base + int(begin[i]), int(end[i] - begin[i])
        name = shown(spec.name_of(int(table.name[i])))
        drawn.append(
            Drawn((*top, group, line), *ns, depth % levels + inside, name, tuple(sorted(has.items())))
        )
    for line, name, first, last in whole.outer:
        drawn.append(Drawn((*top, *line), base + first, last - first, 0, name, (BLOCK,)))
    return drawn


@settings(max_examples=200)
@given(
    st.one_of(corrupted_launches(), random_launches(), sound_launches()),
    st.sampled_from([None, 1000.0, 1980.0, 1.0]),
    st.sampled_from([(), ("cycles",), ("cycles", "index", "block")]),
    st.sampled_from(HOWS),
    st.sampled_from([0, 2, 64]),
)
def test_every_slice_of_any_launch_is_there(made, sm_clock_mhz, args, how, long_line):
    stated = {"sm_clock_mhz": sm_clock_mhz, "sm_clock_source": "flag"}
    spec = made.spec if sm_clock_mhz is None else replace(made.spec, **stated)
    source = Launch(TraceBuffer(spec, made.words), with_index="index" in args)
    with mock.patch(LONG_LINE, long_line):
        data, found = written(source, args=args, group_by=how[0], lanes=how[1])
    assert found == []
    result = read(data)
    assert Counter(result.slices) == Counter(expected(source, how, args=args))
    used = {d.path for d in result.slices}
    whole = picture(source, *how)
    plain = [path[2:] for path in result.lines() if path in used and " · overlap" not in path[3]]
    assert plain == [line for line in whole.lines if (*result.lines()[1], *line) in used]
    marks = [(d.path[2:], d.name, d.ts, dict(d.args).get("n_events")) for d in result.marks]
    assert Counter(marks) == Counter(whole.marks)
    assert not any(d.dur for d in result.marks)


@settings(max_examples=100)
@given(
    st.one_of(corrupted_launches(), random_launches(), sound_launches()),
    st.sampled_from(["name=*1", "name=a", "time=0:300ns", "time=100:", "unit=0", "sm=1"]),
)
def test_a_part_of_a_launch_nests(made, selection):
    """Without the regions around them the others move up; nothing else changes."""
    source = Launch(TraceBuffer(made.spec, made.words))
    source.selection = parse_selection([selection])
    drawn = read(written(source, lanes=False)[0]).slices
    wanted = expected(source)
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


@settings(max_examples=150)
@given(
    st.one_of(corrupted_launches(), random_launches(), sound_launches()),
    st.sampled_from(["name=*1", "name=nothing", "time=0:300ns", "time=100:", "unit=0", "sm=1", "block=1"]),
)
def test_a_block_is_as_long_as_it_was_whatever_is_selected(made, selection):
    """Its slice covers all its tracks, on the lines that are left; of times those that touch the window."""
    source = Launch(TraceBuffer(made.spec, made.words))
    whole = expected(source, ("sm", True))
    source.selection = parse_selection([selection])
    window = source.selection.time_ns or ((0, 2**63),)
    kept = np.flatnonzero(source.kept_tracks).tolist()
    plain = picture(source, "sm", False)
    wanted = Counter()
    for d in (d for d in whole if BLOCK in d.args and d.ts <= window[0][1] and d.ts + d.dur >= window[0][0]):
        unit = d.path[3].split(" · ")[1]
        if any(plain.line_of.get(track) == (d.path[2], f"{d.name} · {unit}") for track in kept):
            wanted[d.path[2], unit, d.ts, d.dur, d.name] += 1
    drawn = [d for d in read(written(source)[0]).slices if BLOCK in d.args]
    assert Counter((d.path[2], d.path[3].split(" · ")[1], d.ts, d.dur, d.name) for d in drawn) == wanted
    last = {}
    for d in sorted(drawn, key=lambda d: d.ts):
        assert last.get(d.path, -1) < d.ts
        last[d.path] = d.ts + d.dur


def test_as_many_lanes_as_blocks_at_once():
    one = (enter(0, 0), leave(0, 90))
    tracks = [track(100 * i, 0, *((t, c + 100 * i) for t, c in one)) for i in range(50)]
    source = Launch(launch(*tracks, sm_clock_mhz=1000.0))
    names = [path[-1] for path in read(written(source)[0]).lines()]
    assert names == ["GPU", "kernel", "summary", "SM 0", "lane 1 · warpgroup 0"]


def test_the_deepest_lines_of_lanes():
    n = 1100
    deep = [enter(i % 3, 10 * i) for i in range(n)] + [
        leave(i % 3, 10 * (2 * n - i)) for i in reversed(range(n))
    ]
    result = read(written(Launch(launch(track(0, 1, *deep), words=3 + 4 * n)))[0])
    assert len(result.slices) == n + 1
    assert max(d.depth for d in result.slices) == LEVELS - 1


def test_the_tree_is_in_order():
    one = (enter(0, 5), leave(0, 50))
    sms = (7, 3, 3, 2**32 - 1, 0, 7)
    tracks = [track(10, sm, *one) for sm in sms for _ in range(2)]
    buffer = launch(*tracks, grid=(6, 1, 1), block=(256, 1, 1), kernel="gemm", device="H100")
    tree = read(written(Launch(buffer), roles={1: "mma"}, lanes=False)[0]).lines()
    lines = [("H100",), ("H100", "gemm"), ("H100", "gemm", "summary")]
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
    names = [path[-1] for path in read(written(Launch(buffer), lanes=False)[0]).lines()][4:]
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
    result = read(written(source, lanes=False)[0])
    assert result.slices == expected(source, base=wanted)
    clocks = [p.clock_snapshot for p in result.packets if p.HasField("clock_snapshot")]
    if wanted:
        ((clock,),) = [c.clocks for c in clocks]
        assert (clock.clock_id, clock.timestamp, clocks[0].primary_trace_clock) == (1, wanted, 1)
    else:
        assert clocks == []
    assert read(written(source, base="zero", lanes=False)[0]).slices == expected(source)


def test_names_of_every_kind():
    names = ("Init", "", "\ud83d alone", "a\x00b\x01\n\x7f", "🔥" * 3, "n" * 1_000_000, "\\")
    events = [(enter(i, 100 * i), leave(i, 100 * i + 50)) for i in range(len(names) + 1)]
    buffer = launch(track(7, 3, *(e for pair in events for e in pair)), words=100, names=names)
    data, found = written(Launch(buffer), lanes=False)
    assert [(d.code, d.count) for d in found] == [(catalogue.NAME_ALTERED, 3)]
    assert [d.name for d in read(data).slices] == [*map(shown, names), f"name {len(names)} (unknown)"]
    assert len(data) < 1_010_000  # each name once


def test_more_levels_than_a_viewer_has():
    n = 1100
    deep = [enter(i % 3, 10 * i) for i in range(n)] + [
        leave(i % 3, 10 * (2 * n - i)) for i in reversed(range(n))
    ]
    source = Launch(launch(track(0, 1, *deep), words=3 + 4 * n))
    for how in HOWS:
        drawn = read(written(source, group_by=how[0], lanes=how[1])[0]).slices
        assert Counter(drawn) == Counter(expected(source, how))
        assert max(d.depth for d in drawn) == LEVELS - 1


def test_deeper_than_depths_are_counted():
    """Never left, 40,000 deep: every floor has its own line, and none more than 512 levels."""
    n = 40_000
    source = Launch(launch(track(0, 1, *(enter(0, i) for i in range(n))), words=3 + 2 * n))
    drawn = read(written(source, lanes=False)[0]).slices
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
    assert [(d.code, d.count) for d in found] == [(catalogue.TIME_TOO_LONG, 2)]  # and its block
    drawn = sorted(read(data).slices, key=lambda d: d.ts)
    assert [(d.ts, d.dur, d.depth) for d in drawn] == [(base + 10, 990, 0), (2**63 - 1, 0, 0)]


def test_a_hundred_thousand_blocks(tmp_path: Path):
    one = np.array([track(0, 5, enter(0, 5), leave(0, 50))], np.uint32)
    words = np.repeat(one, 100_000, axis=0)
    words[:, 0] = np.arange(100_000)
    spec = launch(one[0].tolist(), words=7, grid=(1, 1, 1)).spec
    source = Launch(TraceBuffer(replace(spec, grid=(100_000, 1, 1)), words))
    write_trace(source, tmp_path / "t.pftrace")
    size = (tmp_path / "t.pftrace").stat().st_size
    assert size < 100_000 * (3 * 24 + 40 + 32 + 100)


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
    assert result.slices == []
    assert [path[-1] for path in result.lines()] == ["GPU", "kernel", "summary"]


def test_a_whole_timeline_is_written_as_a_launch_is():
    source = open_launch(GOLDEN[0])
    one, other = (read(written(s, counters="sm")[0]) for s in (source, source.timeline()))
    assert one.slices == other.slices
    assert one.lines() == other.lines()
    assert one.counters == other.counters


def test_chunks_end_between_tracks(monkeypatch):
    """However small they are: the file is the same but for the order of names."""
    source = open_launch(GOLDEN[0])
    whole = Counter(read(written(source)[0]).slices)
    for size in (1, 2, 7, 50):
        monkeypatch.setattr("mgpu_trace.export.perfetto._CHUNK", size)
        assert Counter(read(written(source)[0]).slices) == whole


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=20), st.integers(1, 8))
def test_columns_of_numbers_are_varints(values, n_bytes):
    cut = [v % (1 << 7 * n_bytes) for v in values]
    for word, value in zip(spread(np.array(cut), n_bytes).tolist(), cut, strict=True):
        assert word.to_bytes(8, "little") == varint(value, n_bytes).ljust(8, b"\0")
    more = spread(np.array(values), n_bytes, more=True)
    for word, value in zip(more.tolist(), values, strict=True):
        assert word.to_bytes(8, "little")[:n_bytes] == varint(value, n_bytes + 1)[:n_bytes]


@given(st.lists(st.tuples(*[st.integers(0, 10**5)] * 3), min_size=1, max_size=20), st.integers(1, 5))
def test_texts_of_a_few_lengths_are_equally_long(blocks, name_iid):
    texts = [b"%d,%d,%d" % block for block in blocks]
    for row, text in zip(text_words(name_iid, texts), texts, strict=True):
        (annotation,) = pb.TrackEvent.FromString(row.tobytes()).debug_annotations
        assert (annotation.name_iid, annotation.string_value.encode()) == (name_iid, text)


def test_losses_are_marked_where_they_are():
    full = [e for i in range(6) for e in (enter(0, 40 * i), leave(0, 40 * i + 30))][:10]
    open_at_the_end = [*full[:8], enter(1, 500), enter(2, 510)]
    buffer = launch(
        track(0, 0, *full[:4]),
        track(0, 1, *open_at_the_end),  # full, and truncated
        track(0, 2, *full, used=26),  # overfull: the next one is its victim
        track(0, 3, *full),
        words=23,
        grid=(2, 1, 1),
        block=(256, 1, 1),
        sm_clock_mhz=1000.0,
    )
    source = Launch(buffer)
    marks = read(written(source, lanes=False)[0]).marks
    flags = source.tracks.flags.tolist()
    assert [bool(f & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL)) for f in flags] == [False, True, True, False]
    assert [bool(f & TrackFlag.OVERWRITTEN) for f in flags] == [False, False, False, True]
    table = source.timeline().slices
    begin, end = source.clock.begin_end_ns(table.track, table.start_cyc, table.dur_cyc)
    wanted = [
        (f"SM {sm}", "events lost here", int(end[table.track == sm].max()), 0, (LOSS,)) for sm in (1, 2)
    ]
    n = int(source.tracks.n_skipped[3])
    first = int(begin[table.track == 3].min())
    wanted.append(("SM 3", "events overwritten before here", first, 0, (LOSS, ("n_events", n))))
    assert sorted((d.path[2], d.name, d.ts, d.depth, d.args) for d in marks) == wanted
    source.selection = parse_selection(["name=load"])
    assert sorted((d.path[2], d.name, d.ts) for d in read(written(source)[0]).marks) == [
        mark[:3] for mark in wanted
    ]
    source.selection = parse_selection([f"time={first}:{first}"])
    assert [d.ts for d in read(written(source)[0]).marks] == [first]


def test_the_summary_says_what_is_known():
    events = [enter(0, 0), leave(0, 100), leave(1, 110)]
    about = {"kernel": "gemm", "launch": 7, "host_time_ns": 5000, "sm_clock_mhz": 1000.0, "device_id": 2**63}
    source = Launch(launch(track(0, 0, *events), **about), source="a.npy")
    drawn = [d for d in read(written(source)[0]).drawn if d.path[-1] == "summary"]
    (whole,) = [d for d in drawn if d.depth == 0]
    assert {(d.ts, d.dur) for d in drawn} == {(5000, 110)}
    assert (whole.name, whole.ts, whole.dur) == ("gemm · launch 7", 5000, 110)
    args = dict(whole.args)
    assert (args["zero"], args["zero_ns"], args["source"]) == ("host_time_ns", 5000, "a.npy")
    assert [args[f"spec.grid[{i}]"] for i in range(3)] == [1, 1, 1]
    assert args["clock.description"] == source.clock.describe()
    assert args["spec.device_id"] == str(2**63)
    assert not any(key.startswith("spec.names") for key in args)
    findings = {d.name: dict(d.args) for d in drawn if d.depth}
    assert findings.keys() == {f"{d.code.id} {d.code.slug}" for d in source.report}
    assert [findings[f"{d.code.id} {d.code.slug}"]["message"] for d in source.report] == [
        d.message for d in source.report
    ]


def count_at(spans, ns):
    return sum(begin <= ns < end for begin, end in spans)


@settings(max_examples=100)
@given(st.one_of(corrupted_launches(), sound_launches()), st.sampled_from(HOWS))
def test_counters_count_what_is_there(made, how):
    """At every step, against counting the tracks and blocks that have begun and not ended."""
    source = Launch(TraceBuffer(made.spec, made.words))
    counters = read(written(source, counters="sm", group_by=how[0], lanes=how[1])[0]).counters
    tracks = reference.decode(made.words, made.spec).tracks
    units = {}
    for t in tracks:
        if t.extent >= 0:
            both = np.array([t.number] * 2)
            units[t.number] = source.clock.to_ns(both, np.array([0, t.extent])).tolist()
    blocks: dict = {}
    for t, (b, e) in units.items():
        key = tracks[t].block, tracks[t].sm
        had = blocks.get(key, (b, e))
        blocks[key] = (min(had[0], b), max(had[1], e))
    on_sm = [(tracks[t].sm, f"active {made.spec.scope.label}s", span) for t, span in units.items()]
    on_sm += [(sm, "resident blocks", span) for (_, sm), span in blocks.items()]
    wanted: dict = {}
    for sm, name, span in on_sm:
        wanted.setdefault(("GPU", "kernel", f"SM {sm}", name), []).append(span)
        wanted.setdefault(("GPU", "kernel", name), []).append(span)
    assert counters.keys() == wanted.keys()
    for path, spans in wanted.items():
        edges = sorted({ns for span in spans for ns in span})
        assert counters[path] == [(ns, count_at(spans, ns)) for ns in edges]


def test_counters_of_the_device_alone_and_none():
    source = open_launch(GOLDEN[0])
    assert {len(path) for path in read(written(source, counters="device")[0]).counters} == {3}
    assert read(written(source)[0]).counters == {}


def test_many_blocks_at_once_are_counted():
    n = 100_000
    counted = steps(np.zeros(n, np.int64), np.arange(n), np.full(n, n))
    assert counted.value.tolist() == [*range(1, n + 1), 0]
    rows = default_rows(np.array([5], np.uint64), 6), counter_rows(counted.ns, counted.value)
    trace = pb.Trace.FromString(b"".join(r.tobytes() for r in rows))
    events = [(p.timestamp, p.track_event.counter_value) for p in trace.packet[1:]]
    assert events == list(zip(counted.ns.tolist(), counted.value.tolist(), strict=True))
