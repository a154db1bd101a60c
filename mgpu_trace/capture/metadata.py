"""What is known about a launch where it is captured: the spec that goes with its buffer."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from typing import Any

from mgpu_trace.layout import Scope
from mgpu_trace.spec import Dim3, TraceSpec

# How Pallas names the file that it would write: {function}-{time_ns}-trace.json
_TRACE_FILE = re.compile(r"(?P<kernel>.+)-\d+-trace\.json")


def kernel_of_file(path: str) -> str | None:
    """The kernel's name in the name of the file that Pallas would have written."""
    match = _TRACE_FILE.fullmatch(os.path.basename(path))
    return match["kernel"] if match else None


def make_spec(
    profiler: Any,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    *,
    names: tuple[str, ...],
    **seen: Any,
) -> TraceSpec:
    """The spec of a launch.

    Parameters
    ----------
    profiler
        JAX's ``ProfilerSpec`` of the kernel. ``trace_scope`` came in 0.10.1, ``bounds_check`` in
        0.11.1.
    grid, block
        As ``ProfilerSpec.dump`` is given them.
    names
        Its interned names at the time of the launch, in the order of their ids.
    **seen
        Further fields of TraceSpec.
    """
    scope = getattr(profiler, "trace_scope", None)
    return TraceSpec(
        grid=_dim3(grid),
        block=_dim3(block),
        words_per_track=int(profiler.entries_per_warpgroup),
        scope=Scope.WARPGROUP if scope is None else Scope[scope.name],
        names=names,
        bounds_checked=bool(getattr(profiler, "bounds_check", False)),
        **seen,
        **_of_process(),
    )


def interned_names(profiler: Any) -> tuple[str, ...]:
    """The names of a ``ProfilerSpec``, by id."""
    by_id = sorted((i, name) for name, i in profiler.interned_names.items())
    return tuple(name for _, name in by_id)


def process_index() -> int:
    """JAX's number of this process."""
    return int(sys.modules["jax"].process_index())


def _dim3(sizes: tuple[int, ...]) -> Dim3:
    x, y, z = (*map(int, sizes), *(1,) * (3 - len(sizes)))
    return (x, y, z)


@cache
def _of_process() -> dict[str, Any]:
    """Versions and the kind of device, which do not change while a process runs."""
    jax = sys.modules["jax"]
    device = jax.local_devices()[0]
    found = {
        "jax_version": jax.__version__,
        "jaxlib_version": sys.modules["jaxlib"].__version__,
        "device": str(device.device_kind),
        "n_sms": getattr(device, "core_count", None),
    }
    return {name: value for name, value in found.items() if value is not None}
