"""Run docs/example.ipynb and write it again; with --check, only say whether its outputs still hold.

python docs/notebook.py [--check]

Needs the extra ``notebook``. Pictures are not compared, but for being there.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NOTEBOOK = Path(__file__).parent / "example.ipynb"
_PICTURES = ("image/png",)
_TIMEOUT_S = 120


def read() -> Any:
    """The notebook as it is stored."""
    import nbformat

    return nbformat.read(NOTEBOOK, as_version=4)


def executed() -> Any:
    """The notebook, run from its first cell to its last in a new kernel, without what differs each time."""
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    notebook = read()
    folder = {"metadata": {"path": str(NOTEBOOK.parent)}}
    with TemporaryDirectory() as sockets:
        # By files and not by ports: nobody else on the machine can listen.
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{sockets}/kernel")
        how: dict[str, Any] = {"timeout": _TIMEOUT_S, "resources": folder}
        # What is printed comes in pieces that differ from run to run.
        NotebookClient(notebook, km=kernel, coalesce_streams=True, **how).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            _without_second_form(output)
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return notebook


def _without_second_form(output: Any) -> None:
    """Of a table or a picture only that: its form as plain text is Python's, and differs by version."""
    if {"text/html", *_PICTURES} & set(output.get("data", ())):
        output.data.pop("text/plain", None)


def outputs(notebook: Any) -> list[list[dict[str, Any]]]:
    """What each cell of code shows, by kind; of a picture only that it is one."""
    return [
        [_shown(output) for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"
    ]


def _shown(output: Any) -> dict[str, Any]:
    if output.output_type == "stream":
        return {output.name: output.text}
    if output.output_type == "error":
        return {"error": f"{output.ename}: {output.evalue}"}
    return {kind: "" if kind in _PICTURES else data for kind, data in output.data.items()}


def main() -> int:
    """Write the notebook, or check it; the exit status."""
    import nbformat

    new = executed()
    if "--check" in sys.argv[1:]:
        if outputs(new) != outputs(read()):
            print(f"{NOTEBOOK} shows what is no longer so: run python docs/notebook.py")
            return 1
        return 0
    nbformat.write(new, NOTEBOOK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
