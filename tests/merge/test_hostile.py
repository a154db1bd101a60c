"""Runs as no capture leaves them: every launch is shown or said, and nothing ends in a traceback."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from cli_support import invoke
from made_run import EPOCH_NS, make_run

import mgpu_trace
from mgpu_trace.decode import decode
from mgpu_trace.merge.ids import RunIds
from mgpu_trace.merge.place import MAX_HOST_NS
from mgpu_trace.merge.scan import scan
from mgpu_trace.read import read_trace, write_npz
from mgpu_trace.spec import SpecOptions
from mgpu_trace.synth import SynthConfig, synthesise

DAY_NS = 86_400 * 10**9


def write(folder, number, *, words=None, **fields):
    """One launch with whatever its spec should say."""
    made = synthesise(SynthConfig(device="H100", start_ns=1000), seed=number)
    folder.mkdir(exist_ok=True)
    path = folder / f"l{number:04}.npz"
    spec = replace(made.buffer.spec, **fields)
    write_npz(path, (made.buffer.words if words is None else words).reshape(-1), spec)
    return path


def merged(*args, status=0):
    result = invoke("merge", *args, "--json", "--jobs", 1)
    assert result.exit_code == status, result.stderr
    assert "Traceback" not in result.stderr
    said = json.loads(result.stdout)
    return said, Counter(finding["code"] for finding in said["diagnostics"])


def trace_of(path):
    return json.loads(path.read_text())


TIMES = (None, 0, 1, EPOCH_NS, MAX_HOST_NS, 2**63 - 1)


@pytest.mark.parametrize("suffix", ["json", "pftrace"])
def test_host_times_of_any_kind(tmp_path, suffix):
    number = 0
    for before in TIMES:
        for after in TIMES:
            host = {"host_time_before_ns": before, "host_time_ns": after}
            known = {name: ns for name, ns in host.items() if ns is not None}
            write(tmp_path / "run", number, device_id=number % 3, launch=number, **known)
            number += 1
    out = tmp_path / f"r.{suffix}"
    said, codes = merged(tmp_path / "run", "-o", out)
    assert len(said["launches"]) == number
    assert codes["MGT664"]
    assert out.stat().st_size
    if suffix == "json":
        shown = sum(e.get("cat") == "launch" for e in trace_of(out)["traceEvents"])
        outside = sum(f["count"] for f in said["diagnostics"] if f["code"] == "MGT675")
        assert outside
        assert shown == trace_of(out)["metadata"]["n_launches"] == number - outside


def test_what_is_26_days_away_is_left_out_of_json_and_said(tmp_path):
    for number, day in enumerate((0, 25, 27)):
        at = EPOCH_NS + day * DAY_NS
        write(tmp_path / "run", number, launch=number, host_time_before_ns=at, host_time_ns=at + 10**6)
    _, codes = merged(tmp_path / "run", "-o", tmp_path / "r.json")
    assert codes["MGT675"] == 1
    events = trace_of(tmp_path / "r.json")["traceEvents"]
    assert sum(e.get("cat") == "launch" for e in events) == 2
    assert max(e["ts"] + e["dur"] for e in events if e["ph"] == "X") < 26.1 * DAY_NS / 1000
    _, codes = merged(tmp_path / "run", "-o", tmp_path / "r.pftrace")
    assert not codes["MGT675"]


def test_launches_before_the_host_traces_zero_are_left_out_and_said(tmp_path):
    true = make_run(tmp_path / "run", 4)
    zero = sorted({*true.values()})[1] - 1000  # the profiler began between the first and the second
    events = [{"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/device:GPU:0"}}]
    for file, ns in true.items():
        if "-d0-" in file and ns > zero:
            name = "gemm" if "gemm" in file else "softmax"
            times = {"ts": (ns - zero) / 1000, "dur": 20}
            events.append({"ph": "X", "pid": 2, "tid": 1, "name": name, **times})
    (tmp_path / "host.json").write_text(json.dumps(events))
    said, _ = merged(tmp_path / "run", "-o", tmp_path / "r.json", "--host-trace", tmp_path / "host.json")
    assert [f["count"] for f in said["diagnostics"] if f["code"] == "MGT675"] == [2]
    assert min(e["ts"] for e in trace_of(tmp_path / "r.json")["traceEvents"] if e["ph"] == "X") >= 0


def test_a_launch_in_two_files_is_there_once(tmp_path):
    true = make_run(tmp_path / "run", 2)
    first, *_ = sorted(true)
    (tmp_path / "copy.npz").write_bytes((tmp_path / "run" / first.rpartition("/")[2]).read_bytes())
    said, _ = merged(tmp_path / "run", first, tmp_path / "copy.npz", "-o", tmp_path / "r.json")
    assert len(said["launches"]) == 4
    assert [f["count"] for f in said["diagnostics"] if f["code"] == "MGT674"] == [2]


def test_launches_without_one_event_are_no_copies_of_each_other(tmp_path):
    empty = np.zeros_like(synthesise(SynthConfig(), seed=0).buffer.words)
    for number in range(2):
        write(tmp_path / "run", number, words=empty)
    said, codes = merged(tmp_path / "run", "-o", tmp_path / "r.json", status=1)
    assert len(said["launches"]) == 2
    assert codes["MGT305"] == 2


def test_devices_without_host_times_begin_when_the_others_do(tmp_path):
    for number in range(2):
        host = {} if number else {"host_time_before_ns": EPOCH_NS, "host_time_ns": EPOCH_NS + 10**6}
        write(tmp_path / "run", number, device_id=number, launch=0, **host)
    said, codes = merged(tmp_path / "run", "-o", tmp_path / "r.json")
    assert codes["MGT665"] == 1
    assert len({launch["begin_ns"] for launch in said["launches"]}) == 1
    events = trace_of(tmp_path / "r.json")["traceEvents"]
    assert [e["ts"] for e in events if e.get("cat") == "launch"] == [0, 0]


def test_without_a_rate_cycles_do_not_bound_when_a_launch_began(tmp_path):
    """At one cycle a nanosecond the launch seems longer than the host saw it."""
    for number in range(2):
        one = SynthConfig(
            grid=(1, 1, 1), block=(128, 1, 1), start_ns=1024 + number * 10**6, state_clock=False
        )
        made = synthesise(one, seed=0)
        begin = EPOCH_NS + number * 10**6
        cycles = int(decode(made.buffer).slices.dur_cyc.sum())
        host = {"host_time_before_ns": begin - 50, "host_time_ns": begin + cycles * 1000 // 1980 + 50}
        write_npz(
            tmp_path / f"{number}.npz", made.buffer.words.reshape(-1), replace(made.buffer.spec, **host)
        )
    files = [tmp_path / "0.npz", tmp_path / "1.npz"]
    said, codes = merged(*files, "-o", tmp_path / "r.json")
    assert said["launches"][0]["dur_ns"] is None  # longer than the host waited, if cycles were ns
    assert not codes["MGT664"]
    assert not codes["MGT663"]


@pytest.mark.parametrize("sm", [2**31, 2**32 - 1])
def test_sm_ids_of_broken_headers_leave_room_for_all_ids(tmp_path, sm):
    for number in range(3):
        words = synthesise(SynthConfig(start_ns=1000 + 10**6 * number), seed=number).buffer.words.copy()
        words[3, 1] = sm - number
        write(tmp_path / "run", number, words=words, device_id=number, launch=number)
    merged(tmp_path / "run", "-o", tmp_path / "r.json")
    events = trace_of(tmp_path / "r.json")["traceEvents"]
    pids = {e["pid"] for e in events}
    tids = [e["tid"] for e in events if e["name"] == "thread_name"]
    assert max(pids) < 2**32
    assert max(tids) < 2**32
    assert len({*tids}) == len(tids)
    assert not pids & {*tids}
    names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert len({*names}) == len(names) == len(pids)


def test_ids_of_the_host_trace_are_nobody_elses():
    taken = {*range(1, 50), 2**31, 2**31 - 48 + 1000, 2**40, -3}
    for largest_sm in (7, 2**32 - 1):
        ids = RunIds(3, largest_sm, taken)
        pids = [ids.pid(device, sm)[0] for device in range(3) for sm in (-1, 0, 5)]
        tids = [ids.new_tid() for _ in range(2000)]
        assert len({*pids, *tids}) == len(pids) + len(tids)
        assert not {*pids, *tids} & taken
        assert max(*pids, *tids) < 2**32


def test_processes_of_all_devices_stand_by_device_and_then_by_sm(tmp_path):
    make_run(tmp_path / "run", 2)
    merged(tmp_path / "run", "-o", tmp_path / "r.json")
    events = trace_of(tmp_path / "r.json")["traceEvents"]
    place = {e["pid"]: e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"}
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    in_order = [names[pid] for pid in sorted(place, key=place.get)]
    assert in_order == [
        name
        for device in (0, 1)
        for name in (f"H100 · device {device} · launches", *(f"device {device} · SM {sm}" for sm in range(4)))
    ]


def test_names_and_specs_that_launches_share_are_in_the_metadata_once(tmp_path):
    make_run(tmp_path / "run", 6)
    merged(tmp_path / "run", "-o", tmp_path / "r.json")
    metadata = trace_of(tmp_path / "r.json")["metadata"]
    assert [spec["kernel"] for spec in metadata["specs"]] == ["gemm", "softmax"]
    for launch in metadata["launches"]:
        spec = metadata["specs"][launch["spec"]]
        own = ("process", "device_id", "launch", "host_time_before_ns", "host_time_ns")
        whole = mgpu_trace.load(launch["file"]).spec.to_dict()
        assert spec | {name: launch[name] for name in own} == whole


def test_launches_without_a_number_are_aligned_as_the_nth_of_their_kernel(tmp_path):
    true = make_run(tmp_path / "run", 6)
    for file in true:
        timeline = mgpu_trace.load(file)
        words = read_trace(file, SpecOptions()).buffer.words
        write_npz(file, words.reshape(-1), replace(timeline.spec, launch=None))
    said, _ = merged(tmp_path / "run", "-o", tmp_path / "r.json", "--align", "store")
    assert said["devices"][1]["n_instants"] == 6
    assert said["devices"][1]["uncertainty_ns"] <= 64


def test_a_device_that_has_no_instant_with_others_is_said(tmp_path):
    true = make_run(tmp_path / "run", 2)
    first = min(true)
    words = read_trace(first, SpecOptions()).buffer.words
    spec = replace(mgpu_trace.load(first).spec, device_id=7, kernel="other")
    write_npz(tmp_path / "run" / "other.npz", words.reshape(-1), spec)
    said, codes = merged(tmp_path / "run", "-o", tmp_path / "r.json", "--align", "store")
    assert codes["MGT666"] == 1
    assert [device["n_instants"] for device in said["devices"]] == [2, 2, 0]


@pytest.mark.parametrize("args", [[], ["--align", "store"]])
def test_a_file_that_vanishes_half_way_costs_no_other(tmp_path, monkeypatch, args):
    true = make_run(tmp_path / "run", 3)

    def scan_and_lose(*given, **more):
        found = scan(*given, **more)
        (tmp_path / "run" / max(true).rpartition("/")[2]).unlink()
        return found

    monkeypatch.setattr("mgpu_trace.merge.run.scan", scan_and_lose)
    _, codes = merged(tmp_path / "run", "-o", tmp_path / "r.json", *args, status=1)
    assert codes["MGT101"] == 1
    assert trace_of(tmp_path / "r.json")["metadata"]["n_launches"] == 6
    assert len(trace_of(tmp_path / "r.json")["metadata"]["launches"]) == 5
