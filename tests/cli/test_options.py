"""Flags: what they take, and that a refusal says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace.layout import Scope, Word2
from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.options import DIM3, spec_options


def options_of(*args: str) -> SpecOptions:
    seen: list[SpecOptions] = []

    @click.command()
    @spec_options
    def command(options: SpecOptions) -> None:
        seen.append(options)

    result = CliRunner().invoke(command, args, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return seen[0]


def refusal_of(*args: str) -> str:
    @click.command()
    @spec_options
    def command(options: SpecOptions) -> None:
        raise AssertionError(f"{options} was taken")

    result = CliRunner().invoke(command, args, catch_exceptions=False)
    assert result.exit_code == 2
    return result.stderr


@pytest.mark.parametrize(
    ("args", "field", "value"),
    [
        (["--grid", "132"], "grid", (132, 1, 1)),
        (["--grid", "2,3"], "grid", (2, 3, 1)),
        (["--grid", "2,3,1"], "grid", (2, 3, 1)),
        (["--grid", "2x3x4"], "grid", (2, 3, 4)),
        (["--block", "384"], "block", (384, 1, 1)),
        (["--entries", "1024"], "words_per_track", 1024),
        (["--profile-space", "64"], "profile_space", 64),
        (["--scope", "warp"], "scope", Scope.WARP),
        (["--scope", "warpgroup"], "scope", Scope.WARPGROUP),
        (["--names", "a,b c,d"], "names", ("a", "b c", "d")),
        (["--sm-clock-mhz", "1980"], "sm_clock_mhz", 1980.0),
        (["--sm-clock-mhz", "1.5e3"], "sm_clock_mhz", 1500.0),
        (["--word2", "auto"], "word2", Word2.AUTO),
        (["--word2", "used"], "word2", Word2.USED),
        (["--word2", "used+3"], "word2", Word2.USED_PLUS_HEADER),
        (["--bounds-checked"], "bounds_checked", True),
        (["--no-bounds-checked"], "bounds_checked", False),
        (["--jax-version", "0.10.2"], "jax_version", "0.10.2"),
        (["--device", "NVIDIA H100"], "device", "NVIDIA H100"),
        (["--kernel", "matmul"], "kernel", "matmul"),
    ],
)
def test_a_flag_sets_its_field_and_no_other(args: list[str], field: str, value: Any) -> None:
    told: dict[str, Any] = {field: value}
    assert options_of(*args) == SpecOptions(**told)


def test_nothing_said_is_nothing_said() -> None:
    assert options_of() == SpecOptions()


def test_names_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "names.json"
    path.write_text('["Init", "tma, the load"]')
    assert options_of("--names", str(path)).names == ("Init", "tma, the load")


@pytest.mark.parametrize(
    ("flag", "bad", "says"),
    [
        *(
            ("--grid", bad, "2,3,1")
            for bad in ("", "0", "-1", "1,2,3,4", "a", "1_0", "1.5", "2;3", "²", "2147483648", "9" * 99)
        ),
        ("--block", "12,", "one to three positive numbers"),
        *(("--entries", bad, "words of one track") for bad in ("3", "0", "x", "1e3", "-5")),
        *(("--profile-space", bad, "a whole number from 1 to 2147483647") for bad in ("0", "x")),
        *(
            ("--sm-clock-mhz", bad, "1980")
            for bad in ("0", "nan", "inf", "-1", "fast", "1e9", "1_980", "\u0661\u0662")
        ),
        ("--scope", "block", "warpgroup"),
        ("--word2", "odd", "used+3"),
    ],
)
def test_a_refusal_says_what_the_flag_takes(flag: str, bad: str, says: str) -> None:
    stderr = refusal_of(f"{flag}={bad}")
    assert flag in stderr
    assert says in " ".join(stderr.split())


def test_entries_and_profile_space_exclude_each_other() -> None:
    stderr = refusal_of("--entries", "64", "--profile-space", "16")
    assert "--entries" in stderr
    assert "--profile-space" in stderr


@given(st.text(max_size=30))
def test_any_text_is_a_size_or_a_refusal(text: str) -> None:
    try:
        value = DIM3.convert(text, None, None)
    except click.BadParameter:
        return
    assert len(value) == 3
    assert all(size >= 1 for size in value)
