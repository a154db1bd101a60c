"""Launches inside the kernel slices of a host trace: made by hand as a GPU's looks, and JAX's own."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from cli_support import invoke
from hypothesis import given
from hypothesis import strategies as st
from made_run import EPOCH_NS, make_run

from mgpu_trace.merge.host import on_host_trace, read_host_trace
from mgpu_trace.merge.match import Kernels, Sequences, matches
from mgpu_trace.merge.plan import plan
from mgpu_trace.merge.scan import scan

TRACE_ZERO_NS = EPOCH_NS - 5_000_000
BEFORE_NS, AFTER_NS = 1500, 1000  # a kernel is on the device a little longer than its events


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    true = make_run(folder, 10)
    return plan(scan([str(file) for file in sorted(folder.iterdir())]).entries), true


def host_events(run, true, *, first=0, last=10, jitter=0):
    """What the profiler of JAX writes on a machine with GPUs: a process for each device and the host."""
    events = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/host:CPU"}},
        {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:GPU:1"}},
    ]
    rng = np.random.default_rng(0)
    for launch in run.launches:
        number = launch.entry.spec.launch
        if first <= number < last:
            at = true[launch.entry.file] - TRACE_ZERO_NS + int(rng.integers(-jitter, jitter + 1))
            dur = launch.entry.dur_ns + BEFORE_NS + AFTER_NS
            name = f"jit_{launch.entry.kernel}_kernel"
            begin = {"ts": (at - BEFORE_NS) / 1000, "dur": dur / 1000}
            events.append({"ph": "X", "pid": 2 + launch.device, "tid": 13, "name": name, **begin})
            call = {
                "ph": "X",
                "pid": 1,
                "tid": 1000 + 2 * number + launch.device,
                "name": launch.entry.kernel,
            }
            events.append({**call, "ts": (at - 90_000) / 1000, "dur": 3.5})
    return events


def written(path, events):
    path.write_bytes(gzip.compress(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode()))
    return read_host_trace(str(path))


@pytest.mark.parametrize(("first", "last"), [(0, 10), (3, 10), (0, 7), (4, 6)])
def test_launches_are_where_they_truly_were_on_the_hosts_time_line(run, tmp_path, first, last):
    run, true = run
    host = written(tmp_path / "host.json.gz", host_events(run, true, first=first, last=last))
    moved, mappings = on_host_trace(run, host)
    for mapping in mappings:
        assert mapping.is_consistent
        assert mapping.n_matched == last - first
        assert mapping.uncertainty_ns <= (BEFORE_NS + AFTER_NS) // 2 + 1
    for launch in moved.launches:
        away = launch.begin_ns - (true[launch.entry.file] - TRACE_ZERO_NS)
        assert abs(away) <= BEFORE_NS + 1
    n_without = 2 * (10 - (last - first))
    assert [d.count for d in moved.found if d.code.id == "MGT673"] == ([n_without] if n_without else [])


def test_in_the_file_every_launch_lies_inside_its_slice_and_the_hosts_events_stand_as_they_were(
    run, tmp_path
):
    run, true = run
    events = host_events(run, true)
    written(tmp_path / "host.json.gz", events)
    folder = next(iter(true)).rpartition("/")[0]
    out = tmp_path / "run.json"
    result = invoke("merge", folder, "-o", out, "--host-trace", tmp_path / "host.json.gz")
    assert result.exit_code == 0, result.stderr
    merged = json.loads(out.read_text())["traceEvents"]
    assert merged[: len(events)] == events
    ours = {e["pid"] for e in merged[len(events) :]}
    assert not ours & {e["pid"] for e in events}
    slices = [e for e in events if e["ph"] == "X" and e["pid"] > 1]
    for launch in (e for e in merged if e.get("cat") == "launch"):
        end = launch["ts"] + launch["dur"]
        around = [s for s in slices if s["ts"] <= launch["ts"] and end <= s["ts"] + s["dur"]]
        assert len(around) == 2  # both devices ran it at the same time
        assert all(launch["name"].partition(" ")[0] in s["name"] for s in around)


def test_launches_that_stick_out_are_said_by_how_much(run, tmp_path):
    run, true = run
    host = written(tmp_path / "host.json.gz", host_events(run, true, jitter=50_000))
    moved, mappings = on_host_trace(run, host)
    assert not any(mapping.is_consistent for mapping in mappings)
    assert sum(d.code.id == "MGT672" for d in moved.found) == 2
    for launch in moved.launches:
        assert abs(launch.begin_ns - (true[launch.entry.file] - TRACE_ZERO_NS)) <= 60_000


def test_a_device_without_a_slice_is_moved_with_the_others(run, tmp_path):
    run, true = run
    events = [e for e in host_events(run, true) if e.get("pid") != 3]
    moved, mappings = on_host_trace(run, written(tmp_path / "host.json.gz", events))
    assert [mapping.device for mapping in mappings] == [0]
    for launch in moved.launches:
        assert abs(launch.begin_ns - (true[launch.entry.file] - TRACE_ZERO_NS)) < 400_000


@given(
    st.lists(st.integers(1000, 10**4), min_size=6, max_size=30, unique=True),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(-(10**12), 10**12),
)
def test_the_order_is_found_whatever_is_missing_at_the_ends(gaps, before, after, offset):
    whole = np.cumsum(np.array(gaps, np.int64) ** 2)  # no two distances are alike
    n = len(whole)
    ours = whole[: max(n - after, n // 2 + 2)]
    theirs = whole[min(before, n // 2 - 2) :] + offset
    kernels = Kernels(theirs, theirs + 500, np.full(len(theirs), -1))
    ((mine, slices),) = matches([Sequences(ours, ours + 100, kernels)])
    assert (theirs[slices] - ours[mine] == offset).all()
    assert len(mine) == len(ours) + len(theirs) - n


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no whole JSON"),
        (b'{"traceEvents":[', "no whole JSON"),
        (b"\x1f\x8b\x08", "no whole JSON"),
        (b"[" * 100_000, "no whole JSON"),
        (b'{"events":[]}', "no list traceEvents"),
        (b"7", "no list traceEvents"),
        (b"\xff\xfe\x00", "no whole JSON"),
    ],
)
def test_what_is_no_trace_is_one_line(run, tmp_path, data, why):
    (tmp_path / "host.json").write_bytes(data)
    folder = next(iter(run[1])).rpartition("/")[0]
    result = invoke("merge", folder, "-o", tmp_path / "r.json", "--host-trace", tmp_path / "host.json")
    assert result.exit_code == 1
    assert "error[MGT671]" in result.stderr
    assert why in result.stderr
    assert len(result.stderr.splitlines()) == 2
    assert not (tmp_path / "r.json").exists()


def test_events_of_any_kind_are_survived(run, tmp_path):
    run, true = run
    odd = [7, None, [], {}, {"ph": "X"}, {"ph": "X", "name": "gemm", "ts": "x", "dur": None}]
    odd += [{"ph": "X", "name": 3, "ts": 1e300, "dur": 1}, {"ph": "X", "name": "gemm", "ts": True, "dur": 1}]
    odd += [{"ph": "M", "name": "process_name", "args": {"name": None}}, {"args": 5}]
    odd += [{"ph": "M", "name": "process_name", "pid": [1], "args": {"name": "/device:GPU:" + "9" * 40}}]
    odd += [{"ph": "X", "name": "gemm", "pid": [1], "ts": 1, "dur": 1}]
    odd += [{"ph": "X", "name": "gemm", "ts": 10**400, "dur": 1}]
    host = written(tmp_path / "host.json.gz", odd + host_events(run, true))
    assert all(mapping.n_matched == 10 for mapping in on_host_trace(run, host)[1])


def test_a_trace_of_another_run_is_refused(run, tmp_path):
    run, true = run
    renamed = [
        replace(launch, entry=replace(launch.entry, spec=replace(launch.entry.spec, kernel="other")))
        for launch in run.launches
    ]
    host = written(tmp_path / "host.json.gz", host_events(run, true))
    with pytest.raises(Exception, match="no slice of the host trace has the name"):
        on_host_trace(replace(run, launches=tuple(renamed)), host)
