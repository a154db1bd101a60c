"""JAX's own decoder, run on words: `ProfilerSpec.dump`. Importing this skips where JAX is missing."""

from __future__ import annotations

import inspect
import io
import json
import warnings
from typing import Any

import numpy as np
import pytest

from mgpu_trace.layout import Scope
from mgpu_trace.spec import TraceSpec

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # JAX's own imports are not under test
    _profiler = pytest.importorskip(
        "jax.experimental.mosaic.gpu.profiler",
        reason="JAX with Mosaic GPU is not installed (mgpu-trace[jax])",
    )
    import jax
    from jax.experimental.mosaic import gpu as mgpu

JAX_VERSION: str = jax.__version__
_PARAMETERS = inspect.signature(_profiler.ProfilerSpec.__init__).parameters
# The bounds check came together with the closing of open regions (0.11.1).
CLOSES_OPEN_REGIONS = "bounds_check" in _PARAMETERS
# Warp scope came with the parameter (0.10.1).
SCOPES = tuple(Scope) if "trace_scope" in _PARAMETERS else (Scope.WARPGROUP,)


def jax_text(words: np.ndarray, spec: TraceSpec) -> str:
    """The file that JAX writes for ``words``; its exceptions pass."""
    scope = {}
    if spec.scope is not Scope.WARPGROUP:
        scope["trace_scope"] = mgpu.ThreadSubset.WARP
    profiler = _profiler.ProfilerSpec(spec.words_per_track, dump_path=".", **scope)
    for name in spec.names or ():
        profiler.intern_name(name)
    file = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it wraps unsigned numbers as it goes
        profiler.dump(np.asarray(words).reshape(-1), file, spec.grid, spec.block)
    return file.getvalue()


def jax_events(words: np.ndarray, spec: TraceSpec) -> list[dict[str, Any]]:
    """The events of that file."""
    return list(json.loads(jax_text(words, spec))["traceEvents"])
