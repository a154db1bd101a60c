"""The threads of a block, and how they share tracks."""

from __future__ import annotations

from collections.abc import Iterator

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import clipped
from mgpu_trace.launch import releases
from mgpu_trace.launch.config import LaunchConfig
from mgpu_trace.launch.facts import LaunchFacts
from mgpu_trace.launch.hardware import (
    MAX_MOSAIC_THREADS,
    MAX_THREADS_PER_BLOCK,
    THREADS_PER_MOSAIC_THREAD,
)
from mgpu_trace.layout import Scope
from mgpu_trace.spec import block_not_multiple, by


def rules(config: LaunchConfig, facts: LaunchFacts) -> Iterator[Diagnostic]:
    """MGT207, 220, 221 and 222."""
    if isinstance(config.scope, str):
        yield Diagnostic(
            catalogue.UNSUPPORTED_SCOPE,
            f"Unsupported trace scope: {clipped(config.scope)}",
            hint="use warp or warpgroup",
        )
    elif config.block is not None and facts.tracks_per_block is None:
        old = config.scope is Scope.WARPGROUP and not releases.has(config, releases.BLOCK_SENTENCE)
        yield block_not_multiple(config.block, config.scope, "warpgroup size" if old else None)
    if config.num_threads is not None and config.num_threads > MAX_MOSAIC_THREADS:
        yield Diagnostic(
            catalogue.TOO_MANY_MOSAIC_THREADS,
            "Requested too many CUDA threads per block. Each Mosaic thread corresponds to "
            f"{THREADS_PER_MOSAIC_THREAD} CUDA threads. At most {MAX_MOSAIC_THREADS} are supported, got "
            f"num_threads={config.num_threads}",
            hint=f"CUDA itself stops at {_most(Scope.WARPGROUP)}",
        )
    elif _too_many(config, facts):
        said = f"num_threads {config.num_threads}" if config.block is None else f"block {by(config.block)}"
        yield Diagnostic(
            catalogue.TOO_MANY_THREADS,
            f"{said} is {facts.n_threads} threads, and a CUDA block has at most {MAX_THREADS_PER_BLOCK}",
            hint=f"use at most {_most(config.scope)}; JAX lets {MAX_MOSAIC_THREADS} through and the "
            "launch fails",
        )


def _too_many(config: LaunchConfig, facts: LaunchFacts) -> bool:
    """More threads than CUDA takes, in whole units: what is no multiple has its own finding."""
    whole = facts.tracks_per_block is not None or isinstance(config.scope, str)
    return whole and facts.n_threads is not None and facts.n_threads > MAX_THREADS_PER_BLOCK


def _most(scope: Scope | str) -> str:
    if isinstance(scope, str):
        return f"{MAX_THREADS_PER_BLOCK} threads"
    return f"{MAX_THREADS_PER_BLOCK // scope.value} {scope.label}s"
