"""Sizes that no launch has, whatever else it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.launch.config import LaunchConfig, Sizes
from mgpu_trace.launch.hardware import MAX_BLOCK, MAX_GRID, MAX_THREADS_PER_BLOCK
from mgpu_trace.spec import by

# Field, the least that it may be. JAX takes profile_space 0 for "not profiled".
_LEAST: Final = {
    "words_per_track": 1,
    "profile_space": 0,
    "smem_bytes": 0,
    "smem_limit_bytes": 1,
    "n_events": 0,
    "n_ranges": 0,
    "n_names": 0,
    "num_threads": 1,
}


def rules(config: LaunchConfig) -> Iterator[Diagnostic]:
    """MGT230."""
    yield from _dimensions("grid", config.grid, MAX_GRID)
    yield from _dimensions("block", config.block, MAX_BLOCK)
    if config.cluster is not None and any(size < 1 for size in config.cluster):
        yield _wrong(f"cluster {by(config.cluster)}: every size must be at least 1", "correct cluster")
    for field, least in _LEAST.items():
        value = getattr(config, field)
        if value is not None and value < least:
            yield _wrong(f"{field} is {value}", f"it takes a number of at least {least}")


def _dimensions(what: str, sizes: Sizes | None, most: Sizes) -> Iterator[Diagnostic]:
    if sizes is None:
        return
    if len(sizes) > len(most):
        yield _wrong(f"{what} {by(sizes)} has {len(sizes)} dimensions", f"CUDA takes at most {len(most)}")
    elif any(size < 1 for size in sizes):
        yield _wrong(f"{what} {by(sizes)}: every size must be at least 1", f"correct {what}")
    elif (over := _over(sizes, most)) and (what == "grid" or math.prod(sizes) <= MAX_THREADS_PER_BLOCK):
        yield _wrong(
            f"{what} {by(sizes)} is too large along {over}",
            f"CUDA takes at most {by(most)}" + ("; put the larger sizes along x" if what == "grid" else ""),
        )


def _over(sizes: Sizes, most: Sizes) -> str:
    """The first dimension that is larger than it may be, or nothing (MGT221 is for the product)."""
    return next((d for d, size, limit in zip("xyz", sizes, most, strict=False) if size > limit), "")


def _wrong(message: str, hint: str) -> Diagnostic:
    return Diagnostic(catalogue.SIZE_OUT_OF_RANGE, message, hint=hint)
