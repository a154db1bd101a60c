"""A promise about every command: the list in main.py is what is tested."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
from cli_support import FIXTURES, ROOT, environment, invoke, process

from mgpu_trace_cli.main import COMMANDS, main

COMMAND_FILES = sorted((ROOT / "cli/mgpu_trace_cli/commands").glob("[!_]*.py"))


def example_of(name: str | None) -> list[str]:
    """The lines of the example at the end of a command's help."""
    result = invoke(*([name] if name else []), "--help")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("Example:") == 1
    return [line.strip() for line in result.stdout.split("Example:")[1].strip().splitlines()]


def test_every_command_file_is_in_the_list() -> None:
    assert sorted(COMMANDS) == [path.stem for path in COMMAND_FILES]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(200) == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.opts
            assert parameter.help.endswith("."), parameter.help


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_the_example_in_the_help_works(name: str | None, tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(FIXTURES)
    lines = example_of(name)
    assert lines
    for line in lines:
        program, *args = shlex.split(line)
        assert program == "mgpu-trace"
        done = process(*args, cwd=tmp_path, stdin=subprocess.DEVNULL, env=environment())
        assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_readme_has_the_command_in_its_table(name: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `mgpu-trace {name}\b", readme, re.MULTILINE)


@pytest.mark.parametrize("path", COMMAND_FILES, ids=lambda p: p.stem)
def test_command_files_stay_thin(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60
