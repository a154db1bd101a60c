"""What does not come with mgpu-trace alone: packages of an extra, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue


def needs(module: str, extra: str | None, what: str) -> Any:
    """The module ``module`` of a package that ``pip install 'mgpu-trace[extra]'`` brings.

    Parameters
    ----------
    module
        Such as ``"pyarrow.parquet"``.
    extra
        Such as ``"analysis"``; None where no extra has it, and it is installed by its own name.
    what
        What needs it, as a person calls it: ``"a .parquet file"``, ``"query"``.

    Raises
    ------
    MgpuTraceError
        MGT631 where it is missing, or cannot be imported.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name in (module, package)
        why = "which is not installed" if missing else f"which cannot be imported: {error}"
        message = f"{what} needs the package {package}, {why}"
        hint = "pip install " + (package if extra is None else f"'mgpu-trace[{extra}]'")
        raise MgpuTraceError(Diagnostic(catalogue.MISSING_EXTRA, message, hint=hint)) from error
