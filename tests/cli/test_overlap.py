"""``mgpu-trace overlap`` as people and programs see it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from cli_support import FIXTURES, invoke, is_one_error
from documented import schema
from rich.cells import cell_len
from terminal import on_terminal, strict

import mgpu_trace
from mgpu_trace import TraceSpec

GEMM = FIXTURES / "golden" / "hopper_gemm.npy"
ROLES = ("--role", "0=tma", "--role", "1,2=mma")
# What a person's terminal could trip over, and what could be taken for something else.
NAMES = ["a", "total_cyc", "1", "\x1b[2J", "[red]", "名前", "", "x" * 300, "two\nlines"]


def answered(*args: object) -> Any:
    result = invoke("overlap", *args, "--json")
    assert result.exit_code == 0, result.stderr
    return strict(result.stdout)


def save(path: Path, rows: list[list[int]], names: list[str], **spec: Any) -> Path:
    """Tracks of words as a file: one block of as many warpgroups, unless told otherwise."""
    words = max(map(len, rows))
    np.save(path, np.array([row + [0] * (words - len(row)) for row in rows], np.uint32).reshape(-1))
    shape = {"grid": (1, 1, 1), "block": (128 * len(rows), 1, 1)} | spec
    said = TraceSpec(words_per_track=words, names=tuple(names), bounds_checked=False, **shape)
    path.with_suffix(".json").write_text(json.dumps(said.to_dict()))
    return path


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """Two tracks, which are in all of NAMES, one after the other, the second 5 cycles later."""
    rows = []
    for late in (0, 5):
        row, clock = [0, 0, 4 * len(NAMES)], late
        for i in range(len(NAMES)):
            row += [i, clock, i | 2**31, clock + 10 * (i + 1)]
            clock += 10 * (i + 2)
        rows.append(row)
    return save(tmp_path / "named.npy", rows, NAMES)


def test_the_text_says_what_the_tables_of_the_library_say() -> None:
    result = invoke("overlap", GEMM, *ROLES, "--pair", "tma_load:wait")
    assert result.exit_code == 0
    clock, *parts = result.stdout.split("\n", 1)
    assert clock.startswith("SM clock 1980 MHz, from the spec")
    matrix, units, bubbles, pairs = (part.splitlines() for part in parts[0].split("\n\n"))
    launch, roles = mgpu_trace.open_launch(GEMM), {0: "tma", 1: "mma", 2: "mma"}

    assert matrix[0] == "how much of a's time another track of the same block was in b:"
    want = {(row["a"], row["b"]): row for row in mgpu_trace.overlap(launch).rows()}
    _, _, *beside = matrix[1].split()
    assert len(matrix) == 2 + len(beside) == 9
    for line in matrix[2:]:
        a, total, *shares = line.split()
        assert float(total) == pytest.approx(want[a, a]["total_ns"], abs=0.051)
        for b, share in zip(beside, shares, strict=True):
            value = 0.0 if share == "." else float(share.rstrip("%"))
            assert value == pytest.approx(100 * want[a, b]["share"], abs=0.051)
            assert (share == ".") == (want[a, b]["overlap_ns"] == 0)

    assert units[0] == "the time of tracks while their block ran; waiting is time in tma_wait, wait:"
    for line, row in zip(
        units[2:], mgpu_trace.track_times(launch, per="role", roles=roles).rows(), strict=True
    ):
        role, n, _, *shares = line.split()
        assert (role, int(n)) == (row["role"], row["n_tracks"])
        states = [100 * row[f"{state}_share"] for state in ("busy", "waiting", "idle")]
        assert [float(share.rstrip("%")) for share in shares] == pytest.approx(states, abs=0.051)

    table = mgpu_trace.bubbles(launch, roles=roles)
    share = 100 * table.facts["bubbles_ns"] / table.facts["places_ns"]
    assert bubbles[0] == (
        f"no track of a block was busy for {share:.1f}% of the time of 8 blocks, "
        f"{table.facts['n_bubbles']} bubbles; the longest 5:"
    )
    for line, row in zip(bubbles[2:], table.rows(), strict=True):
        sm, block, begin, dur, *around = line.split()
        assert (int(sm), block) == (row["sm"], row["block"])
        assert (float(begin), float(dur)) == pytest.approx((row["begin_ns"], row["dur_ns"]), abs=0.051)
        assert around == [row[side] for side in ("before", "role_before", "after", "role_after")]

    (row,) = mgpu_trace.lags(launch, ["tma_load:wait"]).rows()
    assert pairs[0] == "from the n-th end of a to the n-th end of b in each block:"
    cells = dict(zip(pairs[1].split(), pairs[2].split(), strict=True))
    assert cells["worst_block"] == row["worst_block"]
    assert float(cells["p99_ns"]) == pytest.approx(row["p99_ns"], abs=0.051)
    found = "tma_load and wait do not end equally often in 8 blocks: 0 ends of the first and 24 of the second"
    assert re.search(rf"^warning\[MGT643\]: \S+: {found} .*--by unit", result.stderr)


@pytest.mark.parametrize("by", ["region", "unit", "role"])
@pytest.mark.parametrize("on", ["block", "sm"])
def test_json_has_all_tables(by: Any, on: Any) -> None:
    args = ("--by", by, "--on", on, "--bubbles", 3, "--top", 4, "--pair", "tma_load:w*", "--wait", "tma_wait")
    said = answered(GEMM, *ROLES, *args)
    jsonschema.validate(said, schema("mgpu-trace/overlap"))
    launch, wait = mgpu_trace.open_launch(GEMM), ("tma_wait",)
    ask: dict[str, Any] = {"wait": wait, "roles": {0: "tma", 1: "mma", 2: "mma"}}
    matrix = mgpu_trace.overlap(launch, by=by, on=on, top=4, **ask)
    bubbles = mgpu_trace.bubbles(launch, on=on, n=3, **ask)
    units = mgpu_trace.track_times(launch, per="unit" if by == "unit" else "role", **ask)
    pairs = mgpu_trace.lags(launch, ["tma_load:w*"], by=by, roles=ask["roles"])
    assert said["rows"] == matrix.rows()
    assert [said["bubbles"], said["units"], said["pairs"]] == [bubbles.rows(), units.rows(), pairs.rows()]
    for table in (pairs, units, bubbles, matrix):
        assert {name: said[name] for name in table.facts} == table.facts
    assert said["waiting"] == ["tma_wait"]


@pytest.mark.parametrize("which", ["matrix", "tracks", "bubbles", "pairs"])
def test_one_table_alone(which: str) -> None:
    args = (GEMM, "--table", which, "--pair", "tma_load:wait", "--unit", "cyc")
    launch = mgpu_trace.open_launch(GEMM)
    table = {
        "matrix": lambda: mgpu_trace.overlap(launch, unit="cyc"),
        "tracks": lambda: mgpu_trace.track_times(launch, unit="cyc"),
        "bubbles": lambda: mgpu_trace.bubbles(launch, unit="cyc"),
        "pairs": lambda: mgpu_trace.lags(launch, ["tma_load:wait"], unit="cyc"),
    }[which]()
    said = answered(*args)
    assert said["rows"] == table.rows()
    assert said["schema"] == f"mgpu-trace/{table.title}"
    rows = list(csv.DictReader(io.StringIO(invoke("overlap", *args, "--csv").stdout)))
    assert rows == [{k: "" if v is None else str(v) for k, v in row.items()} for row in table.rows()]
    lines = invoke("overlap", *args).stdout.splitlines()
    assert lines[0].startswith("SM clock 1980 MHz")
    n = len({*table["a"]}) + 1 if which == "matrix" else len(table)
    assert len(lines) == 2 + n


def test_csv_is_the_matrix_unless_told_otherwise() -> None:
    assert (
        invoke("overlap", GEMM, "--csv").stdout
        == invoke("overlap", GEMM, "--table", "matrix", "--csv").stdout
    )


@pytest.mark.parametrize("columns", [50, 60, 80, 120])
@pytest.mark.parametrize("by", ["region", "role"])
def test_it_fits_the_terminal(columns: int, by: Any) -> None:
    lines, status = on_terminal(columns, "overlap", GEMM, "--by", by, "--pair", "tma_load:wait", *ROLES)
    assert status == 0
    widest = max(map(cell_len, lines))
    # The bubbles' and the pairs' own columns are never dropped: what they are about, and how long it was.
    assert widest <= max(columns, 66)
    want = mgpu_trace.overlap(
        mgpu_trace.open_launch(GEMM),
        by=by,
        roles={0: "tma", 1: "mma", 2: "mma"},
    ).rows()
    first = next(line.split() for line in lines if line.startswith(want[0]["a"]))
    assert f"{100 * want[0]['share']:.1f}%" in first


@pytest.mark.parametrize("form", [(), ("--csv",), ("--json",), ("--table", "bubbles"), ("--pair", "1:a")])
def test_no_name_moves_the_cursor(named: Path, form: tuple[str, ...]) -> None:
    lines, status = on_terminal(100, "overlap", named, "--wait", "[[]red]", *form)
    assert status == 0
    assert not any("\x1b" in line for line in lines)
    if form[:1] != ("--table",):
        assert any("\\x1b[2J" in line or "\\u001b[2J" in line for line in lines)


def test_numbers_stand_for_names_that_cannot_head_a_column(named: Path) -> None:
    lines = invoke("overlap", named).stdout.splitlines()
    table = mgpu_trace.overlap(mgpu_trace.open_launch(named))
    names = list(dict.fromkeys(str(name) for name in table["a"]))
    assert len(names) == len(NAMES)
    assert lines[2].split() == ["a", "total_cyc", *(str(i + 1) for i in range(len(names)))]
    for i, line in enumerate(lines[3 : 3 + len(names)]):
        total = table["total_cyc"][i * len(names)]
        assert re.match(rf"{i + 1} .* {total} ", line)


def test_columns_that_are_in_no_row_are_named_too(named: Path) -> None:
    lines = invoke("overlap", named, "--select", "name=1").stdout.splitlines()
    assert lines[2].startswith(f"b is 1 two\\nlines, 2 {'x' * 20}")
    number = re.search(r"(\d) 1(, |$)", lines[2])
    assert number is not None
    assert lines[4].split()[:3] == [number[1], "1", "60"]


def test_many_regions(tmp_path: Path) -> None:
    """The first twelve for people, the first 32 for programs; the rest is said."""
    n = 40
    events = [word for i in range(n) for word in (i, 1000 * i, i | 2**31, 1000 * i + 100 + i)]
    path = save(tmp_path / "many.npy", [[0, 0, 4 * n, *events]] * 2, [f"region{i}" for i in range(n)])
    lines = invoke("overlap", path).stdout.splitlines()
    assert lines[2].split() == ["a", "total_cyc", *(f"region{i}" for i in range(39, 27, -1))]
    assert lines[15] == "and 28 more, with less time each; --json and --csv have as many as --top says"
    said = answered(path)
    assert (len(said["rows"]), said["n_left_out"]) == (32 * 32, 8)
    assert said["left_out_cyc"] == sum(2 * (100 + i) for i in range(8))
    assert answered(path, "--top", 1000)["n_left_out"] == 0
    whole = invoke("overlap", path, "--table", "matrix", "--top", 40).stdout.splitlines()
    assert len(whole) == 3 + 40
    assert whole[2].split()[2:] == [f"region{i}" for i in range(39, -1, -1)]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--pair", "a"], "two regions (or patterns) with a colon between them"),
        (["--pair", ":a"], "two regions"),
        (["--by", "warp"], "'region', 'unit', 'role'"),
        (["--on", "grid"], "'block', 'sm'"),
        (["--bubbles", "0"], "a whole number from 1"),
        (["--top", "-1"], "a whole number from 1"),
        (["--table", "pairs"], "which is not given"),
        (["--json", "--csv"], "two forms of one answer"),
        (["--role", "7=x"], "a block has the units 0 to 2"),
    ],
)
def test_a_wrong_command_line(args: list[str], said: str) -> None:
    result = invoke("overlap", GEMM, *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in result.stderr


@pytest.mark.parametrize("form", [(), ("--csv",), ("--json",)])
@pytest.mark.parametrize(
    ("args", "name", "nearest"),
    [
        (("--wait", "wiat"), "wiat", "wait"),
        (("--wait", "tma*", "--wait", "no*"), "no*", "nearest"),
        (("--pair", "tma_lod:wait"), "tma_lod", "tma_load"),
        (("--pair", "wait:mam"), "mam", "nearest"),
    ],
)
def test_a_region_that_there_is_not(
    form: tuple[str, ...], args: tuple[str, ...], name: str, nearest: str
) -> None:
    result = invoke("overlap", GEMM, *args, *form)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert is_one_error(result.stderr, "MGT641")
    assert repr(name) in result.stderr
    assert nearest in result.stderr


def test_names_with_colons(tmp_path: Path) -> None:
    rows = [[0, 0, 8, 0, 10, 2**31, 20, 1, 30, 1 | 2**31, 47]]
    path = save(tmp_path / "colons.npy", rows, ["tma::load", "mma::issue:x"])
    (row,) = answered(path, "--pair", "tma::load:mma::issue:x")["pairs"]
    assert (row["a"], row["b"], row["worst_cyc"]) == ("tma::load", "mma::issue:x", 27)
    result = invoke("overlap", path, "--pair", "tma::laod:mma::issue:x")
    assert is_one_error(result.stderr, "MGT641")


def test_without_a_rate(named: Path) -> None:
    result = invoke("overlap", named, "--unit", "ns")
    assert result.exit_code == 1
    assert is_one_error(result.stderr, "MGT640")
    assert answered(named)["unit"] == "cyc"


def test_no_slices(tmp_path: Path) -> None:
    path = save(tmp_path / "empty.npy", [[0, 0, 0, 0, 0, 0, 0]] * 3, ["a"])
    result = invoke("overlap", path, "--json")
    assert result.exit_code == 1
    said = strict(result.stdout)
    jsonschema.validate(said, schema("mgpu-trace/overlap"))
    assert [said[key] for key in ("rows", "units", "bubbles", "pairs")] == [[], [], [], []]
    assert "error[MGT305]" in result.stderr
    lines = invoke("overlap", path, "--allow-empty").stdout.splitlines()
    assert lines[1:] == ["no region took any time"]
    for which, text in (("tracks", "no slices"), ("bubbles", "none"), ("matrix", "no region took any time")):
        shown = invoke("overlap", path, "--allow-empty", "--table", which)
        assert (shown.exit_code, shown.stdout.splitlines()[1:]) == (0, [text])


def test_one_slice(tmp_path: Path) -> None:
    path = save(tmp_path / "one.npy", [[0, 0, 4, 0, 10, 2**31, 35]], ["a"])
    said = answered(path)
    assert [(row["a"], row["b"], row["total_cyc"], row["overlap_cyc"]) for row in said["rows"]] == [
        ("a", "a", 25, 0)
    ]
    assert said["units"][0]["busy_cyc"] == said["units"][0]["window_cyc"] == 25
    assert (said["bubbles"], said["n_bubbles"]) == ([], 0)
    assert "busy for 0.0% of the time of 1 block, 0 bubbles\n" in invoke("overlap", path).stdout


def test_all_tracks_broken(tmp_path: Path) -> None:
    path = save(tmp_path / "broken.npy", [[0, 0, 10**6, 0, 10, 2**31, 35]] * 3, ["a"])
    result = invoke("overlap", path, "--json")
    assert result.exit_code == 1
    assert strict(result.stdout)["rows"] == []
    assert "error[MGT304]" in result.stderr


def test_a_broken_track_leaves_the_answer_about_the_others(broken: Path) -> None:
    result = invoke("overlap", broken)
    assert result.exit_code == 1
    assert "error[MGT301]" in result.stderr
    whole = [row for row in mgpu_trace.track_times(mgpu_trace.load(broken)).rows() if row["unknown_ns"]]
    assert len(whole) == 2  # the one that overran, and the one whose first events it overwrote
    assert "unknown_share" in result.stdout
    assert "unknown_share" not in invoke("overlap", GEMM).stdout
