"""``dump`` to Parquet, Arrow and CSV: where they go, and what their formats do not have."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from cli_support import FIXTURES, invoke, is_one_error, process

import mgpu_trace

GEMM = FIXTURES / "golden/hopper_gemm.npy"
WAVES = FIXTURES / "golden/waves.npy"


def test_a_file_of_each_format(tmp_path: Path) -> None:
    rows = mgpu_trace.load(GEMM).to_arrow().to_pylist()
    for name in ("x.parquet", "x.ARROW", "x.csv", "x.csv.gz"):
        result = invoke("dump", GEMM, "-o", tmp_path / name)
        assert (result.exit_code, result.stdout) == (0, "")
        summary, wrote = result.stderr.splitlines()
        assert summary.startswith("24 tracks, 200 slices, 0 dropped")
        assert wrote == f"wrote {tmp_path / name}"
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == rows
    assert ipc.open_file((tmp_path / "x.ARROW").read_bytes()).read_all().to_pylist() == rows
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 1 + len(rows)


def test_in_a_pipe_and_into_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = mgpu_trace.load(GEMM).to_arrow().to_pylist()
    parquet, arrow = (process("dump", GEMM, "--format", name).stdout for name in ("parquet", "arrow"))
    assert pq.read_table(io.BytesIO(parquet)).to_pylist() == rows
    assert ipc.open_file(arrow).read_all().to_pylist() == rows
    monkeypatch.chdir(tmp_path)
    assert invoke("dump", GEMM, WAVES, "--format", "parquet").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hopper_gemm.slices.parquet",
        "waves.slices.parquet",
    ]


def test_what_is_asked_for_besides(tmp_path: Path) -> None:
    more = ["--args", "cycles,index", "--role", "0=tma", "--overhead", 2, "--select", "sm=0-1"]
    assert invoke("dump", GEMM, "-o", tmp_path / "x.parquet", *more).exit_code == 0
    table = pq.read_table(tmp_path / "x.parquet")
    assert {"role", "index", "removed_cyc"} <= set(table.column_names)
    assert set(table["sm"].to_pylist()) == {0, 1}
    assert set(table["role"].to_pylist()) == {"tma", None}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["-o", "x.parquet", "--group-by", "block"], "a table has none"),
        (["-o", "x.arrow", "--no-lanes"], "a table has none"),
        (["-o", "x.csv", "--counters", "sm"], "Perfetto's own format"),
        (["-o", "x.parquet", "--base", "zero"], "Perfetto's own format"),
        (["-o", "x.parquet", "--compat", "jax"], "writes JSON"),
        (["-o", "x.parquet", "--format", "csv"], "contradict each other"),
    ],
)
def test_what_a_table_does_not_have(args: list[str], said: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("dump", GEMM, *args)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())


def test_a_broken_launch_is_still_a_table(tmp_path: Path) -> None:
    (bad,) = (FIXTURES / "bad").glob("MGT303-*.npy")
    result = invoke("dump", bad, "-o", tmp_path / "x.parquet")
    assert result.exit_code == 1
    assert "error[MGT303]" in result.stderr
    assert pq.read_table(tmp_path / "x.parquet").num_rows == len(mgpu_trace.load(bad).slices)
    (tmp_path / "x.parquet").unlink()
    assert invoke("dump", bad, "-o", tmp_path / "x.parquet", "--strict").exit_code == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["parquet", "arrow", "csv"])
def test_a_full_disk_is_one_line(name: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = process("dump", FIXTURES / "golden/waves.npy", "--format", name, "--quiet", stdout=full)
    assert done.returncode == 1
    assert is_one_error(done.stderr, "MGT602"), done.stderr
