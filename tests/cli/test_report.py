"""``mgpu-trace report``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli_support import FIXTURES, invoke, is_one_error, process

GEMM = FIXTURES / "golden" / "hopper_gemm.npy"


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_page_beside_a_name_of_its_own(tmp_path: Path) -> None:
    result = invoke("report", GEMM)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert result.stderr == "wrote hopper_gemm.report.html\n"
    assert [path.name for path in tmp_path.iterdir()] == ["hopper_gemm.report.html"]
    page = (tmp_path / "hopper_gemm.report.html").read_bytes()
    assert page.startswith(b"<!DOCTYPE html>")
    assert page.endswith(b"</html>\n")


def test_to_standard_output_the_same_bytes(tmp_path: Path) -> None:
    assert invoke("report", GEMM, "-o", "r.html").exit_code == 0
    piped = process("report", GEMM, "-o", "-")
    assert piped.returncode == 0
    assert piped.stderr == b""
    assert piped.stdout == (tmp_path / "r.html").read_bytes()


def test_from_standard_input(tmp_path: Path) -> None:
    with GEMM.open("rb") as buffer:
        done = process("report", "-", "--no-plots", stdin=buffer)
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / "stdin.report.html").exists()


def test_only_a_page_is_replaced(tmp_path: Path) -> None:
    buffer = tmp_path / "mine.npy"
    buffer.write_bytes(GEMM.read_bytes())
    result = invoke("report", GEMM, "-o", buffer, "--no-plots")
    assert result.exit_code == 2
    assert "-o takes a NAME.html" in result.stderr
    assert buffer.read_bytes() == GEMM.read_bytes()
    (tmp_path / "old.HTML").write_text("old")
    assert invoke("report", GEMM, "-o", "old.HTML", "--no-plots").exit_code == 0
    assert (tmp_path / "old.HTML").read_bytes().startswith(b"<!DOCTYPE")
    assert invoke("report", GEMM, "-o", "/dev/null", "--no-plots").exit_code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "give one FILE, or two to compare"),
        ([GEMM, GEMM, GEMM], "give one FILE, or two to compare"),
        (["-", "-"], "only one of two files can be standard input"),
        ([GEMM, "--role", "9=x"], "a block has the units 0 to 2"),
        ([GEMM, "--json"], "No such option"),
    ],
)
def test_a_wrong_command_line(args: list[object], said: str, tmp_path: Path) -> None:
    result = invoke("report", *args)
    assert result.exit_code == 2
    assert said in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_findings_are_said_and_the_page_is_written(broken: Path, tmp_path: Path) -> None:
    result = invoke("report", broken, "-o", "r.html", "--no-plots")
    assert result.exit_code == 1
    assert "error[MGT" in result.stderr
    assert result.stderr.endswith("wrote r.html\n")
    code = result.stderr.split("error[")[1][:6]
    assert f"error {code}" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["none.npy"], "MGT101"),
        ([GEMM, "-o", "none/r.html"], "MGT601"),
    ],
)
def test_an_error_is_one_line_and_leaves_nothing(args: list[object], code: str, tmp_path: Path) -> None:
    result = invoke("report", *args, "--no-plots")
    assert result.exit_code == 1
    assert is_one_error(result.stderr, code)
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    result = invoke("report", GEMM)
    assert result.exit_code == 1
    assert is_one_error(result.stderr, "MGT631")
    assert "pip install 'mgpu-trace[analysis]'" in result.stderr
    assert list(tmp_path.iterdir()) == []
    assert invoke("report", GEMM, "--no-plots").exit_code == 0


def test_a_selection_is_said_in_the_page(tmp_path: Path) -> None:
    assert invoke("report", GEMM, "-o", "r.html", "--no-plots", "--select", "sm=0").exit_code == 0
    assert "only a part: sm " in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_two_files_are_compared(tmp_path: Path) -> None:
    for name, n in (("old", 4), ("new", 6)):
        assert invoke("synth", "-o", f"{name}.npy", "--grid", 12, "--iterations", n).exit_code == 0
    result = invoke("report", "old.npy", "new.npy", "-o", "r.html", "--no-plots")
    assert result.exit_code == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.index('id="diff"') < page.index('id="findings"')
    assert "compared with <strong>synthetic</strong>, old.npy" in page
