"""``mgpu-trace balance`` as people and programs see it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cli_support import FIXTURES, environment, invoke, is_one_error, process
from documented import schema
from hostile import hostile, saved
from rich.cells import cell_len
from terminal import on_terminal, strict

import mgpu_trace

GEMM = FIXTURES / "golden" / "hopper_gemm.npy"


def answered(*args: object, status: int = 0) -> Any:
    result = invoke("balance", *args, "--json")
    assert result.exit_code == status, result.stderr
    found = strict(result.stdout)
    jsonschema.validate(found, schema("mgpu-trace/balance"))
    return found


@pytest.fixture
def uneven(tmp_path: Path) -> Path:
    """Two SMs; the last of three blocks on SM 1 takes 260 cycles instead of 100."""
    blocks = [(0, 0, 100), (1, 0, 100), (0, 100, 200), (1, 100, 200), (0, 200, 300), (1, 200, 460)]
    tracks = [(1000 + begin, sm, [(0, begin, end)]) for sm, begin, end in blocks]
    return saved(tmp_path / "uneven.npy", tracks, n_sms=132)


def test_a_picture_and_a_table_in_a_pipe(uneven: Path) -> None:
    result = invoke("balance", uneven, "--width", 30)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == [
        "6 blocks on 2 SMs, in 460.0 ns; at most 1 block at once on an SM: 3.00 waves; "
        "130 of the device's 132 SMs recorded nothing",
        "first blocks begin within 0.0 ns, not more than the 100 ns to which SMs are aligned; "
        "tail of 160.0 ns, 17.4% of the SMs' time; idle 17.4% of the SMs' time",
        "1 straggler beyond 1.5 times the median block, 100.0 ns: block (5,0,0) on SM 1 260.0 ns, 2.6 times",
        "",
        "tracks in regions at once on an SM: █ is 1; a column is 20 ns; time in ns since the first event",
        "SM 0 │███████████████        │",
        "SM 1 │███████████████████████│",
        "      |0   |100 |200 |300",
        "",
        "sm  blocks  resident  waves  first_start_ns  last_end_ns  busy_ns  idle_ns  tail_ns  busy_share  "
        "active  stragglers",
        " 0       3         1      3             0.0        300.0    300.0    160.0    160.0       65.2%  "
        "   0.7           0",
        " 1       3         1      3             0.0        460.0    460.0      0.0      0.0      100.0%  "
        "   1.0           1",
    ]


def test_shades(tmp_path: Path) -> None:
    """Columns of 128 cycles in which 0, 1, 32, 33, 64, 96, 97 and 128 of them are in a region."""
    n = (0, 1, 32, 33, 64, 96, 97, 128)
    slices = [(0, 128 * i, 128 * i + cyc) for i, cyc in enumerate(n) if cyc]
    path = saved(tmp_path / "shades.npy", [(1000, 0, [(0, 0, 0), *slices, (0, 2048, 2048)])])
    lines = invoke("balance", path, "--width", 23, "--unit", "cyc").stdout.splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith("SM 0 ")]
    assert "a column is 128 cycles" in lines[at - 1]
    assert lines[at] == "SM 0 │ ░░▒▒▓██        │"
    assert lines[at + 1] == "      |0     |1000"


@pytest.mark.parametrize(
    "args", [(), ("--unit", "cyc"), ("--select", "sm=1"), ("--select", "name=wgmma", "--straggler", "1.01")]
)
def test_json_and_csv_are_the_table_of_the_library(args: tuple[str, ...]) -> None:
    found = answered(GEMM, *args)
    launch = mgpu_trace.open_launch(GEMM)
    launch.selection = mgpu_trace.parse_selection([args[1]] if "--select" in args else [])
    times = 1.01 if "--straggler" in args else 1.5
    table = mgpu_trace.balance(launch, straggler=times, unit="cyc" if "cyc" in args else "auto")
    assert found["rows"] == table.rows()
    assert {name: found[name] for name in table.facts} == table.facts
    rows = list(csv.DictReader(io.StringIO(invoke("balance", GEMM, *args, "--csv").stdout)))
    assert rows == [{k: "" if v is None else str(v) for k, v in row.items()} for row in table.rows()]


@pytest.mark.parametrize("sort", ["tail", "tail_ns", "stragglers", "busy_share", "sm"])
def test_sort(sort: str) -> None:
    rows = answered(GEMM, "--sort", sort, "--straggler", "1.01")["rows"]
    column = sort if sort in rows[0] else f"{sort}_ns"
    values = [row[column] for row in rows]
    assert values == sorted(values, reverse=sort != "sm")
    assert {*values} != {values[0]}


@pytest.mark.parametrize("columns", [20, 33, 80, 200])
def test_no_line_is_wider_than_the_terminal(columns: int, tmp_path: Path) -> None:
    for what, path in hostile(tmp_path).items():
        lines, status = on_terminal(columns, "balance", path)
        assert status == int(what == "nothing")
        assert max(map(cell_len, lines)) <= columns, what
        edges = [line.count("│") for line in lines if line.startswith("SM ") and "│" in line]
        assert {*edges} <= {2}
        assert len(edges) == {"zero": 0, "nothing": 0, "sms": 34, "norate": 2, "far": 2}.get(what, 1)


def test_output_that_takes_no_blocks(uneven: Path) -> None:
    env = environment(PYTHONIOENCODING="ascii")
    text = process("balance", uneven, "--width", 30, env=env).stdout.decode("ascii")
    assert "SM 0 |###############        |\n" in text


def test_without_a_rate_differences_of_sms_are_not_known(tmp_path: Path) -> None:
    path = hostile(tmp_path)["norate"]
    found = answered(path)
    assert (found["unit"], found["skew_cyc"], found["skew_is_known"]) == ("cyc", 500, False)
    assert is_one_error(invoke("balance", path, "--unit", "ns").stderr, "MGT640")


def test_a_skew_within_the_alignment_is_not_known(tmp_path: Path) -> None:
    """Start times in steps of 32 ns: SM 1 seems to begin 20 ns later, which says nothing."""
    tracks = [
        (1024 + 32 * i, sm, [(0, 32 * i + 20 * sm, 32 * i + 20 * sm + 10)])
        for i in range(64)
        for sm in (0, 1)
    ]
    path = saved(tmp_path / "skewed.npy", tracks)
    found = answered(path)
    assert found["clock"]["sm_alignment_ns"] >= found["skew_ns"]
    assert found["skew_is_known"] is False
    assert "not more than the 32 ns to which SMs are aligned" in invoke("balance", path).stdout


def test_no_slices(tmp_path: Path) -> None:
    path = hostile(tmp_path)["nothing"]
    result = invoke("balance", path)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "no slices")
    assert is_one_error(result.stderr, "MGT305")
    found = answered(path, "--allow-empty")
    assert (found["rows"], found["n_blocks"], found["n_blocks_silent"]) == ([], 0, 1)


def test_a_broken_track_leaves_the_answer_about_the_others(broken: Path) -> None:
    found = answered(broken, status=1)
    assert found["n_blocks_cut"] in (1, 2)  # the overrun and the overfull track, of one block or of two
    assert found["n_blocks"] == 4
    assert "lost events, whose times are lower bounds" in invoke("balance", broken).stdout


@pytest.mark.parametrize(
    "args",
    [
        ("--sort", "nothing"),
        ("--straggler", "0"),
        ("--straggler", "1e3"),
        ("--width", "19"),
        ("--json", "--csv"),
    ],
)
def test_a_wrong_command_line_is_said_before_the_file_is_read(args: tuple[str, ...]) -> None:
    assert invoke("balance", "not_there.npy", *args).exit_code == 2
