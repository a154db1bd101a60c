"""``merge_files``: what the command does, from Python."""

import json

import pytest
from cli_support import invoke
from made_run import make_run

import mgpu_trace
from mgpu_trace.diagnostics import MgpuTraceError
from mgpu_trace.merge import merge_files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return sorted(make_run(tmp_path_factory.mktemp("runs") / "run", 3))


@pytest.mark.parametrize("suffix", ["json", "json.gz", "pftrace"])
def test_it_writes_what_the_command_does(files, tmp_path, suffix):
    ours, theirs = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    merged = merge_files(files, ours, align="store", order=("Init", "store"), jobs=2)
    result = invoke(
        *("merge", *files, "-o", theirs, "--align", "store", "--order", "Init:store", "--json", "--jobs", 1)
    )
    assert ours.read_bytes() == theirs.read_bytes()
    assert [finding.to_dict() for finding in merged.report] == json.loads(result.stdout)["diagnostics"]
    assert merged.plan.notes["order"]["n"] > 0
    assert [part.path for part in merged.parts] == [str(ours)]


def test_what_is_known_is_told_before_anything_is_written(files, tmp_path):
    told = []

    def on_plan(merged):
        assert not [*tmp_path.iterdir()]
        told.append(sum(part.predicted_bytes for part in merged.parts))

    merged = merge_files(files, tmp_path / "r.json", max_bytes=100_000, on_plan=on_plan)
    assert told[0] > 100_000
    assert {path.name for path in tmp_path.iterdir()} == {
        f"r.part{i + 1}of{len(merged.parts)}.json" for i in range(len(merged.parts))
    }


def test_some_of_them_and_nothing_written(files, tmp_path):
    merged = merge_files(files, tmp_path / "r.json", keep=lambda entry: entry.kernel == "gemm", dry_run=True)
    kernels = [mgpu_trace.load(file).spec.kernel for file in files]
    assert len(merged.plan.launches) == kernels.count("gemm") > 0
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("output", "more"),
    [
        ("r.parquet", {}),
        ("r.pftrace", {"host_trace": "h.json"}),
        ("r.json", {"host_trace": "h", "max_bytes": 9}),
    ],
)
def test_an_output_that_cannot_hold_it_is_refused_before_anything_is_read(tmp_path, output, more):
    with pytest.raises(ValueError, match="a merged trace is JSON or"):
        merge_files(["none.npz"], tmp_path / output, **more)


def test_no_launch_at_all_is_every_reason(tmp_path):
    with pytest.raises(ExceptionGroup) as raised:
        merge_files([tmp_path / "a.npz", tmp_path / "b.npz"], tmp_path / "r.json")
    assert [error.diagnostic.code.id for error in raised.value.exceptions] == ["MGT101"] * 2
    assert all(isinstance(error, MgpuTraceError) for error in raised.value.exceptions)


def test_on_a_full_disk_there_is_one_line(files):
    result = invoke("merge", *files, "-o", "/dev/full", "--align", "store")
    assert result.exit_code == 1
    assert "error[MGT60" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_table_is_no_trace(files, tmp_path):
    result = invoke("merge", *files, "-o", tmp_path / "r.parquet")
    assert result.exit_code == 2
    assert not [*tmp_path.iterdir()]
