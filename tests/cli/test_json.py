"""--json is what docs/cli.md says, and says what the tables say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from cli_support import invoke
from documented import schema


def test_validate(good: Path, broken: Path, tmp_path: Path) -> None:
    files = [good, broken, tmp_path / "missing.npy"]
    result = invoke("validate", "--json", *files)
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    jsonschema.validate(said, schema("mgpu-trace/validate"))
    assert [f["file"] for f in said["files"]] == [str(f) for f in files]
    assert [f["ok"] for f in said["files"]] == [True, False, False]
    assert [[d["code"] for d in f["diagnostics"]] for f in said["files"]] == [
        [],
        ["MGT301", "MGT302"],
        ["MGT101"],
    ]
    assert [f["summary"] is None for f in said["files"]] == [False, False, True]


def test_validate_clean_is_status_0(good: Path) -> None:
    result = invoke("validate", "--json", good)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["files"][0]["ok"] is True
    plain = invoke("validate", good)
    assert plain.exit_code == 0
    assert plain.stdout == f"{good}: nothing found\n"


def test_validate_table_has_a_row_for_each_finding(broken: Path) -> None:
    lines = invoke("validate", broken).stdout.splitlines()
    assert lines[0].split()[:4] == ["file", "severity", "code", "count"]
    assert [line.split()[1:3] for line in lines[1:-2]] == [["error", "MGT301"], ["error", "MGT302"]]
    assert lines[-2:] == [f"{broken}: 2 errors", "  more: mgpu-trace explain MGT301 MGT302"]


@pytest.mark.parametrize("which", ["good", "broken"])
def test_info(which: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(which)
    result = invoke("info", "--json", path)
    assert result.exit_code == (which == "broken")
    said = json.loads(result.stdout)
    jsonschema.validate(said, schema("mgpu-trace/info"))
    assert said["tracks"]["n"] == 12
    assert said["tracks"]["sms"] == [0, 1, 2, 3]
    assert said["tracks"]["flags"]["overfull"] == (which == "broken")
    assert sum(n["n_slices"] for n in said["names"]) == said["summary"]["n_slices"]


def test_info_says_the_same_to_people(broken: Path) -> None:
    said = json.loads(invoke("info", "--json", broken).stdout)
    result = invoke("info", broken)
    text = result.stdout
    for name in said["names"]:
        assert re.search(rf"^ *{name['id']}  {name['name']} +{name['n_slices']}$", text, re.MULTILINE)
    assert said["summary"]["clock"]["description"] in text
    assert "1 overfull, 1 overwritten" in text
    assert "384x1x1 threads: 3 warpgroups" in text
    assert result.stderr.count("error[MGT") == 2


def test_names_of_the_table_without_slices_are_listed_too(good: Path) -> None:
    names = "a,b,c,d,e,f,g,h,never"
    said = json.loads(invoke("info", "--json", good, "--names", names).stdout)
    assert said["names"][-1] == {"id": 8, "name": "never", "n_slices": 0}
