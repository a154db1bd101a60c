"""Every bad fixture on the command line: its codes and no other, the right status, one line each."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from cli_support import FIXTURES, invoke

from mgpu_trace.diagnostics import Severity, catalogue

BAD = FIXTURES / "bad"
INDEX = json.loads((BAD / "index.json").read_text(encoding="utf-8"))


def flags_of(entry: dict[str, Any]) -> list[str]:
    said = {f"--{name.replace('_', '-')}": str(value) for name, value in entry["flags"].items()}
    if "--names" in said:
        said["--names"] = str(BAD / said["--names"])
    return [word for pair in said.items() for word in pair]


def has_error(codes: list[str]) -> bool:
    found = [catalogue.find(code) for code in codes]
    return any(code is not None and code.severity is Severity.ERROR for code in found)


@pytest.mark.parametrize("entry", INDEX, ids=lambda e: e["file"])
def test_dump(entry: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = invoke("dump", BAD / entry["file"], "-o", out, *flags_of(entry))
    lines = result.stderr.splitlines()
    found = [m[1] for line in lines if (m := re.match(r"(?:error|warning|info)\[(MGT\d+)\]: ", line))]
    assert sorted(found) == sorted(entry["codes"])
    assert result.exit_code == int(has_error(entry["codes"]))
    more, *others = [line for line in lines if not re.match(r"(error|warning|info)\[", line)]
    assert more == f"  more: mgpu-trace explain {' '.join(found)}"
    if out.exists():
        json.loads(out.read_text(encoding="utf-8"))
        assert [line.split(" ")[0] for line in others] == [lines[-2].split(" ")[0], "wrote"]
    else:
        assert others == []
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("entry", [e for e in INDEX if not e["flags"]], ids=lambda e: e["file"])
def test_validate(entry: dict[str, Any]) -> None:
    result = invoke("validate", "--json", BAD / entry["file"])
    (file,) = json.loads(result.stdout)["files"]
    assert sorted(d["code"] for d in file["diagnostics"]) == sorted(entry["codes"])
    assert result.exit_code == int(has_error(entry["codes"])) == int(not file["ok"])
    severities = ["info", "warning", "error"]
    ranks = [severities.index(d["severity"]) for d in file["diagnostics"]]
    assert ranks == sorted(ranks, reverse=True)
