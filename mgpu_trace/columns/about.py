"""What a table says of its launch: JSON in the schema's metadata, under ``mgpu-trace``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import mgpu_trace
from mgpu_trace.columns import Source
from mgpu_trace.columns.regions import Regions
from mgpu_trace.diagnostics import Diagnostic, catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY: Final = "mgpu-trace"
VERSION: Final = 1


def about(source: Source, more: Sequence[Diagnostic] = (), roles: Mapping[int, str] | None = None) -> str:
    """The launch in JSON; complete once its runs were read.

    ``ns`` says whether the columns in nanoseconds are there or null.
    """
    facts: dict[str, Any] = {
        "schema": f"{KEY}/slices",
        "version": VERSION,
        "tool": f"{KEY} {mgpu_trace.__version__}",
        "spec": source.spec.to_dict(),
        "clock": source.clock.to_dict(),
        "ns": "null: no clock rate is known" if source.clock.rate_mhz is None else "from the clock's rate",
        "n_tracks": len(source.tracks),
        "diagnostics": [d.to_dict() for d in (*source.report, *more)],
        **source.more_facts(),
    }
    if roles:
        facts["roles"] = {str(unit): name for unit, name in roles.items()}
    return json.dumps(facts, allow_nan=False)  # escapes what is not ASCII, lone surrogates too


def altered(regions: Regions) -> list[Diagnostic]:
    """MGT604 for the names that could not be written as they are."""
    n = regions.texts.n_altered
    if not n:
        return []
    message = f"{n} {'name' if n == 1 else 'names'} of regions could not be written (lone surrogates, or NUL)"
    return [Diagnostic(catalogue.NAME_ALTERED, message, n)]
