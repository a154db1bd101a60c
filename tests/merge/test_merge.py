"""``merge``: every slice of every launch is there once, where the launch truly was."""

import gzip
import json
from collections import Counter
from dataclasses import replace

import pytest
from cli_support import FIXTURES, invoke
from made_run import EPOCH_NS, make_run
from perfetto_engine import SLICES_SQL, STATS_SQL, load_trace, needs_engine

import mgpu_trace
from mgpu_trace.merge.plan import plan
from mgpu_trace.merge.scan import scan


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder, and when each of its launches truly began."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, make_run(folder, 6)


def regions(events):
    """(ts in ns, dur, name) of all regions of a JSON trace."""
    return Counter(
        (round(e["ts"] * 1000), round(e["dur"] * 1000), e["name"])
        for e in events
        if e["ph"] == "X" and "cat" not in e
    )


def expected(files, begin_ns):
    """The same from each launch decoded alone, moved to where it was placed."""
    found = Counter()
    for file in files:
        timeline = mgpu_trace.load(file)
        s = timeline.slices
        begin, end = timeline.clock.begin_end_ns(s.track, s.start_cyc, s.dur_cyc)
        names = [timeline.spec.name_of(i) for i in s.name.tolist()]
        rows = zip((begin + begin_ns[file]).tolist(), (end - begin).tolist(), names, strict=True)
        found.update(rows)
    return found


def merged(run, out, *args):
    result = invoke("merge", run, "-o", out, "--json", *args)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_every_slice_is_there_once_at_the_time_of_its_launch(run, tmp_path):
    folder, true = run
    said = merged(folder, tmp_path / "run.json.gz")
    trace = json.loads(gzip.decompress((tmp_path / "run.json.gz").read_bytes()))
    zero = trace["metadata"]["zero_ns"]
    begin = {launch["file"]: launch["begin_ns"] - zero for launch in said["launches"]}
    assert regions(trace["traceEvents"]) == expected(true, begin)
    for launch in said["launches"]:
        assert launch["n_turns_that_fit"] == 1
        assert abs(launch["begin_ns"] - true[launch["file"]]) <= launch["uncertainty_ns"]


