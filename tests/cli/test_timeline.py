"""``mgpu-trace timeline`` as people and programs see it."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from cli_support import FIXTURES, environment, invoke, is_one_error, process
from documented import schema
from hostile import hostile, one_after_the_other, saved
from rich.cells import cell_len
from terminal import on_terminal, strict

import mgpu_trace
from mgpu_trace_cli.legend import LETTERS, letters_of
from mgpu_trace_cli.picture import axis

GEMM = FIXTURES / "golden" / "hopper_gemm.npy"


def answered(*args: object, status: int = 0) -> Any:
    result = invoke("timeline", *args, "--json")
    assert result.exit_code == status, result.stderr
    found = strict(result.stdout)
    jsonschema.validate(found, schema("mgpu-trace/timeline"))
    return found


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two blocks of 200 cycles, the first twice as long as the second."""
    load, mma, store = 0, 1, 2
    first = [(load, 0, 40), (mma, 40, 150), (store, 150, 160), (mma, 160, 164), (load, 180, 200)]
    tracks = [(1000, 0, first), (1100, 0, [(mma, 100, 190), (store, 190, 200)])]
    return saved(tmp_path / "small.npy", tracks, names=("load", "mma", "store"))


def test_a_picture_in_a_pipe(small: Path) -> None:
    result = invoke("timeline", small, "--width", 36)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "SM clock 1000 MHz, from the spec",
        "2 tracks, 0.0 to 200.0 ns since the first event",
        "SM 0 block (0,0,0)",
        "  warpgroup 0 │llllmmmmmmmmmmms· ll│",
        "SM 0 block (1,0,0)",
        "  warpgroup 0 │          mmmmmmmmms│",
        "               |0   |50  |100 |150",
        "m mma  l load  s store",
        "· in regions for less than half",
    ]


def test_zoom(small: Path) -> None:
    """The picture is of the window to the cycle, and the segments are whole."""
    args = (small, "--select", "time=150ns:170ns", "--select", "block=0", "--role", "0=all")
    lines = invoke("timeline", *args, "--width", 30).stdout.splitlines()
    assert lines[1:] == [
        "1 track, 150.00 to 170.00 ns since the first event",
        "SM 0 block (0,0,0)",
        "  0 all │ssssssssssmmmm      │",
        "         |150 |155 |160 |165",
        "s store  m mma",
    ]
    found = answered(*args)
    assert (found["begin_ns"], found["end_ns"]) == (150.0, 170.0)
    assert [(row["region"], row["begin_ns"], row["end_ns"]) for row in found["rows"]] == [
        ("mma", 40.0, 150.0), ("store", 150.0, 160.0), ("mma", 160.0, 164.0),
    ]  # fmt: skip


def test_regions_that_are_not_selected_are_shown_as_such(small: Path) -> None:
    result = invoke("timeline", small, "--width", 36, "--select", "name=mma")
    assert "  warpgroup 0 │----mmmmmmmmmmm-· --│" in result.stdout.splitlines()
    assert "- regions not selected" in result.stdout
    assert {row["region"] for row in answered(small, "--select", "name=mma")["rows"]} == {"mma"}


def test_rows_and_the_longest(small: Path) -> None:
    lines = invoke("timeline", small, "--rows", 1).stdout.splitlines()
    assert lines[1].endswith("; 1 more is not shown")
    assert "SM 0 block (0,0,0)" in lines
    assert "SM 0 block (1,0,0)" not in lines
    by_block = {row["block"]: row["dur_ns"] for row in _blocks(GEMM)}
    found = answered(GEMM, "--longest", "--rows", 1000)["tracks"]
    shown = list(dict.fromkeys(row["block"] for row in found))
    assert shown == sorted(by_block, key=lambda block: -by_block[block])
    assert shown != [row["block"] for row in _blocks(GEMM)]


def _blocks(path: Path) -> list[dict[str, Any]]:
    """Each block's length, of all its tracks."""
    rows = answered(path, "--rows", 1000)["tracks"]
    found = []
    for block in dict.fromkeys(row["block"] for row in rows):
        mine = [row for row in rows if row["block"] == block]
        dur = max(row["end_ns"] for row in mine) - min(row["begin_ns"] for row in mine)
        found.append({"block": block, "dur_ns": dur})
    return found


@pytest.mark.parametrize(
    "args", [(), ("--unit", "cyc", "--rows", "2"), ("--select", "sm=1", "--role", "0=tma")]
)
def test_json_and_csv_are_the_table_of_the_library(args: tuple[str, ...]) -> None:
    found = answered(GEMM, *args)
    launch = mgpu_trace.open_launch(GEMM)
    launch.selection = mgpu_trace.parse_selection(["sm=1"] if "--select" in args else [])
    table = mgpu_trace.segments(
        launch,
        n_tracks=2 if "--rows" in args else 24,
        unit="cyc" if "cyc" in args else "auto",
        roles={0: "tma"} if "--role" in args else None,
    )
    assert found["rows"] == table.rows()
    assert {name: found[name] for name in table.facts} == table.facts
    rows = list(csv.DictReader(io.StringIO(invoke("timeline", GEMM, *args, "--csv").stdout)))
    assert rows == [{k: str(v) for k, v in row.items()} for row in table.rows()]


