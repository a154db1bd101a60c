"""The Chrome writer against a slow one: every event, parsed back, equals the table it came from."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgpu_trace.clock import ClockModel
from mgpu_trace.diagnostics import Report, catalogue
from mgpu_trace.export.chrome import MAX_TIME_NS, ChromeOptions, write_chrome
from mgpu_trace.export.jsontext import json_string
from mgpu_trace.export.records import n_groups, put_integer, put_micros
from mgpu_trace.model import Slices, Timeline, TrackFlag, Tracks
from mgpu_trace.spec import TraceSpec


def timeline(
    rows, *, n_tracks=6, tracks_per_block=3, names=("Init", "load", "mma"), sm=None, flags=None, index=False
):
    """A timeline of rows ``(track, name, depth, lane, start, dur, closed)``; one cycle is one ns."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 7
    kinds = (np.int32, np.int32, np.int16, np.int16, np.int64, np.int64, np.bool_)
    arrays = [np.array(c, kind) for c, kind in zip(columns, kinds, strict=True)]
    slices = Slices(*arrays, index=np.arange(len(rows)) if index else None)
    zeros = np.zeros(n_tracks, np.uint32)
    tracks = Tracks(
        tracks_per_block,
        np.arange(n_tracks, dtype=np.uint32) // tracks_per_block if sm is None else np.array(sm, np.uint32),
        zeros,
        np.full(n_tracks, 10, np.int32),
        np.zeros(n_tracks, np.int32),
        zeros,
        np.zeros(n_tracks, np.uint8) if flags is None else np.array(flags, np.uint8),
    )
    spec = TraceSpec(
        grid=(n_tracks // tracks_per_block, 1, 1),
        block=(128 * tracks_per_block, 1, 1),
        words_per_track=64,
        names=names,
    )
    clock = ClockModel(None, "none", None, None, 0, None, np.zeros(n_tracks))
    return Timeline(spec, tracks, slices, clock, Report())


def written(a_timeline, options=None):
    sink = io.BytesIO()
    diagnostics = write_chrome(a_timeline, sink, options or ChromeOptions(lanes=False))
    return sink.getvalue(), diagnostics


def events(data, phase="X"):
    """Those of regions, or of another phase."""
    return [e for e in json.loads(data)["traceEvents"] if e["ph"] == phase and "cat" not in e]


def thread_names(data):
    return {e["tid"]: e["args"]["name"] for e in events(data, "M") if e["name"] == "thread_name"}


NAMES = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.text(alphabet=st.characters(codec=None), max_size=8),
        st.integers(1, 900).map(lambda n: "n" * n),
        st.sampled_from(["\\", "a\\", '"', "\n", "\x00", "🔥", "\ud83d", "é" * 300, ""]),
    ),
    min_size=1,
    max_size=8,
).map(tuple)
TIMES = st.one_of(st.integers(0, 20_000), st.integers(0, 10**10), st.integers(0, MAX_TIME_NS // 2 - 1))


@st.composite
def rows_and_names(draw):
    names = draw(NAMES)
    row = st.tuples(
        st.integers(0, 5),
        st.integers(0, len(names) + 3),
        st.sampled_from([0, 1, 511, 512, 1100]),
        st.sampled_from([0, 0, 0, 1, 5]),
        TIMES,
        TIMES,
        st.booleans(),
    )
    return sorted(draw(st.lists(row, max_size=60)), key=lambda r: r[0]), names


def expected_name(names, i):
    name = names[i] if i < len(names) else f"name {i} (unknown)"
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in name) or "(empty name)"


@settings(max_examples=150, deadline=None)
@given(rows_and_names(), st.sampled_from([(), ("cycles",), ("cycles", "index")]))
def test_every_event_equals_its_slice(made, args):
    rows, names = made
    flags = [0, TrackFlag.TRUNCATED, TrackFlag.OVERFULL, 0, TrackFlag.FULL, 0]
    data, _ = written(
        timeline(rows, names=names, flags=flags, index=True), ChromeOptions(args=args, lanes=False)
    )
    found = events(data)
    threads = thread_names(data)
    assert len(found) == len(rows)
    # Times as text: a float would hide a wrong digit.
    texts = re.findall(rb'"ts": *([0-9.]+),"dur": *([0-9.]+)', data)[: len(rows)]  # marks come last
    for i, (row, event, (ts, dur)) in enumerate(zip(rows, found, texts, strict=True)):
        track, name, depth, lane, start_ns, dur_ns, closed = row
        assert ts == b"%d.%03d" % divmod(start_ns, 1000)
        assert dur == b"%d.%03d" % divmod(dur_ns, 1000)
        assert event["name"] == expected_name(names, name)
        assert event["pid"] == track // 3
        wanted = f"block ({track // 3},0,0) · warpgroup {track % 3}"
        wanted += f" · overlap {lane + 1}" if lane else ""
        wanted += f" · deep {depth // 512 + 1}" if depth >= 512 else ""
        assert threads[event["tid"]] == wanted
        mark = {} if closed else {"truncated" if track in (1, 2) else "unclosed": True}
        numbers = {"cycles": dur_ns, "index": i}
        assert event.get("args", {}) == {k: numbers[k] for k in args} | mark


def test_long_tracks_are_written_as_short_ones_are():
    """A chunk of few tracks takes another way through the writer than one of many."""
    few = [(t, i % 3, 0, 0, 10 * i, 7, True) for t in (0, 1) for i in range(9000)]
    many = [(t, i % 3, 0, 0, 10 * i, 7, True) for t in range(3000) for i in range(6)]
    for rows, n_tracks in ((few, 6), (many, 3000)):
        data, _ = written(timeline(rows, n_tracks=n_tracks))
        threads = thread_names(data)
        found = [
            (threads[e["tid"]], e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000))
            for e in events(data)
        ]
        names = ("Init", "load", "mma")
        assert found == [
            (f"block ({t // 3},0,0) · warpgroup {t % 3}", names[n], start, dur)
            for t, n, _, _, start, dur, _ in rows
        ]


