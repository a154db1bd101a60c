"""What ``mgpu-trace open`` is asked for: the options of a trace are those of ``dump``."""

from __future__ import annotations

import gzip
from pathlib import Path

import click
import pytest
from cli_support import invoke
from view.opened import (
    GEMM,
    JSON,
    MADE,
    open_,
    traces_in,
    with_browser,
)

from mgpu_trace_cli.main import main

WAYS = {
    "--role 0=tma --role 1,2=mma --select sm=0": "json",
    "--args cycles,index --overhead auto": "json",
    "--no-lanes --group-by unit": "json",
    "--format json --select name=w*": "json",
    "--format pftrace": "pftrace",
    "--counters sm": "pftrace",
    "--base zero --group-by block": "pftrace",
    "--args block,index --role 2=x": "pftrace",
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_trace_shows_is_as_dump_writes_it(way: str, got: Path, tmp_path: Path) -> None:
    """In JSON, unless something is asked for that only Perfetto's own format has."""
    suffix = WAYS[way]
    options = [word for word in way.split() if word not in ("--format", "json", "pftrace")]
    assert open_(GEMM, *way.split(), env=with_browser(got)).returncode == 0
    ((name, trace),) = traces_in(got).items()
    assert name == f"hopper_gemm.trace.{suffix}.gz"
    assert invoke("dump", GEMM, "-o", tmp_path / f"t.{suffix}", *options).exit_code == 0
    assert gzip.decompress(trace) == (tmp_path / f"t.{suffix}").read_bytes()


def test_all_that_dump_says_about_a_trace_can_be_said() -> None:
    names = {
        command: {param.name for param in main.get_command(click.Context(main), command).params}  # type: ignore[union-attr]
        for command in ("dump", "open")
    }
    of_files = {"output", "strict", "quiet", "jobs", "resume"}  # where and how files are written
    assert names["dump"] - names["open"] == of_files | {"compat"}


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("--format json --counters sm", "--format json has no place for all of that"),
        ("--lanes --group-by block", "not with --group-by block"),
        ("--lanes --group-by block --counters sm", "not with --group-by block"),
        ("--role 0=a --role 0=b", "two names"),
        ("--role 3=a", "the units 0 to 2"),
        ("--select where=1", "unknown key"),
        ("--format csv", "'csv'"),
        ("--compat jax", "--compat"),
    ],
)
def test_what_contradicts_itself(way: str, said: str) -> None:
    result = invoke("open", GEMM, "--port", 0, *way.split())
    assert result.exit_code == 2
    assert said in result.stderr


def test_traces_made_before_have_no_use_for_what_is_about_buffers(tmp_path: Path, got: Path) -> None:
    for name, content in MADE.items():
        (tmp_path / name).write_bytes(content)
    for options in (("--role", "0=x", "--no-lanes"), ("--grid", 8), ("--format", "json"), ("--allow-empty",)):
        result = invoke("open", tmp_path / "a.json", "--port", 0, *options)
        assert result.exit_code == 2, result.stderr
        assert f"for buffers only: {', '.join(str(o) for o in options if str(o).startswith('--'))};" in (
            result.stderr
        )
    result = invoke("open", *(tmp_path / name for name in MADE), "--port", 0, "--role", "0=x")
    assert result.exit_code == 2
    assert "these are traces already" in result.stderr
    done = open_(tmp_path / "a.json", GEMM, "--role", "0=tma", env=with_browser(got))
    assert done.returncode == 0, done.stderr
    assert f"{tmp_path}/a.json is a trace already: shown as it is, without --role\n".encode() in done.stderr
    assert traces_in(got)["a.json"] == JSON
    assert b" tma" in gzip.decompress(traces_in(got)["hopper_gemm.trace.json.gz"])


@pytest.mark.parametrize(
    "args",
    [("--port", "99999"), ("--port", "-1"), ("--port", "http"), ("--port", "1_0"), ("--timeout", "0"),
     ("--timeout", "inf"), ("--timeout", "1e3"), ("--unknown",)],
)  # fmt: skip
def test_bad_options(args: tuple[str, ...]) -> None:
    result = invoke("open", GEMM, *args)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_too_many_files() -> None:
    result = invoke("open", *[GEMM] * 17)
    assert result.exit_code == 2
    assert "17 files" in result.stderr
