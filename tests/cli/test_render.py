"""Tables and progress, on a terminal and in a pipe."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_support import invoke

from mgpu_trace_cli import render

ROWS = [["1", "[red]x[/red]", "error"], ["20", "a\nb\x1b[2J", "info"]]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_tables_are_aligned_and_end_without_spaces() -> None:
    assert (
        render.plain_table(["n", "name"], [["1", "a"], ["20", "bb"]], right=["n"])
        == " n  name\n 1  a\n20  bb"
    )


def test_in_a_pipe_cells_are_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    render.print_table(["n", "name", "severity"], ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "n   name          severity",
        "1   [red]x[/red]  error",
        r"20  a\nb\x1b[2J   info",
    ]


def test_on_a_terminal_no_cell_is_markup_or_a_control_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    render.print_table(["n", "name", "severity"], ROWS)
    assert "[red]x[/red]" in screen.getvalue()
    assert "a\\nb\\x1b[2J" in screen.getvalue()
    assert "\x1b[2J" not in screen.getvalue()


class Slow:
    """Something that says how far it is, as a Launch does."""

    on_run: Any = None

    def read(self) -> None:
        for done in (1, 2, 3):
            if self.on_run is not None:
                self.on_run(done, 3)


@pytest.mark.parametrize(
    ("screen", "after_s", "shows"),
    [(Terminal, 0.0, True), (Terminal, 3600.0, False), (io.StringIO, 0.0, False)],
)
def test_a_bar_on_a_terminal_when_it_takes_long(
    screen: type[io.StringIO], after_s: float, shows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr, launch = screen(), Slow()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(render, "PROGRESS_AFTER_S", after_s - 1e-9)
    monkeypatch.setenv("TERM", "xterm")
    with render.progress(launch, "writing"):  # type: ignore[arg-type]
        launch.read()
    assert ("writing" in stderr.getvalue()) is shows
    assert launch.on_run is None


def test_a_name_of_a_megabyte_does_not_widen_every_line(good: Path, tmp_path: Path) -> None:
    (tmp_path / "names.json").write_text(json.dumps(["x" * 1_000_000, "y"]))
    result = invoke("info", good, "--names", tmp_path / "names.json")
    assert result.exit_code == 0
    assert len(result.stdout) < 10_000
    assert "x" * 99 + "…" in result.stdout
    result = invoke(
        "dump", good, "--names", tmp_path / "names.json", "--overhead", 3, "-o", tmp_path / "t.json"
    )
    assert "MGT509" in result.stderr
    assert len(result.stderr) < 10_000
