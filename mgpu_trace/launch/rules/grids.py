"""The grid, its clusters, and the names of a Pallas mesh's axes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.launch.config import LaunchConfig, Sizes
from mgpu_trace.launch.hardware import (
    MAX_CLUSTER_BLOCKS,
    MAX_CLUSTER_BLOCKS_NONPORTABLE,
    MAX_CLUSTER_DIMENSIONS,
    MAX_GRID,
    WITHOUT_CLUSTERS,
    architecture,
)
from mgpu_trace.spec import by


def rules(config: LaunchConfig) -> Iterator[Diagnostic]:
    """MGT231 to 235."""
    if config.cluster is not None:
        yield from _cluster(config.cluster, config)
    yield from _names("grid", config.grid, config.grid_axes)
    yield from _names("cluster", config.cluster, config.cluster_axes)
    if (config.num_threads is None) != (config.thread_axis is None):
        yield Diagnostic(
            catalogue.THREAD_AXIS_HALF_SAID,
            "num_threads and thread_name must be either both set or both None, got "
            f"num_threads={config.num_threads}, thread_name={config.thread_axis!r}",
            hint="give num_threads and thread_axis, or block alone",
        )


def _cluster(cluster: Sizes, config: LaunchConfig) -> Iterator[Diagnostic]:
    if len(cluster) > MAX_CLUSTER_DIMENSIONS:
        yield Diagnostic(
            catalogue.CLUSTER_DIMENSIONS,
            f"cluster= must be at most 3D, got {by(cluster)}",
            hint="fold dimensions together",
        )
        return
    yield from _size(cluster, config)
    yield from _division(config.grid, cluster)


def _size(cluster: Sizes, config: LaunchConfig) -> Iterator[Diagnostic]:
    blocks, arch = math.prod(cluster), architecture(config.arch or "")
    most = MAX_CLUSTER_BLOCKS_NONPORTABLE if config.nonportable_cluster else MAX_CLUSTER_BLOCKS
    if arch in WITHOUT_CLUSTERS:
        most = 1
    if blocks <= most:
        return
    opting, hint = "", "use a smaller cluster"
    if arch in WITHOUT_CLUSTERS:
        opting = f" on {arch}: clusters came with sm_90"
    elif not config.nonportable_cluster:
        opting = f", {MAX_CLUSTER_BLOCKS_NONPORTABLE} with the non-portable opt-in"
        if blocks <= MAX_CLUSTER_BLOCKS_NONPORTABLE:
            hint += ", or say nonportable_cluster: Mosaic GPU opts in by itself, and the device decides"
    yield Diagnostic(
        catalogue.CLUSTER_TOO_LARGE,
        f"a cluster of {by(cluster)} is {blocks} blocks, and the most is {most}{opting}",
        hint=hint,
    )


def _division(grid: Sizes | None, cluster: Sizes) -> Iterator[Diagnostic]:
    """JAX looks at nothing where the cluster is a single block, and stops at the first dimension."""
    if grid is None or math.prod(cluster) == 1:
        return
    padded = (*grid, *(1,) * (MAX_CLUSTER_DIMENSIONS - len(grid)))
    wrong = [
        (d, g, c, most) for d, g, c, most in zip("xyz", padded, cluster, MAX_GRID, strict=False) if g % c
    ]
    if wrong:
        (d, g, c, most), *_ = wrong
        near = " or ".join(str(n) for n in (g // c * c, g // c * c + c) if 0 < n <= most)
        yield Diagnostic(
            catalogue.CLUSTER_NOT_DIVIDING,
            f"Grid dimension {d} must be divisible by cluster dimension: {g} % {c} != 0",
            count=len(wrong),
            hint=f"use {near} blocks along {d}; the grid counts blocks, and a Pallas Mesh's counts clusters",
        )


def _names(what: str, sizes: Sizes | None, names: tuple[str, ...] | None) -> Iterator[Diagnostic]:
    if sizes is None or names is None or len(sizes) == len(names):
        return
    yield Diagnostic(
        catalogue.AXIS_NAMES_MISMATCH,
        f"{what}_names must have the same length as {what}, got "
        f"{counted(len(names), 'name')} for {what} {by(sizes) or '()'}",
        hint=f"give {what}_axes one name for each of the {len(sizes)}",
    )
