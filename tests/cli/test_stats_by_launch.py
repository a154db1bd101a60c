"""``stats`` of many launches: each row is what ``stats`` says of that launch alone."""

import csv
import io
import json
from dataclasses import replace

import pytest
from cli_support import FIXTURES, invoke

from mgpu_trace.read import write_npz
from mgpu_trace.synth import SynthConfig, synthesise


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Eight launches of two kernels; the first of gemm is slow."""
    place = tmp_path_factory.mktemp("run")
    for i in range(8):
        for kernel in ("gemm", "softmax"):
            slow = 3 if (i, kernel) == (0, "gemm") else 1
            made = synthesise(SynthConfig(kernel=kernel, n_iterations=4 * slow), seed=i)
            spec = replace(made.buffer.spec, launch=i, device_id=0, process=0)
            write_npz(place / f"{kernel}-{i}.npz", made.buffer.words.reshape(-1), spec)
    return place


def test_each_row_is_what_stats_says_of_that_launch(run):
    result = invoke("stats", run, "--by", "launch,region", "--json", "--jobs", 2)
    assert result.exit_code == 0, result.stderr
    whole = json.loads(result.stdout)
    assert whole["schema"] == "mgpu-trace/launches"
    for path in sorted(run.iterdir()):
        alone = json.loads(invoke("stats", path, "--json").stdout)["rows"]
        mine = [row for row in whole["rows"] if row["file"] == str(path)]
        assert [{key: row[key] for key in alone[0]} for row in mine] == alone
        assert {row["launch"] for row in mine} == {int(path.stem[-1])}


def test_one_row_for_each_launch_in_their_order_and_the_slow_one_is_warm_up(run):
    whole = json.loads(invoke("stats", run, "--json").stdout)
    assert [row["launch"] for row in whole["rows"]] == [*range(8), *range(8)]
    assert [row["state"] for row in whole["rows"]] == ["warm-up"] + ["steady"] * 15
    assert [(c["kernel"], c["n_launches"], c["n_warm_up"]) for c in whole["courses"]] == [
        ("gemm", 8, 1),
        ("softmax", 8, 0),
    ]
    for row in whole["rows"]:
        assert row["dur_ns"] == json.loads(invoke("stats", row["file"], "--json").stdout)["launch_ns"]


def test_jobs_change_nothing(run):
    one, two = (invoke("stats", run, "--csv", "--jobs", jobs).stdout for jobs in (1, 3))
    assert one == two
    assert len(list(csv.DictReader(io.StringIO(one)))) == 16


def test_for_people(run):
    result = invoke("stats", run)
    assert "gemm on device 0: 8 launches, " in result.stdout
    assert "1 in warm-up" in result.stdout


def test_a_file_that_is_none_is_reported_and_costs_no_other(run, tmp_path):
    (tmp_path / "none.npz").write_bytes(b"nothing")
    result = invoke("stats", run, tmp_path / "none.npz", "--json")
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)["rows"]) == 16
    assert "none.npz" in result.stderr


def test_no_file_can_be_read(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"nothing")
    (tmp_path / "b.npz").write_bytes(b"")
    result = invoke("stats", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.count("error[") == 2
    assert result.stdout == ""


@pytest.mark.parametrize("more", [["--by", "region"], ["--sort", "count"], ["--hist", "mma"], ["--wide"]])
def test_what_is_of_one_launch_is_refused_for_several(run, more):
    result = invoke("stats", run, *more)
    assert result.exit_code == 2
    assert "several launches: with --by launch" in result.stderr


def test_one_launch_without_a_number():
    path = FIXTURES / "golden/hopper_gemm.npy"
    row = json.loads(invoke("stats", path, "--by", "launch", "--json").stdout)["rows"][0]
    assert (row["launch"], row["state"]) == (None, "steady")


def test_a_launch_without_a_clock_among_others_is_no_row_of_nanoseconds(run, tmp_path):
    made = synthesise(SynthConfig(grid=(1, 1, 1), state_clock=False))
    write_npz(tmp_path / "one.npz", made.buffer.words.reshape(-1), made.buffer.spec)
    assert "dur_cyc" in invoke("stats", tmp_path / "one.npz", "--by", "launch", "--csv").stdout
    result = invoke("stats", run, tmp_path / "one.npz")
    assert result.exit_code == 2
    assert "some have none: --unit cyc" in result.stderr
    rows = json.loads(invoke("stats", run, tmp_path / "one.npz", "--unit", "cyc", "--json").stdout)["rows"]
    assert len(rows) == 17