@pytest.mark.parametrize("columns", [20, 33, 80, 200])
def test_no_line_is_wider_than_the_terminal(columns: int, tmp_path: Path) -> None:
    for what, path in hostile(tmp_path).items():
        lines, status = on_terminal(columns, "timeline", path)
        assert status == int(what == "nothing")
        assert max(map(cell_len, lines)) <= columns, what
        assert not any("\x1b" in line or "\x07" in line for line in lines)
        cells = [re.fullmatch(r" +[^│]+│([^│]*)│", line) for line in lines]
        widths = {cell_len(line[1]) for line in cells if line}
        assert len(widths) == int(what != "nothing"), what
        assert all(cell_len(line[0]) == columns for line in cells if line)


def test_a_thousand_regions(tmp_path: Path) -> None:
    """62 have a letter or digit of their own; the rest share one, and the legend says so."""
    lines = invoke("timeline", hostile(tmp_path)["thousand"], "--width", 1100).stdout.splitlines()
    line = next(line for line in lines if "│" in line)
    _, cells, _ = line.split("│")
    assert len({*cells}) == len(LETTERS) + 1
    said = " ".join(lines[lines.index(line) + 2 :])
    assert f"* {1000 - len(LETTERS)} more regions" in said
    assert all(re.search(rf"(^| ){letter} region number \d", said) for letter in LETTERS)


def test_what_is_too_short_is_said(tmp_path: Path) -> None:
    tracks = [(1000, 0, [*one_after_the_other(2, 1000), (2, 2000, 2010), (3, 2010, 2015)])]
    text = invoke("timeline", saved(tmp_path / "short.npy", tracks), "--width", 40).stdout
    assert "2 regions too short for a cell" in text
    zero = hostile(tmp_path)["zero"]
    assert invoke("timeline", zero).stdout.splitlines()[-1] == "no selected region takes any time"


def test_colours_on_a_terminal_only(small: Path) -> None:
    assert "\x1b" not in invoke("timeline", small).stdout
    lines, _ = on_terminal(36, "timeline", small)
    assert "  warpgroup 0 │llllmmmmmmmmmmms· ll│" in lines


def test_lost_events_are_marked(broken: Path) -> None:
    result = invoke("timeline", broken, "--width", 60)
    assert result.exit_code == 1
    found = answered(broken, status=1)["tracks"]
    (cut,) = [i for i, row in enumerate(found) if row["lost_end"]]
    (late,) = [i for i, row in enumerate(found) if row["lost_start"]]
    lines = [
        line for line in result.stdout.splitlines() if line.startswith("  ") and ("│" in line or "!" in line)
    ]
    assert [i for i, line in enumerate(lines) if line.endswith("!")] == [cut]
    assert [i for i, line in enumerate(lines) if re.match(r"  warpgroup \d !", line)] == [late]
    assert "! events lost" in result.stdout


def test_output_that_takes_no_lines(small: Path) -> None:
    env = environment(PYTHONIOENCODING="ascii")
    text = process("timeline", small, "--width", 36, env=env).stdout.decode("ascii")
    assert "  warpgroup 0 |llllmmmmmmmmmmms. ll|\n" in text


def test_no_slices(tmp_path: Path) -> None:
    path = hostile(tmp_path)["nothing"]
    result = invoke("timeline", path)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "no slices")
    assert is_one_error(result.stderr, "MGT305")
    found = answered(path, "--allow-empty")
    assert (found["rows"], found["tracks"], found["n_tracks_more"]) == ([], [], 0)


def test_without_a_rate(tmp_path: Path) -> None:
    path = hostile(tmp_path)["norate"]
    assert answered(path)["rows"][0]["dur_cyc"] == 4
    assert is_one_error(invoke("timeline", path, "--unit", "ns").stderr, "MGT640")


@pytest.mark.parametrize(
    "args", [("--rows", "0"), ("--width", "5"), ("--select", "what=1"), ("--json", "--csv")]
)
def test_a_wrong_command_line_is_said_before_the_file_is_read(args: tuple[str, ...]) -> None:
    assert invoke("timeline", "not_there.npy", *args).exit_code == 2


def test_letters() -> None:
    assert letters_of(["load", "mma", "log", "move", "L", "", "名"]) == ["l", "m", "o", "v", "L", "a", "b"]
    many = letters_of([str(i) for i in range(100)])
    assert len({*many[:62]}) == 62
    assert {*many[62:]} == {"*"}


@pytest.mark.parametrize("columns", [1, 2, 9, 20, 100, 1000])
def test_an_axis(columns: int) -> None:
    """Each bar stands in the column that holds its time, labels keep apart, and nothing goes beyond."""
    for begin, end in [(0, 1), (0, 100), (17, 1723), (999.5, 1100.25), (1e9, 1e9 + 7), (0, 2**62), (5, 5)]:
        line = axis(begin, end, columns, 1.0)
        assert len(line) <= columns
        marks = list(re.finditer(r"\|(\S+)", line))
        assert "".join(mark[0] for mark in marks) == line.replace(" ", "")
        for mark in marks:
            if end > begin:
                at = (float(mark[1]) - begin) / (end - begin) * columns
                assert mark.start() - 1e-3 < at < mark.start() + 1.001
        starts = [mark.start() for mark in marks]
        assert max(np.diff(starts), default=0) - min(np.diff(starts), default=0) <= 1
        if columns >= 20:
            assert marks
