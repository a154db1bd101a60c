"""``mgpu-trace stats`` as people and programs see it."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from cli_support import FIXTURES, command, environment, invoke, is_one_error, process
from documented import schema
from rich.cells import cell_len
from terminal import on_terminal, strict

import mgpu_trace

GEMM = FIXTURES / "golden" / "hopper_gemm.npy"
# What a person's terminal, a shell or a spreadsheet could trip over.
NAMES = ["a,b", 'say "hi"', "two\nlines", "\x1b[2J", "[red]", "名前", "", "x" * 300]


def answered(*args: object) -> Any:
    result = invoke("stats", *args, "--json")
    assert result.exit_code == 0, result.stderr
    found = strict(result.stdout)
    jsonschema.validate(found, schema("mgpu-trace/stats"))
    return found


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """A launch of one track, whose regions have all of NAMES and last 10, 20, 30, ... cycles."""
    words, clock = [0, 0, 4 * len(NAMES)], 0
    for i in range(len(NAMES)):
        words += [i, clock, i | 2**31, clock + 10 * (i + 1)]
        clock += 10 * (i + 2)
    path = tmp_path / "named.npy"
    np.save(path, np.array(words, np.uint32))
    spec = mgpu_trace.TraceSpec(
        grid=(1, 1, 1),
        block=(128, 1, 1),
        words_per_track=len(words),
        names=tuple(NAMES),
        bounds_checked=False,
    )
    path.with_suffix(".json").write_text(json.dumps(spec.to_dict()))
    return path


def test_a_table_in_a_pipe() -> None:
    result = invoke("stats", GEMM)
    clock, tracks, head, *rows = result.stdout.splitlines()
    assert result.exit_code == 0
    assert clock.startswith("SM clock 1980 MHz, from the spec")
    assert tracks.startswith("24 tracks, 200 slices, in 3834.3 ns; shares are of the tracks' ")
    assert "n_unclosed" not in head
    table = mgpu_trace.stats(mgpu_trace.load(GEMM))
    assert len(rows) == len(table)
    for line, row in zip(rows, table.rows(), strict=True):
        region, *cells = line.split()
        assert region == row["region"]
        for name, cell in zip(head.split()[1:], cells, strict=True):
            value = 100 * row[name] if name.endswith("share") else row[name]
            assert float(cell.rstrip("%")) == pytest.approx(value, abs=0.051, rel=0)
    assert "prologue_mean_ns" in invoke("stats", GEMM, "--wide").stdout.splitlines()[2]


@pytest.mark.parametrize(
    "args", [(), ("--by", "role,phase", "--role", "0=tma"), ("--steady",), ("--unit", "cyc")]
)
def test_json_and_csv_are_the_table_of_the_library(args: tuple[str, ...]) -> None:
    found = answered(GEMM, *args)
    by = args[1].split(",") if args[:1] == ("--by",) else ["region"]
    table = mgpu_trace.stats(
        mgpu_trace.open_launch(GEMM),
        by=by,
        steady="--steady" in args,
        unit="cyc" if "cyc" in args else "auto",
        roles={0: "tma"} if "--role" in args else None,
    )
    assert found["rows"] == table.rows()
    assert {name: found[name] for name in table.facts} == table.facts
    assert (found["file"], found["clock"]["sm_clock_mhz"]) == (str(GEMM), 1980.0)
    rows = list(csv.DictReader(io.StringIO(invoke("stats", GEMM, *args, "--csv").stdout)))
    assert rows == [{k: "" if v is None else str(v) for k, v in row.items()} for row in table.rows()]


def test_names_that_csv_must_quote(named: Path) -> None:
    done = process("stats", named, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))
    assert done.returncode == 0
    assert {row["region"]: float(row["total_cyc"]) for row in rows} == {
        name: 10.0 * (i + 1) for i, name in enumerate(NAMES)
    }


@pytest.mark.parametrize("form", [(), ("--csv",), ("--json",), ("--hist", "*"), ("--wide",)])
def test_no_name_moves_the_cursor(named: Path, form: tuple[str, ...]) -> None:
    lines, status = on_terminal(80, "stats", named, *form)
    assert status == 0
    assert not any("\x1b" in line for line in lines)
    assert any("\\x1b[2J" in line or "\\u001b[2J" in line for line in lines)


@pytest.mark.parametrize("columns", [60, 80, 100, 130])
@pytest.mark.parametrize("args", [(), ("--by", "role,region,phase", "--role", "0=tma", "--role", "1,2=mma")])
def test_the_table_fits_the_terminal_and_no_number_is_cut(columns: int, args: tuple[str, ...]) -> None:
    lines, status = on_terminal(columns, "stats", GEMM, *args)
    assert status == 0
    assert max(map(cell_len, lines)) <= columns
    table = mgpu_trace.stats(
        mgpu_trace.open_launch(GEMM),
        by=args[1].split(",") if args else ["region"],
        roles={0: "tma", 1: "mma", 2: "mma"},
    )
    rule = next(i for i, line in enumerate(lines) if line.startswith("───"))
    for line, row in zip(lines[rule + 1 :], table.rows(), strict=False):
        cells = line.split()
        assert cells[: len(table.facts["by"])] == [row[key] for key in table.facts["by"]]
        assert {str(row["count"]), f"{row['self_ns']:.1f}", f"{100 * row['self_share']:.1f}%"} <= {*cells}
    said = " ".join(lines[rule + 1 + len(table) :])
    missing = re.match(r"no room for (.*); --csv and --json have all columns", said)
    n_shown = len(lines[rule + 1].split()) + (len(missing[1].split(", ")) if missing else 0)
    assert n_shown == len(table.columns) - 4  # the means by phase, and the unclosed: there are none
    assert (missing is None) == (columns == 130)


def test_all_columns_of_a_narrow_terminal() -> None:
    lines, _ = on_terminal(60, "stats", GEMM, "--wide")
    table = mgpu_trace.stats(mgpu_trace.open_launch(GEMM))
    row = next(line for line in lines if line.startswith("wgmma"))
    assert len(row.split()) == len(table.columns)
    assert not any(line.startswith("no room") for line in lines)


def test_long_names_are_folded_and_leave_the_numbers_room(named: Path) -> None:
    lines, _ = on_terminal(70, "stats", named)
    assert max(map(cell_len, lines)) <= 70
    folded = [line for line in lines if line.startswith("xx")]
    assert "".join(line.split()[0] for line in folded) == "x" * 99 + "…"
    assert "80.0" in folded[-1].split()


def test_thousands_of_rows_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "many.npz"
    invoke("synth", "-o", path, "--grid", 100, "--iterations", 1)
    args = ("stats", path, "--by", "region,block")
    lines, _ = on_terminal(100, *args)
    n = len(answered(*args[1:])["rows"])
    assert n > 200
    assert lines[-1] == f"the first 200 of {n} rows; a pipe, --csv and --json have all"
    assert len(invoke(*args).stdout.splitlines()) == 3 + n


def test_times_of_a_long_column_have_no_tenths(tmp_path: Path) -> None:
    path = tmp_path / "long.npz"
    invoke("synth", "-o", path, "--grid", 100, "--iterations", 60)
    head, *rows = invoke("stats", path).stdout.splitlines()[2:]
    first = dict(zip(head.split(), rows[0].split(), strict=True))
    last = dict(zip(head.split(), rows[-1].split(), strict=True))
    assert first["total_ns"].isdigit()
    assert last["total_ns"].isdigit()
    assert "." in first["mean_ns"]


@pytest.mark.parametrize(
    ("sort", "by", "ascends"),
    [
        ("total", "region", False),
        ("max_ns", "region", False),
        ("count_cyc", "region", False),
        ("cv", "region", False),
        ("prologue_mean", "region", False),
        ("region", "region", True),
        ("sm", "sm,region", True),
        ("block", "block", True),
        ("phase", "phase", True),
    ],
)
def test_sort(sort: str, by: str, ascends: bool, tmp_path: Path) -> None:
    path = tmp_path / "many.npz"
    invoke("synth", "-o", path, "--grid", 12)
    found = answered(path, "--by", by, "--sort", sort)
    name = next(n for n in (sort, f"{sort}_ns", sort.removesuffix("_cyc")) if n in found["rows"][0])
    values = [row[name] for row in found["rows"]]
    there = [value for value in values if value is not None]
    assert values == there + [None] * (len(values) - len(there))  # what is not there comes last
    if sort == "block":
        assert there == [f"{x},0,0" for x in range(12)]
    elif sort == "phase":
        assert there == ["only", "prologue", "steady", "epilogue"]
    else:
        assert there == sorted(there, reverse=not ascends)


def test_a_histogram_of_bars() -> None:
    result = invoke("stats", GEMM, "--hist", "w*", "--unit", "cyc", "--steady")
    _, said, *bars = result.stdout.splitlines()
    table = mgpu_trace.histogram(mgpu_trace.load(GEMM), "w*", steady=True, unit="cyc")
    assert said == f"wait, wgmma: {table.facts['n_slices']} slices, by duration in cyc"
    assert [line.split()[:2] for line in bars[:-1]] == [
        [str(row["from_cyc"]), str(row["count"])] for row in table.rows()
    ]
    assert bars[-1].split() == [str(table["to_cyc"][-1])]
    longest = max(bars, key=len)
    assert longest.split()[1] == str(max(table["count"]))
    assert longest.endswith("█" * 40)
    assert (
        strict(invoke("stats", GEMM, "--hist", "wait", "--json").stdout)["schema"] == "mgpu-trace/histogram"
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--by", "warp"], "region, unit, role, sm, block, index, phase"),
        (["--by", ""], "region, unit, role"),
        (["--by", "sm,sm"], "region, unit, role"),
        (["--sort", "p95"], "--sort takes a column of the answer: region, count, total, self, mean, p50"),
        (["--sort", "sm"], "--sort takes a column of the answer: region, count"),
        (["--json", "--csv"], "give one of them"),
        (["--role", "0=a", "--role", "0=b"], "two names"),
        (["--select", "warp=1"], "unknown key"),
        (["--hist", "wait", "--by", "sm"], "not with --by, --sort or --wide"),
        (["--hist", "wait", "--wide"], "not with --by, --sort or --wide"),
        (["--unit", "us"], "--unit"),
    ],
)
def test_a_wrong_command_line_is_said_before_the_file_is_read(
    args: list[str], said: str, tmp_path: Path
) -> None:
    result = invoke("stats", tmp_path / "there-is-none.npy", *args)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert not result.stdout


def test_a_role_of_no_unit() -> None:
    result = invoke("stats", GEMM, "--role", "3=x")
    assert (result.exit_code, "a block has the units 0 to 2" in result.stderr) == (2, True)


def test_without_a_rate(named: Path) -> None:
    result = invoke("stats", named, "--unit", "ns")
    assert (result.exit_code, result.stdout) == (1, "")
    assert is_one_error(result.stderr, "MGT640")
    assert "--sm-clock-mhz" in result.stderr
    found = answered(named)
    assert (found["unit"], found["clock"]["sm_clock_mhz"]) == ("cyc", None)
    assert not [name for name in found["rows"][0] if name.endswith("_ns")]
    assert answered(named, "--sm-clock-mhz", 1000, "--unit", "ns")["rows"][0]["total_ns"] == 80.0


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",)])
def test_a_region_that_there_is_not(form: tuple[str, ...]) -> None:
    result = invoke("stats", GEMM, "--hist", "tma-wait", *form)
    assert (result.exit_code, result.stdout) == (1, "")
    assert is_one_error(result.stderr, "MGT641")
    assert "nearest: tma_wait" in result.stderr


def test_no_slices(tmp_path: Path) -> None:
    """Nothing selected; nothing recorded; every track broken. Each is said, and none is a traceback."""
    result = invoke("stats", GEMM, "--select", "name=nothing")
    assert result.stdout.splitlines()[-1] == "no slices"
    assert "MGT406" in result.stderr or "no slice matches" in result.stderr
    spec = mgpu_trace.load(GEMM).spec
    for header, code in ((0, "MGT305"), (2**32 - 5, "MGT304")):
        words = np.load(GEMM).reshape(spec.n_tracks, -1).copy()
        words[:, 2] = header
        np.save(tmp_path / "x.npy", words.reshape(-1))
        (tmp_path / "x.json").write_text(json.dumps(spec.to_dict()))
        result = invoke("stats", tmp_path / "x.npy")
        assert result.exit_code == 1
        assert result.stdout.splitlines()[-1] == "no slices"
        assert f"error[{code}]" in result.stderr
        found = invoke("stats", tmp_path / "x.npy", "--json")
        assert strict(found.stdout)["rows"] == []
        assert code in [finding["code"] for finding in strict(found.stdout)["diagnostics"]]
        assert invoke("stats", tmp_path / "x.npy", "--csv").stdout.splitlines()[0].startswith("region,count,")
        assert invoke("stats", tmp_path / "x.npy", "--allow-empty").exit_code == int(code == "MGT304")
        assert is_one_error_among(invoke("stats", tmp_path / "x.npy", "--hist", "wait").stderr, "MGT641")


def is_one_error_among(stderr: str, code: str) -> bool:
    return stderr.count(f"error[{code}]") == 1 and "Traceback" not in stderr


def test_a_broken_track_leaves_the_answer_about_the_others(broken: Path) -> None:
    result = invoke("stats", broken, "--json")
    assert result.exit_code == 1
    found = strict(result.stdout)
    assert {"MGT301", "MGT302"} <= {finding["code"] for finding in found["diagnostics"]}
    assert len(found["rows"]) > 3


def test_rounded_percentiles_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_MAX_SINGLE", 0), ("_MAX_COUNTED", 8), ("_SHORT_CYC", 1), ("_KEPT_BITS", 4)):
        monkeypatch.setattr(f"mgpu_trace.analyse.durations.{name}", value)
    result = invoke("stats", GEMM)
    assert result.exit_code == 0
    assert "info[MGT642]" in result.stderr


def test_a_reader_that_has_seen_enough(big: Path) -> None:
    for form in ("--csv", "--json"):
        args, pipe = command("stats", big, "--by", "region,block,unit,index", form), subprocess.PIPE
        with subprocess.Popen(args, env=environment(), stdout=pipe, stderr=pipe) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            child.stdout.read(10)
            child.stdout.close()
            assert child.stderr.read() == b""
        assert child.returncode == 141
