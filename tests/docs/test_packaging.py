"""What is tested is what is meant to be: the checkout, or the installed package when CI asks for that."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import ROOT, process

import mgpu_trace
import mgpu_trace_cli


def test_the_package_under_test_is_the_intended_one(pytestconfig: pytest.Config) -> None:
    """``pytest -o pythonpath=tests`` tests what is installed; plain pytest the checkout."""
    checkout = ROOT in pytestconfig.getini("pythonpath")
    for package, top in ((mgpu_trace, ROOT), (mgpu_trace_cli, ROOT / "cli")):
        assert package.__file__ is not None
        assert (Path(package.__file__).parent.parent == top) is checkout


def test_version_is_said_once() -> None:
    assert process("--version").stdout.decode().split()[-1] == mgpu_trace.__version__
    assert f"## {mgpu_trace.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_packages_say_that_they_are_typed() -> None:
    for package in (mgpu_trace, mgpu_trace_cli):
        assert package.__file__ is not None
        assert (Path(package.__file__).parent / "py.typed").exists()
