"""Every code and its explanation: the one place that commands, docs and tests read.

A code is never renumbered or reused. The hundreds say what it is about: 1xx file, 2xx spec,
size and launch, 3xx track headers, 4xx events and nesting, 5xx clocks, 6xx output and answers, 7xx capture,
8xx what only JAX says, 9xx our own bug.
"""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code
from mgpu_trace.diagnostics.catalogue import (
    answers,
    capture,
    clocks,
    diffs,
    events,
    files,
    launches,
    output,
    runs,
    specs,
    tables,
    tracks,
    upstream,
    view,
)
from mgpu_trace.diagnostics.catalogue.answers import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.capture import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.clocks import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.diffs import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.events import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.files import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.launches import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.output import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.runs import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.specs import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.tables import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.tracks import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.upstream import *  # noqa: F403
from mgpu_trace.diagnostics.catalogue.view import *  # noqa: F403

_MODULES: Final = (
    *(files, specs, launches, tracks, events, clocks),
    *(output, view, tables, answers, diffs, runs, capture, upstream),
)
ALL: Final[tuple[Code, ...]] = tuple(sorted((c for m in _MODULES for c in m.CODES), key=lambda c: c.id))


def find(key: str) -> Code | None:
    """The code whose id (``MGT301``, any case) or slug (``overfull-track``) is ``key``."""
    wanted = key.strip().lower()
    return next((c for c in ALL if wanted in (c.id.lower(), c.slug)), None)