def test_padding_of_one_long_name_is_not_paid_by_all():
    rows = [(0, i % 2, 0, 0, i, 1, True) for i in range(4000)]
    size = len(written(timeline(rows, names=("x", "y")))[0])
    rows[2000] = (0, 2, 0, 0, 2000, 1, True)
    longer = len(written(timeline(rows, names=("x", "y", "z" * 400)))[0])
    assert longer - size < 30_000


@pytest.mark.parametrize("sms", [(0, 1), (131, 132), (65535, 3), (2**32 - 1, 0), (200, 199)])
def test_thread_ids_are_none_of_the_process_ids(sms):
    rows = [(t, 0, 0, lane, 5, 5, True) for t in range(6) for lane in (0, 1)]
    data, _ = written(timeline(rows, sm=[sms[t // 3] for t in range(6)]))
    pids = {e["pid"] for e in events(data)}
    tids = [e["tid"] for e in events(data)]
    assert pids == set(sms)
    assert len(set(tids)) == len(tids)
    assert not set(tids) & (pids | {0})
    assert all(0 < tid < 2**32 for tid in tids)


def test_processes_come_first_and_in_the_order_of_sms():
    rows = [(0, 0, 0, 0, 1, 1, True), (3, 0, 0, 0, 1, 1, True)]
    data, _ = written(timeline(rows, sm=[10, 10, 10, 2, 2, 2]))
    metas = events(data, "M")
    assert [e["pid"] for e in metas if e["name"] == "process_name"] == [2, 10]
    assert [e["args"]["sort_index"] for e in metas if e["name"] == "process_sort_index"] == [0, 1]
    order = {e["tid"]: e["args"]["sort_index"] for e in metas if e["name"] == "thread_sort_index"}
    names = thread_names(data)
    by_index = [names[tid] for tid in sorted(names, key=lambda tid: order[tid])]
    assert by_index == [f"block ({b},0,0) · warpgroup {u}" for b in (1, 0) for u in range(3)]


def test_roles_rename_units():
    options = ChromeOptions(roles={0: "tma", 1: "mma", 2: "mma"}, lanes=False)
    names = thread_names(written(timeline([(0, 0, 0, 0, 1, 1, True)]), options)[0])
    assert sorted(names.values())[:3] == ["block (0,0,0) · mma", "block (0,0,0) · mma", "block (0,0,0) · tma"]


def test_times_beyond_26_days_are_left_out_and_said():
    rows = [(0, 0, 0, 0, 5, MAX_TIME_NS - 6, True), (0, 1, 0, 0, 5, MAX_TIME_NS - 5, True)]
    data, diagnostics = written(timeline(rows))
    assert [e["name"] for e in events(data)] == ["Init"]
    assert b"%d.%03d" % divmod(MAX_TIME_NS - 6, 1000) in data
    assert [d.code for d in diagnostics] == [catalogue.TIME_TOO_LONG]
    assert json.loads(data)["metadata"]["diagnostics"][0]["code"] == catalogue.TIME_TOO_LONG.id


def test_nothing_at_all_is_a_trace_too():
    data, _ = written(timeline([], flags=[TrackFlag.UNREADABLE] * 6))
    assert data.startswith(b'{"traceEvents":[')
    assert json.loads(data)["traceEvents"] == []


def test_altered_names_are_said():
    _, diagnostics = written(
        timeline([(0, 0, 0, 0, 1, 1, True), (0, 1, 0, 0, 1, 1, True)], names=("", "\ud800", "x"))
    )
    assert [(d.code, d.count) for d in diagnostics] == [(catalogue.NAME_ALTERED, 2)]


def test_metadata_says_what_the_times_are():
    metadata = json.loads(written(timeline([(0, 0, 0, 0, 1, 1, True)]), None)[0])["metadata"]
    assert metadata["clock"]["unit"] == "cycles shown as ns"
    assert metadata["n_slices"] == 1
    assert metadata["spec"]["words_per_track"] == 64


@given(st.text(alphabet=st.characters(codec=None)))
def test_strings_are_json_without_surrogate_escapes_or_a_last_backslash(text):
    data = json_string(text)
    assert json.loads(data) == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert not data.endswith(b'\\"') or text.endswith('"')
    assert b"\\ud" not in data.replace(b"\\\\", b"")
    assert min(data) >= 0x20


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=30))
def test_integers_as_fixed_width_text(values):
    groups = n_groups(max(values))
    out = np.zeros((len(values), groups + 2), np.uint32)
    put_integer(out, 1, groups, np.array(values))
    assert [row.tobytes()[4:-4].decode() for row in out] == [str(v).rjust(4 * groups) for v in values]


@given(
    st.one_of(
        st.lists(st.integers(0, 2**51 - 1) | st.integers(0, 10**7), min_size=1, max_size=30),
        st.lists(st.integers(0, 20_000), min_size=1, max_size=30),
        # Few long ones among short ones.
        st.tuples(
            st.lists(st.integers(0, 17_000), min_size=9, max_size=30), st.integers(16_000, 10**7 - 1)
        ).map(lambda made: [*made[0], made[1]]),
    ),
    st.integers(1, 2),
    st.sampled_from([np.int64, np.uint32]),
)
def test_microseconds_as_fixed_width_text(values, column, kind):
    values = [v % 2**32 for v in values] if kind is np.uint32 else values
    groups = n_groups(max(values) // 1000)
    out = np.zeros((len(values), column + groups + 1 + (column + groups + 1) % 2), np.uint32)
    put_micros(out, column, groups, np.array(values, kind))
    first = 4 * column
    text = [row.tobytes()[first : first + 4 * groups + 4].decode() for row in out]
    assert text == [f"{v // 1000}.{v % 1000:03d}".rjust(4 * groups + 4) for v in values]


def test_more_names_than_are_kept(monkeypatch):
    """Tails of garbage names are forgotten and made again; every event still has its own."""
    monkeypatch.setattr("mgpu_trace.export.tails._MOST_TAILS", 20)
    monkeypatch.setattr("mgpu_trace.export.chrome._CHUNK", 4)
    ids = [*range(40), *range(0, 40, 3), 7, 7, 1000]
    data, diagnostics = written(
        timeline([(0, n, 0, 0, i, 1, n % 2 == 0) for i, n in enumerate(ids)], names=("",))
    )
    names = ["(empty name)" if n == 0 else f"name {n} (unknown)" for n in ids]
    assert [e["name"] for e in events(data)] == names
    assert [e.get("args", {}) for e in events(data)] == [
        {} if n % 2 == 0 else {"unclosed": True} for n in ids
    ]
    assert [(d.code, d.count) for d in diagnostics] == [(catalogue.NAME_ALTERED, 1)]
