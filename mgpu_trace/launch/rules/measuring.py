"""Names, iterations, and what an older JAX does not have."""

from __future__ import annotations

from collections.abc import Iterator

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.launch import releases
from mgpu_trace.launch.config import LaunchConfig
from mgpu_trace.layout import Scope


def rules(config: LaunchConfig) -> Iterator[Diagnostic]:
    """MGT236, 237 and 243."""
    n_names = config.n_names
    if n_names is not None and n_names > layout.EXIT_BIT:
        yield Diagnostic(
            catalogue.TOO_MANY_NAMES,
            f"Allocated too many names: {n_names} names, and ids from {layout.EXIT_BIT} on have the EXIT bit",
            hint="give fewer regions names of their own",
        )
    if config.iterations is not None and config.iterations < 1:
        yield Diagnostic(
            catalogue.ITERATIONS_NOT_POSITIVE,
            f"iterations={config.iterations} must be positive",
            hint="measure at least 1",
        )
    yield from _newer(config)


def _newer(config: LaunchConfig) -> Iterator[Diagnostic]:
    asked = (
        (config.scope is Scope.WARP, "warp scope (profile_trace_scope)", releases.WARP_SCOPE),
        (config.bounds_checked is True, "profile_bounds_check", releases.BOUNDS_CHECK),
        (bool(config.profile_space), "Pallas's profile_space", releases.PROFILE_SPACE),
        (config.iterations is not None, "iterations of measure", releases.ITERATIONS),
        (config.collective_axes is not None, "interpret mode for GPUs", releases.INTERPRET_MODE),
    )
    missing = [
        (what, since) for is_asked, what, since in asked if is_asked and not releases.has(config, since)
    ]
    if missing:
        what = " and ".join(f"{what} from {releases.spelled(since)} on" for what, since in missing)
        newest = releases.spelled(max(since for _, since in missing))
        yield Diagnostic(
            catalogue.NEWER_JAX_NEEDED,
            f"JAX {config.jax_version} lacks what the launch asks for: {what}",
            count=len(missing),
            hint=f"use JAX {newest} or later, or do without",
        )
