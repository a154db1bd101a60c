"""``mgpu-trace query``: forms of an answer, files, findings, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow.parquet as pq
import pytest
from cli_support import FIXTURES, command, environment, invoke, is_one_error, process
from documented import schema

import mgpu_trace
from mgpu_trace.columns.fields import TABLES

GEMM = FIXTURES / "golden/hopper_gemm.npy"
WAVES = FIXTURES / "golden/waves.npy"
SQL = (
    "SELECT region, count(*) AS n, sum(dur_cyc) AS s, avg(dur_ns) AS mean FROM slices GROUP BY ALL ORDER BY 1"
)


def expected() -> list[dict[str, Any]]:
    timeline = mgpu_trace.load(GEMM)
    slices = timeline.slices
    found = []
    for i in np.unique(slices.name).tolist():
        mine = slices.dur_cyc[slices.name == i]
        mean = mine.mean() * timeline.clock.ns_per_cyc
        found.append({"region": timeline.spec.name_of(i), "n": len(mine), "s": int(mine.sum()), "mean": mean})
    return sorted(found, key=lambda row: str(row["region"]))


def same(found: list[dict[str, Any]]) -> bool:
    return [
        {**row, "n": int(row["n"]), "s": int(row["s"]), "mean": pytest.approx(float(row["mean"]))}
        for row in found
    ] == expected()


def test_json_is_one_object() -> None:
    result = invoke("query", SQL, GEMM, "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    jsonschema.validate(answer, schema("mgpu-trace/query"))
    assert (answer["schema"], answer["version"], answer["sql"]) == ("mgpu-trace/query", 1, SQL)
    assert answer["files"] == [{"file": str(GEMM), "clock": mgpu_trace.load(GEMM).clock.to_dict()}]
    assert answer["diagnostics"] == []
    assert answer["columns"] == [
        {"name": "region", "type": "string"},
        {"name": "n", "type": "int64"},
        {"name": "s", "type": "int64"},
        {"name": "mean", "type": "double"},
    ]
    assert same(answer["rows"])


def test_csv_and_parquet_hold_the_same(tmp_path: Path) -> None:
    assert same(list(csv.DictReader(io.StringIO(invoke("query", SQL, GEMM, "--csv").stdout))))
    for name, more in (("a.csv", []), ("b", ["--format", "csv"])):
        assert invoke("query", SQL, GEMM, "-o", tmp_path / name, *more).exit_code == 0
        assert same(list(csv.DictReader(io.StringIO((tmp_path / name).read_text()))))
    result = invoke("query", SQL, GEMM, "-o", tmp_path / "x.parquet")
    assert (result.exit_code, result.stdout) == (0, "")
    table = pq.read_table(tmp_path / "x.parquet")
    assert same(table.to_pylist())
    about = json.loads(table.schema.metadata[b"mgpu-trace"])
    assert about["sql"] == SQL
    assert about["files"][0]["clock"]["sm_clock_mhz"] == 1980.0


def test_a_table_for_people_in_a_pipe(tmp_path: Path) -> None:
    done = process("query", SQL, GEMM)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert lines[0].split() == ["region", "n", "s", "mean"]
    assert [line.split()[:3] for line in lines[1:]] == [
        [str(row["region"]), str(row["n"]), str(row["s"])] for row in expected()
    ]
    assert invoke("query", SQL, GEMM, "-o", tmp_path / "x.txt").exit_code == 0
    assert (tmp_path / "x.txt").read_bytes() == done.stdout


def test_several_files_and_folders() -> None:
    sql = "SELECT file, count(*) n FROM slices GROUP BY ALL ORDER BY file"
    both = json.loads(invoke("query", sql, GEMM, WAVES, "--json").stdout)
    assert both["rows"] == [
        {"file": str(path), "n": len(mgpu_trace.load(path).slices)} for path in (GEMM, WAVES)
    ]
    assert [f["file"] for f in both["files"]] == [str(GEMM), str(WAVES)]
    folder = json.loads(invoke("query", sql, FIXTURES / "golden", "--json").stdout)
    assert len(folder["rows"]) == len(list((FIXTURES / "golden").glob("*.npy")))


def test_a_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "bad.npy").write_bytes(b"no array")
    result = invoke("query", SQL, tmp_path / "bad.npy", GEMM, "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert same(answer["rows"])
    assert [f["file"] for f in answer["files"]] == [str(GEMM)]
    assert [d["severity"] for d in answer["diagnostics"]] == ["error"]
    assert "bad.npy" in result.stderr
    alone = invoke("query", SQL, tmp_path / "bad.npy")
    assert (alone.exit_code, alone.stdout) == (1, "")
    assert alone.stderr.startswith("error[MGT1")


def test_broken_tracks_are_told_and_the_others_answer() -> None:
    bad = sorted((FIXTURES / "bad").glob("MGT303-*.npy"))
    assert bad
    result = invoke("query", "SELECT count(*) n, sum(broken::INT) b FROM tracks", bad[0], "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["rows"][0]["b"] >= 1
    assert "MGT303" in [d["code"] for d in answer["diagnostics"]]
    assert "error[MGT303]" in result.stderr


def test_nothing_selected_is_an_answer() -> None:
    result = invoke("query", "SELECT region FROM slices", GEMM, "--select", "sm=999", "--csv")
    assert (result.exit_code, result.stdout) == (0, "region\n")
    assert "warning[MGT605]" in result.stderr


def test_flags_are_those_of_dump(tmp_path: Path) -> None:
    words = tmp_path / "bare.npy"
    np.save(words, np.load(GEMM))
    sql = "SELECT region, role, sm_clock_mhz FROM slices, launch WHERE unit = 0 LIMIT 1"
    flags = ["--grid", "4,2", "--block", 384, "--names", "first,second", "--sm-clock-mhz", 1000]
    flags += ["--role", "0=tma", "--select", "name=first"]
    (row,) = json.loads(invoke("query", sql, words, *flags, "--json").stdout)["rows"]
    assert row == {"region": "first", "role": "tma", "sm_clock_mhz": 1000.0}
    removed = "SELECT sum(removed_cyc) r FROM slices"
    (row,) = json.loads(invoke("query", removed, GEMM, "--overhead", 3, "--json").stdout)["rows"]
    assert row["r"] > 0


def test_without_a_rate_nanoseconds_are_not_known(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.array([5, 1, 4, 0, 10, 1 << 31, 30], np.uint32))
    sql = "SELECT dur_cyc, begin_ns, end_ns, dur_ns, duration_ns, first_ns FROM slices, launch, tracks"
    flags = ["--grid", 1, "--block", 128, "--json"]
    answer = json.loads(invoke("query", sql, tmp_path / "one.npy", *flags).stdout)
    names = ("begin_ns", "end_ns", "dur_ns", "duration_ns", "first_ns")
    assert answer["rows"] == [{"dur_cyc": 20, **dict.fromkeys(names)}]
    assert answer["files"][0]["clock"]["sm_clock_mhz"] is None


def test_standard_input() -> None:
    done = process("query", "SELECT count(*) AS n FROM slices", "-", "--csv", input=GEMM.read_bytes())
    assert done.stdout.splitlines()[0] == b"n"
    assert int(done.stdout.splitlines()[1]) > 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["SELECT 1"], "Missing argument 'FILE...'"),
        ([SQL, GEMM, "--format", "parquet"], "give -o NAME.parquet"),
        ([SQL, GEMM, "--format", "parquet", "-o", "-"], "give -o NAME.parquet"),
        ([SQL, GEMM, "--csv", "-o", "x.json"], "contradict each other"),
        ([SQL, GEMM, "--format", "xlsx"], "'xlsx' is not one of"),
        ([SQL, GEMM, "--role", "9=x"], "a block has the units 0 to 2"),
        ([SQL, GEMM, "--select", "smm=1"], "unknown key"),
    ],
)
def test_wrong_command_lines(args: list[object], said: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("query", *args)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT regio FROM slices", "MGT630"),
        ("SELEC", "MGT630"),
        ("DROP VIEW slices", "MGT632"),
        ("", "MGT632"),
    ],
)
def test_errors_of_sql_are_one_line_and_come_first(sql: str, code: str, tmp_path: Path) -> None:
    """Before a file is looked at: there is none here."""
    result = invoke("query", sql, tmp_path / "missing.npy", "-o", tmp_path / "x.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert is_one_error(result.stderr, code)
    assert not list(tmp_path.iterdir())


def test_an_error_while_it_runs_leaves_no_file(tmp_path: Path) -> None:
    result = invoke("query", "SELECT region::INT FROM slices", GEMM, "-o", tmp_path / "x.csv")
    assert result.exit_code == 1
    assert is_one_error(result.stderr, "MGT630")
    assert not list(tmp_path.iterdir())


def test_help_and_schema_have_every_column() -> None:
    shown = invoke("query", "--help").stdout
    listed = [line.split() for line in invoke("query", "--schema").stdout.splitlines()[1:]]
    for table, fields in TABLES.items():
        names = [field.name for field in fields]
        assert f"{table:<8}{names[0]}" in shown
        assert all(name in shown for name in names)
        assert [line[1] for line in listed if line[0] == table] == names


def test_types_of_the_schema_are_those_of_duckdb() -> None:
    listed = [line.split()[:3] for line in invoke("query", "--schema").stdout.splitlines()[1:]]
    for table in TABLES:
        rows = json.loads(invoke("query", f"DESCRIBE {table}", GEMM, "--json").stdout)["rows"]
        said = [(row["column_name"], row["column_type"]) for row in rows]
        assert said == [(name, kind) for of, name, kind in listed if of == table]


def test_a_plan_is_shown_as_duckdb_draws_it() -> None:
    lines = invoke("query", "EXPLAIN SELECT region FROM slices", GEMM).stdout.splitlines()
    assert len(lines) > 3
    assert any("region" in line for line in lines)


def test_a_closed_pipe_is_no_error() -> None:
    reader = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    sql = "SELECT * FROM slices, range(2000)"
    done = process("query", sql, GEMM, "--csv", stdout=reader.stdin)
    assert reader.stdin is not None
    reader.stdin.close()
    reader.wait()
    assert (done.returncode, done.stderr) == (141, b"")


def test_ctrl_c_ends_a_long_query(tmp_path: Path) -> None:
    sql = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range = -1"
    args = command("query", sql, GEMM, "-o", tmp_path / "x.csv")
    running = subprocess.Popen(args, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(3)
    assert running.poll() is None
    os.kill(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (130, b"", b"")
    assert not list(tmp_path.iterdir())


def test_help_loads_nothing_large() -> None:
    heavy = ("numpy", "rich", "duckdb", "pyarrow", "mgpu_trace.pipeline")
    code = f"""
import sys
from mgpu_trace_cli.main import main
try:
    main(["query", "--help"])
except SystemExit as exit_:
    assert exit_.code == 0, exit_.code
sys.exit(" ".join(m for m in {heavy!r} if m in sys.modules) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
