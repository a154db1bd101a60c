"""Packages that may be missing: one line that says how to get them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import FIXTURES, command, environment, is_one_error

from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.extras import needs

GEMM = FIXTURES / "golden/hopper_gemm.npy"


def test_what_is_there_is_imported() -> None:
    assert needs("json.decoder", "analysis", "a test") is sys.modules["json.decoder"]


def test_what_is_missing_is_named_with_the_way_to_get_it() -> None:
    with pytest.raises(MgpuTraceError) as caught:
        needs("no_such_package.part", "analysis", "a table")
    found = caught.value.diagnostic
    assert found.code is catalogue.MISSING_EXTRA
    assert found.message == "a table needs the package no_such_package, which is not installed"
    assert found.hint == "pip install 'mgpu-trace[analysis]'"


def test_what_no_extra_has_is_installed_by_its_name() -> None:
    with pytest.raises(MgpuTraceError, match=r"; pip install no_such_package$"):
        needs("no_such_package", None, "a table")


def test_what_is_there_and_broken_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_package.py").write_text("import no_such_part")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MgpuTraceError, match="cannot be imported: No module named 'no_such_part'"):
        needs("broken_package", "analysis", "a table")


def without(package: str, folder: Path) -> dict[str, str]:
    """An environment in which ``package`` is not installed, as far as Python can tell."""
    hook = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {package!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    (folder / "sitecustomize.py").write_text(hook)
    env = environment()
    return {**env, "PYTHONPATH": f"{folder}:{env['PYTHONPATH']}"}


@pytest.mark.parametrize(
    ("package", "args"),
    [
        ("pyarrow", ["dump", GEMM, "-o", "x.parquet"]),
        ("pyarrow", ["dump", GEMM, "-o", "x.arrow"]),
        ("pyarrow", ["dump", GEMM, "--format", "csv"]),
        ("pyarrow", ["query", "SELECT 1", GEMM]),
        ("duckdb", ["query", "SELECT 1", GEMM]),
    ],
)
def test_commands_say_it_in_one_line(package: str, args: list[str], tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    env = without(package, hidden)
    done = subprocess.run(command(*args), cwd=tmp_path, env=env, capture_output=True, timeout=60)
    assert done.returncode == 1
    assert done.stdout == b""
    assert is_one_error(done.stderr, "MGT631"), done.stderr
    assert f"needs the package {package}, which is not installed".encode() in done.stderr
    assert b"pip install 'mgpu-trace[analysis]'" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["hidden"]