def test_processes_are_devices_and_then_sms_and_threads_are_shared_by_launches(run, tmp_path):
    folder, _ = run
    merged(folder, tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    named = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert [named[pid] for pid in sorted(named)] == [
        name
        for device in (0, 1)
        for name in (f"H100 · device {device} · launches", *(f"device {device} · SM {sm}" for sm in range(4)))
    ]
    threads = [(e["pid"], e["tid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"]
    tids = [tid for _, tid, _ in threads]
    assert len({*tids}) == len(tids) == 2 * (1 + 4 * 3)
    assert not {*tids} & {*named}
    launches = [e for e in events if e.get("cat") == "launch"]
    assert len(launches) == 12
    assert {e["name"] for e in launches if "gemm" in e["name"]} == {f"gemm · launch {i}" for i in (0, 2, 4)}


@needs_engine
@pytest.mark.parametrize("suffix", ["json.gz", "pftrace"])
def test_the_engine_sees_every_region_and_no_error(run, tmp_path, suffix):
    folder, true = run
    out = tmp_path / f"run.{suffix}"
    said = merged(folder, out, "--align", "Init")
    result = load_trace(out, "select ts, dur, name, category from slice", STATS_SQL, SLICES_SQL)
    assert result.is_clean
    names = {name for file in true for name in mgpu_trace.load(file).spec.names}
    zero = said["zero_ns"] if suffix == "json.gz" else 0
    begin = {launch["file"]: launch["begin_ns"] - zero for launch in said["launches"]}
    seen = Counter(
        (ts, dur, name) for ts, dur, name, kind in result.rows[0] if kind is None and name in names
    )
    assert seen == expected(true, begin)


def test_a_region_that_ends_everywhere_at_once_aligns_the_devices(run, tmp_path):
    folder, true = run
    said = merged(folder, tmp_path / "run.json", "--align", "store")
    devices = said["devices"]
    assert devices[0]["shift_ns"] == 0
    for number in range(6):
        begins = [la["begin_ns"] - true[la["file"]] for la in said["launches"] if la["launch"] == number]
        # The two devices ran the same launch: what is left is the step of their timers.
        assert abs(begins[0] - begins[1]) <= 64
    assert devices[1]["n_instants"] == 6
    assert 0 <= devices[1]["uncertainty_ns"] <= 64


def test_impossible_orders_are_counted(run, tmp_path):
    folder, _ = run
    result = invoke("merge", folder, "-o", tmp_path / "a.json", "--align", "Init", "--order", "tma_load:Init")
    assert "warning[MGT668]" in result.stderr  # no Init waits for a load
    result = invoke("merge", folder, "-o", tmp_path / "b.json", "--align", "Init", "--order", "Init:store")
    assert "MGT668" not in result.stderr


def test_parts_hold_all_launches_in_order_and_each_loads_by_itself(run, tmp_path):
    folder, true = run
    said = merged(folder, tmp_path / "run.json", "--max-size", "130kB")
    n = len(said["parts"])
    assert 2 < n < 10
    parts = [tmp_path / f"run.part{i + 1}of{n}.json" for i in range(n)]
    assert [part["file"] for part in said["parts"]] == [str(part) for part in parts]
    traces = [json.loads(part.read_text()) for part in parts]
    assert sum(trace["metadata"]["n_launches"] for trace in traces) == len(true)
    begin = {launch["file"]: launch["begin_ns"] - said["zero_ns"] for launch in said["launches"]}
    assert sum((regions(trace["traceEvents"]) for trace in traces), Counter()) == expected(true, begin)
    last = [max(e["ts"] for e in trace["traceEvents"] if e.get("cat") == "launch") for trace in traces]
    assert last == sorted(last)


def test_the_predicted_size_is_near_the_real_one(tmp_path):
    files = []
    for i in range(2):
        invoke("synth", "-o", tmp_path / f"l{i}.npy", "--grid", 500, "--seed", i)
        files.append(tmp_path / f"l{i}.npy")
    for suffix in ("json", "json.gz", "pftrace", "pftrace.gz"):
        said = json.loads(invoke("merge", *files, "-o", tmp_path / f"r.{suffix}", "--json").stdout)
        (part,) = said["parts"]
        real = (tmp_path / f"r.{suffix}").stat().st_size
        assert 0.5 < part["predicted_bytes"] / real < 2, (suffix, part["predicted_bytes"], real)


@pytest.mark.parametrize(
    ("select", "n"),
    [
        (["kernel=gemm"], 6),
        (["launch=0-2"], 6),
        (["device=1", "launch=0,5"], 2),
        (["process=0"], 12),
        (["kernel=gemm", "kernel=soft*"], 12),
    ],
)
def test_select(run, tmp_path, select, n):
    options = [part for text in select for part in ("--select", text)]
    assert len(merged(run[0], tmp_path / "s.json", "--dry-run", *options)["launches"]) == n
    assert not (tmp_path / "s.json").exists()


def test_jobs_change_nothing(run, tmp_path):
    for jobs in (1, 3):
        merged(run[0], tmp_path / f"{jobs}.pftrace", "--jobs", jobs)
    assert (tmp_path / "1.pftrace").read_bytes() == (tmp_path / "3.pftrace").read_bytes()


def test_without_host_times_each_device_begins_at_zero_and_that_is_said(tmp_path):
    make_run(tmp_path / "run", 3, with_host=False)
    result = invoke("merge", tmp_path / "run", "-o", tmp_path / "r.json")
    assert result.exit_code == 0
    assert "info[MGT662]" in result.stderr
    assert "warning[MGT666]: 2 devices have no host times" in result.stderr
    assert json.loads((tmp_path / "r.json").read_text())["metadata"]["zero_ns"] == 0


def test_launches_that_overlap_have_lines_of_their_own(tmp_path):
    """Two launches of one device at one time, of two streams."""
    make_run(tmp_path / "run", 2)
    files = sorted((tmp_path / "run").glob("*-d0-*"))
    entries = scan([str(file) for file in files]).entries
    a, b = plan(entries).launches
    together = plan([entries[0], replace(entries[0], digest=b"another launch")])
    assert [launch.slot for launch in together.launches] == [0, 1]
    assert (a.slot, b.slot) == (0, 0)


def test_one_broken_file_costs_no_other(run, tmp_path):
    (tmp_path / "broken.npz").write_bytes(b"PK nothing")
    result = invoke("merge", run[0], tmp_path / "broken.npz", "-o", tmp_path / "r.json", "--json")
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)["launches"]) == 12
    assert result.stderr.count("error[") == 1
    assert json.loads((tmp_path / "r.json").read_text())["metadata"]["n_launches"] == 12


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (["--select", "device=9"], 1, "error[MGT669]"),
        (["--align", "nothing"], 1, "error[MGT667]"),
        (["--order", "nothing:Init"], 1, "error[MGT667]"),
        (["--order", "nothing"], 2, "takes two regions"),
        (["--select", "sm=1"], 2, "takes launch="),
        (["--max-size", "lots"], 2, "takes a size"),
        (["--host-trace", "none.json"], 1, "error[MGT671]"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_no_file(run, tmp_path, args, status, said):
    result = invoke("merge", run[0], "-o", tmp_path / "r.json", *args)
    assert result.exit_code == status, result.stderr
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_the_output_format_is_known_before_anything_is_read(tmp_path):
    result = invoke("merge", FIXTURES / "golden", "-o", tmp_path / "run.txt")
    assert result.exit_code == 1
    assert result.stderr.startswith("error[MGT603]")


def test_times_of_the_host_are_in_the_native_trace(run, tmp_path):
    folder, true = run
    said = merged(folder, tmp_path / "run.pftrace")
    assert said["is_on_host"]
    assert min(true.values()) - EPOCH_NS < 10**7
    assert abs(said["zero_ns"] - min(true.values())) <= said["launches"][0]["uncertainty_ns"]
