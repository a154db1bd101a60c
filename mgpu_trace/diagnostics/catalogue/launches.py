"""MGT213 to MGT249: whether a launch can be made and profiled, before it is made."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "AXIS_NAMES_MISMATCH",
    "BUFFER_TOO_LARGE",
    "CLUSTER_DIMENSIONS",
    "CLUSTER_NOT_DIVIDING",
    "CLUSTER_TOO_LARGE",
    "COLLECTIVE_AXES_OLD",
    "COLLECTIVE_AXIS_UNKNOWN",
    "COLLECTIVE_CLUSTER_AXIS",
    "COLLECTIVE_MISSES_THREAD_AXIS",
    "COLLECTIVE_WITHOUT_THREAD_AXIS",
    "ITERATIONS_NOT_POSITIVE",
    "LAUNCH_CONTRADICTS",
    "LAUNCH_FILE_INVALID",
    "LAUNCH_OVERFLOWS",
    "LAUNCH_TRUNCATES",
    "MISALIGNED_TRACKS",
    "NEWER_JAX_NEEDED",
    "PROFILE_DIR_MISSING",
    "SIZE_OUT_OF_RANGE",
    "SMEM_EXCEEDED",
    "THREAD_AXIS_HALF_SAID",
    "TOO_FEW_RANGES",
    "TOO_MANY_MOSAIC_THREADS",
    "TOO_MANY_NAMES",
    "TOO_MANY_THREADS",
    "UNKNOWN_ARCHITECTURE",
    "UNSUPPORTED_SCOPE",
    "UNUSED_WORD",
]

LAUNCH_FILE_INVALID: Final = Code(
    "MGT213", "launch-file-invalid", Severity.ERROR, "the launch file cannot be used"
)

LAUNCH_CONTRADICTS: Final = Code(
    "MGT214", "launch-contradicts", Severity.ERROR, "what is said about the launch contradicts itself"
)

UNKNOWN_ARCHITECTURE: Final = Code(
    "MGT215", "unknown-architecture", Severity.ERROR, "the limits of the architecture are not known"
)

UNSUPPORTED_SCOPE: Final = Code(
    "MGT220", "unsupported-scope", Severity.ERROR, "the trace scope is neither warp nor warpgroup"
)

TOO_MANY_THREADS: Final = Code(
    "MGT221", "too-many-threads", Severity.ERROR, "the block has more threads than CUDA takes"
)

TOO_MANY_MOSAIC_THREADS: Final = Code(
    "MGT222", "too-many-mosaic-threads", Severity.ERROR, "the mesh has more threads than Mosaic takes"
)

SMEM_EXCEEDED: Final = Code(
    "MGT223", "smem-exceeded", Severity.ERROR, "kernel and profile do not fit into shared memory"
)

TOO_FEW_RANGES: Final = Code(
    "MGT224", "too-few-ranges", Severity.ERROR, "a track has no room for a range of the kernel's own"
)

UNUSED_WORD: Final = Code("MGT225", "unused-word", Severity.INFO, "one word of every track can hold no event")

MISALIGNED_TRACKS: Final = Code(
    "MGT226",
    "misaligned-tracks",
    Severity.ERROR,
    "tracks of an odd number of words are misaligned in shared memory",
)

PROFILE_DIR_MISSING: Final = Code(
    "MGT227", "profile-dir-missing", Severity.ERROR, "only one of profile_space and profile_dir is set"
)

LAUNCH_OVERFLOWS: Final = Code(
    "MGT228", "launch-overflows", Severity.ERROR, "the events do not fit, and nothing stops them"
)

LAUNCH_TRUNCATES: Final = Code(
    "MGT229", "launch-truncates", Severity.WARNING, "the events do not fit, and the last are dropped"
)

SIZE_OUT_OF_RANGE: Final = Code(
    "MGT230", "size-out-of-range", Severity.ERROR, "a size of the launch is not one that CUDA takes"
)

CLUSTER_NOT_DIVIDING: Final = Code(
    "MGT231", "cluster-not-dividing", Severity.ERROR, "the cluster does not divide the grid"
)

CLUSTER_DIMENSIONS: Final = Code(
    "MGT232", "cluster-dimensions", Severity.ERROR, "the cluster has more than three dimensions"
)

CLUSTER_TOO_LARGE: Final = Code(
    "MGT233", "cluster-too-large", Severity.ERROR, "the cluster has more blocks than the hardware takes"
)

AXIS_NAMES_MISMATCH: Final = Code(
    "MGT234", "axis-names-mismatch", Severity.ERROR, "the mesh has another number of axis names than axes"
)

THREAD_AXIS_HALF_SAID: Final = Code(
    "MGT235", "thread-axis-half-said", Severity.ERROR, "only one of num_threads and thread_name is set"
)

TOO_MANY_NAMES: Final = Code(
    "MGT236", "too-many-names", Severity.ERROR, "a name id would collide with the EXIT bit"
)

ITERATIONS_NOT_POSITIVE: Final = Code(
    "MGT237", "iterations-not-positive", Severity.ERROR, "the number of iterations is not positive"
)

COLLECTIVE_WITHOUT_THREAD_AXIS: Final = Code(
    "MGT238",
    "collective-without-thread-axis",
    Severity.ERROR,
    "a collective allocation needs a mesh with a thread axis",
)

COLLECTIVE_CLUSTER_AXIS: Final = Code(
    "MGT239",
    "collective-cluster-axis",
    Severity.ERROR,
    "an allocation cannot be collective along a cluster axis",
)

COLLECTIVE_MISSES_THREAD_AXIS: Final = Code(
    "MGT240",
    "collective-misses-thread-axis",
    Severity.ERROR,
    "an allocation must be collective along the thread axis",
)

COLLECTIVE_AXIS_UNKNOWN: Final = Code(
    "MGT241", "collective-axis-unknown", Severity.ERROR, "a collective axis is not an axis of the mesh"
)

COLLECTIVE_AXES_OLD: Final = Code(
    "MGT242",
    "collective-axes-old",
    Severity.ERROR,
    "JAX before 0.10.2 interprets no other collective axis than the thread axis",
)

NEWER_JAX_NEEDED: Final = Code(
    "MGT243", "newer-jax-needed", Severity.ERROR, "the launch asks for what this JAX does not have"
)

BUFFER_TOO_LARGE: Final = Code(
    "MGT244", "buffer-too-large", Severity.ERROR, "the buffer is larger than the memory of any device"
)

CODES: Final[tuple[Code, ...]] = (
    LAUNCH_FILE_INVALID,
    LAUNCH_CONTRADICTS,
    UNKNOWN_ARCHITECTURE,
    UNSUPPORTED_SCOPE,
    TOO_MANY_THREADS,
    TOO_MANY_MOSAIC_THREADS,
    SMEM_EXCEEDED,
    TOO_FEW_RANGES,
    UNUSED_WORD,
    MISALIGNED_TRACKS,
    PROFILE_DIR_MISSING,
    LAUNCH_OVERFLOWS,
    LAUNCH_TRUNCATES,
    SIZE_OUT_OF_RANGE,
    CLUSTER_NOT_DIVIDING,
    CLUSTER_DIMENSIONS,
    CLUSTER_TOO_LARGE,
    AXIS_NAMES_MISMATCH,
    THREAD_AXIS_HALF_SAID,
    TOO_MANY_NAMES,
    ITERATIONS_NOT_POSITIVE,
    COLLECTIVE_WITHOUT_THREAD_AXIS,
    COLLECTIVE_CLUSTER_AXIS,
    COLLECTIVE_MISSES_THREAD_AXIS,
    COLLECTIVE_AXIS_UNKNOWN,
    COLLECTIVE_AXES_OLD,
    NEWER_JAX_NEEDED,
    BUFFER_TOO_LARGE,
)
