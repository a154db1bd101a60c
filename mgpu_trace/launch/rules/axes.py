"""Collective allocations: which axes ``run_scoped`` may be given, as interpret mode checks them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import clipped
from mgpu_trace.launch import releases
from mgpu_trace.launch.config import LaunchConfig

_OLD_SENTENCE: Final = (
    "When interpreting `run_scoped` in a GPU kernel, non-empty `collective_axes` is currently only "
    "supported when it contains a single axis that agrees with the thread axis (i.e. `thread_name`) of "
    "the mesh."
)


def rules(config: LaunchConfig) -> Iterator[Diagnostic]:
    """MGT238 to 242. JAX stops at the first, so there is one at most."""
    axes = config.collective_axes
    if axes is None or not releases.has(config, releases.INTERPRET_MODE):
        return
    judge = _now if releases.has(config, releases.COLLECTIVE_RULES) else _before
    found = judge(config, axes)
    if found is not None:
        yield found


def _now(config: LaunchConfig, axes: tuple[str, ...]) -> Diagnostic | None:
    """The rules since 0.10.2. Grid axes are no axes that an allocation could be collective along."""
    thread, cluster = config.thread_axis, config.cluster_axes or ()
    known = [*cluster, *((thread,) if thread is not None else ())]
    there = set(known)
    unknown = [axis for axis in axes if axis not in there]
    if unknown:
        among = clipped(str(known), 400)
        return Diagnostic(
            catalogue.COLLECTIVE_AXIS_UNKNOWN,
            f"Collective axis `{clipped(unknown[0])}` not found among axes `{among}`",
            count=len(unknown),
            hint=_unknown_hint(config, unknown[0]),
        )
    if not thread:
        return _without_thread_axis() if axes else None
    if not set(cluster).isdisjoint(axes):
        return Diagnostic(
            catalogue.COLLECTIVE_CLUSTER_AXIS,
            "Collective allocations along cluster axes are not supported.",
            hint=f"give collective_axes={thread!r} alone",
        )
    if thread not in axes:
        return Diagnostic(
            catalogue.COLLECTIVE_MISSES_THREAD_AXIS,
            "Scoped allocation must have the thread axis in its collective axes.",
            hint=f"give collective_axes={thread!r}: all threads of a block share the allocation",
        )
    return None


def _without_thread_axis() -> Diagnostic:
    return Diagnostic(
        catalogue.COLLECTIVE_WITHOUT_THREAD_AXIS,
        "Requesting collective allocations, but no explicit thread axis specified.",
        hint="give the mesh num_threads and thread_name, or leave collective_axes out",
    )


def _unknown_hint(config: LaunchConfig, axis: str) -> str:
    if axis in (config.grid_axes or ()):
        return f"{axis} is an axis of the grid, whose blocks share no allocation; name the thread axis"
    if config.thread_axis is None:
        return "the mesh has no thread axis: give it num_threads and thread_name, or leave it out"
    return f"name the thread axis {config.thread_axis!r}"


def _before(config: LaunchConfig, axes: tuple[str, ...]) -> Diagnostic | None:
    """The rules before 0.10.2: nothing, or exactly the thread axis; one thread a block was let through."""
    single = config.num_threads in (None, 1) and releases.has(config, releases.SINGLE_THREAD_EXEMPT)
    if not axes or single or (len(axes) == 1 and axes[0] == config.thread_axis):
        return None
    alone = "give the thread axis alone" if config.thread_axis else "leave collective_axes out"
    return Diagnostic(
        catalogue.COLLECTIVE_AXES_OLD,
        _OLD_SENTENCE,
        hint=f"{alone}; from JAX 0.10.2 on the rules are others",
    )
