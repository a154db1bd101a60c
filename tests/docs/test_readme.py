"""Every command and every line of Python in the prose runs as written, and prints what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from cli_support import ROOT, environment

PAGES = ("README.md", "docs/analysis.md", "docs/cli.md", "docs/report.md", "docs/tables.md")
# A finding as a line, or the line with which validate ends.
FAILS = re.compile(r"error\[|\S+: \d+ errors?\b")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for found, body in BLOCK.findall(text) if found == language]


def sessions(page: str) -> list[tuple[str, list[str]]]:
    """The commands of a page's console blocks, each with the output that is shown for it."""
    found: list[tuple[str, list[str]]] = []
    for block in blocks(page, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder that looks like the repository, with mgpu-trace on the PATH."""
    for name in ("fixtures", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    program = tmp_path / "bin" / "mgpu-trace"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m mgpu_trace_cli "$@"\n')
    program.chmod(0o755)
    return tmp_path


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = environment(PATH=f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", COLUMNS="100")
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("page", PAGES)
def test_console_blocks(page: str, workplace: Path) -> None:
    """In order, in one folder; those that show an error have status 1, the others 0.

    A line of three dots stands for any lines, ``...`` within one for any text.
    """
    assert sessions(page)
    for command, shown in sessions(page):
        done = shell(command, workplace)
        fails = any(FAILS.match(line) for line in shown)
        assert done.returncode == int(fails), f"$ {command}\n{done.stdout}"
        if shown:
            assert matches(done.stdout.splitlines(), shown), f"$ {command}\n{done.stdout}"


def matches(lines: list[str], shown: list[str]) -> bool:
    if not shown:
        return not lines
    if shown[0] == "...":
        return any(matches(lines[i:], shown[1:]) for i in range(len(lines) + 1))
    pattern = re.sub(r"[\[\]?*]", lambda m: f"[{m[0]}]", shown[0]).replace("...", "*")
    return bool(lines) and fnmatchcase(lines[0], pattern) and matches(lines[1:], shown[1:])


def test_matching_is_exact_but_for_the_dots() -> None:
    assert matches(["a 1 [x]", "b", "c", "d"], ["a ... [x]", "...", "d"])
    assert not matches(["a"], ["b"])
    assert not matches(["a", "b"], ["a"])
    assert not matches(["a"], ["a", "b"])


def test_python_blocks(workplace: Path) -> None:
    assert blocks("README.md", "python")
    for block in blocks("README.md", "python"):
        done = subprocess.run(
            [sys.executable, "-P", "-c", block],
            cwd=workplace,
            env=environment(),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr


def test_the_first_block_is_the_two_set_up_commands() -> None:
    """CI runs these two as they stand (.ci/run takes them from here), so only their form is checked."""
    first = BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert first is not None
    install, test = first[2].splitlines()
    assert "pip install" in install
    assert "mgpu-trace dump fixtures/golden/" in install
    assert "pip install -q '.[test]'" in test
    assert "pytest" in test


def test_links_lead_somewhere() -> None:
    pages = [*PAGES, "CONTRIBUTING.md", "docs/codes.md", "docs/format.md"]
    for page in pages:
        folder = (ROOT / page).parent
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8")):
            assert (folder / target).exists(), f"{page}: {target}"
