"""Whatever the buffer, the trace is one that a viewer can draw: no line has slices that cross."""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from picture_by_hand import HOWS, picture
from strategies import corrupted_launches, random_launches
from tracks_by_hand import enter, launch, leave, track

from mgpu_trace.export.chrome import MAX_TIME_NS, ChromeOptions, write_chrome
from mgpu_trace.model import TraceBuffer
from mgpu_trace.pipeline import Launch

NUMBERS = re.compile(rb'"pid": *(\d+),"tid": *(\d+),"ts": *(\d+)\.(\d{3}),"dur": *(\d+)\.(\d{3})')


def crossing(spans):
    """Whether two of the spans ``(begin, end)`` of a line cross, looked at as a viewer does."""
    open_ends = []
    for begin, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            return True
        open_ends.append(end)
    return False


@settings(max_examples=250)
@given(
    st.one_of(corrupted_launches(), random_launches()),
    st.sampled_from([None, 1000.0, 1980.0, 1.0]),
    st.sampled_from(HOWS),
)
def test_no_line_has_slices_that_cross(made, sm_clock_mhz, how):
    stated = {"sm_clock_mhz": sm_clock_mhz, "sm_clock_source": "flag"}
    spec = made.spec if sm_clock_mhz is None else replace(made.spec, **stated)
    launch = Launch(TraceBuffer(spec, made.words))
    sink = io.BytesIO()
    group_by, lanes = how
    diagnostics = write_chrome(launch, sink, ChromeOptions(group_by=group_by, lanes=lanes))
    data = sink.getvalue()
    trace = json.loads(data)

    lines = defaultdict(list)
    for pid, tid, *numbers in NUMBERS.findall(data):
        ts_us, ts_ns, dur_us, dur_ns = map(int, numbers)
        begin = ts_us * 1000 + ts_ns
        lines[pid, tid].append((begin, begin + dur_us * 1000 + dur_ns))
    assert not any(crossing(spans) for spans in lines.values())
    assert all(end < MAX_TIME_NS for spans in lines.values() for _, end in spans)

    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    n_blocks, n_marks = (sum(e.get("cat") == what for e in events) for what in ("block", "loss"))
    assert len(events) == sum(map(len, lines.values())) + n_marks
    assert len(events) == trace["metadata"]["n_slices"] + n_blocks + n_marks
    wanted = picture(launch, *how)
    n_too_long = sum(d.count for d in diagnostics if d.code.id == "MGT606")
    assert len(events) - n_marks + n_too_long == launch.n_slices + len(wanted.outer)
    assert n_marks == sum(mark.at < MAX_TIME_NS for mark in wanted.marks)
    assert n_blocks == sum(outer.end < MAX_TIME_NS for outer in wanted.outer)
    introduced = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in events} <= introduced
    codes = [d["code"] for d in trace["metadata"]["diagnostics"]]
    assert codes == [d.code.id for d in (*launch.report, *diagnostics)]


def test_a_track_may_have_more_lines_than_four_digits_count():
    n = 10_500
    entered = [enter(name, name) for name in range(n)]
    left = [leave(name, n + name) for name in range(n)]  # in the same order: all of them cross
    buffer = launch(track(1000, 0, *entered, *left), words=4 * n + 3, names=None)
    sink = io.BytesIO()
    write_chrome(Launch(buffer), sink)
    events = json.loads(sink.getvalue())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X" and "cat" not in e]
    assert len({e["tid"] for e in slices}) == len(slices) == n
