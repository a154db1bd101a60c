"""Regions by what somebody calls them."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Final

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.diagnostics.clip import clipped

_NEAREST: Final = 3


def named(pattern: str, known: Sequence[str]) -> list[str]:
    """Those of the known names that a pattern matches; one that is a name itself matches only that.

    Parameters
    ----------
    pattern
        A name, or one with ``*``, ``?`` and ``[...]``; upper and lower case differ.
    known
        Names of the regions of a launch.

    Raises
    ------
    MgpuTraceError
        MGT641 where none matches, with the nearest names.
    """
    if pattern in known:
        return [pattern]
    found = [name for name in known if fnmatch.fnmatchcase(name, pattern)]
    if found:
        return found
    import difflib

    near = difflib.get_close_matches(pattern, known, _NEAREST, 0.4) or list(known)[:_NEAREST]
    hint = "nearest: " + ", ".join(map(clipped, near)) if near else "there is no region at all"
    raise MgpuTraceError(
        Diagnostic(catalogue.UNKNOWN_REGION, f"no region matches {clipped(pattern)!r}", hint=hint)
    )
