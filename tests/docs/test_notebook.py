"""docs/example.ipynb: it was run, it is small, and what it shows still holds."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cli_support import ROOT, environment

NOTEBOOK = ROOT / "docs" / "example.ipynb"
NEEDS = ("nbclient", "ipykernel", "matplotlib", "pandas")
MOST_BYTES = 200_000


def code_cells() -> list[Any]:
    return [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]


def test_it_was_run_from_the_first_cell_to_the_last() -> None:
    cells = code_cells()
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not [o for cell in cells for o in cell["outputs"] if o["output_type"] == "error"]
    assert sum(bool(cell["outputs"]) for cell in cells) == len(cells)


def test_it_is_small_and_needs_no_script() -> None:
    text = NOTEBOOK.read_text("utf-8")
    assert len(text.encode()) < MOST_BYTES
    assert "plotly" not in text.lower()
    assert "<script" not in text
    kinds = {kind for cell in code_cells() for o in cell["outputs"] for kind in o.get("data", {})}
    assert kinds == {"text/html", "image/png"}


def test_it_reads_as_a_notebook_in_a_repository_should() -> None:
    """No machine's paths in it, and its cells are numbered, so that a new run changes what has changed."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert [cell["id"] for cell in notebook["cells"]] == [
        f"cell-{i}" for i in range(1, len(notebook["cells"]) + 1)
    ]
    assert set(notebook["metadata"]) == {"kernelspec"}
    assert str(ROOT) not in json.dumps(notebook)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The notebook and what it needs, to be run elsewhere."""
    missing = [name for name in NEEDS if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed (mgpu-trace[notebook])")
    shutil.copytree(ROOT / "fixtures" / "golden", tmp_path / "fixtures" / "golden")
    (tmp_path / "docs").mkdir()
    for name in ("example.ipynb", "notebook.py"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs" / name)
    return tmp_path / "docs" / "example.ipynb"


def check(notebook: Path) -> subprocess.CompletedProcess[str]:
    env = environment()
    env.pop("PYTHONWARNINGS")  # those of Jupyter are its own
    script = notebook.parent / "notebook.py"
    return subprocess.run(
        [sys.executable, "-P", script, "--check"], env=env, capture_output=True, text=True, timeout=300
    )


def test_run_again_it_shows_the_same(copy: Path) -> None:
    done = check(copy)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_output_that_does_not_hold_is_noticed(copy: Path) -> None:
    text = copy.read_text("utf-8")
    assert "0 findings" in text
    copy.write_text(text.replace("0 findings", "9 findings"), "utf-8")
    done = check(copy)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "run python docs/notebook.py" in done.stdout


def test_pictures_are_compared_by_their_kind_alone() -> None:
    shown = runpy.run_path(str(ROOT / "docs" / "notebook.py"))["_shown"]

    class Output(dict[str, Any]):
        __getattr__ = dict.__getitem__

    def output(data: dict[str, str]) -> Any:
        return Output(output_type="display_data", data=data)

    assert shown(output({"image/png": "a"})) == shown(output({"image/png": "b"}))
    assert shown(output({"text/html": "a"})) != shown(output({"text/html": "b"}))
    assert shown(output({"image/png": "a"})) != shown(output({"text/html": "a"}))
