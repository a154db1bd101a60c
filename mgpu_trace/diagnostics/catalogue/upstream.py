"""MGT8xx: what JAX says around profiling, which mgpu-trace itself never finds."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "ALLOCATION_OWNER",
    "CUPTI_UNEVEN",
    "CUPTI_UNSUPPORTED",
    "INTERPRET_GRID",
    "NOT_THREAD_COLLECTIVE",
    "NO_AXIS_NAMES",
    "OUT_OF_BOUNDS_READ",
    "PROFILE_EXISTS",
    "UNKNOWN_CLUSTER_AXIS",
    "UNSUPPORTED_MESH",
    "WRONG_PLATFORM",
]

CUPTI_UNSUPPORTED: Final = Code(
    "MGT801", "cupti-unsupported", Severity.ERROR, "this JAX cannot measure kernels with CUPTI"
)

CUPTI_UNEVEN: Final = Code(
    "MGT802", "cupti-uneven", Severity.ERROR, "the iterations did not launch the same kernels"
)

ALLOCATION_OWNER: Final = Code(
    "MGT803",
    "allocation-owner",
    Severity.ERROR,
    "interpret mode allocates shared buffers as thread and block 0",
)

UNKNOWN_CLUSTER_AXIS: Final = Code(
    "MGT804",
    "unknown-cluster-axis",
    Severity.ERROR,
    "the kernel names a cluster axis that its mesh does not have",
)

NO_AXIS_NAMES: Final = Code(
    "MGT805", "no-axis-names", Severity.ERROR, "the kernel names an axis and has no mesh"
)

UNSUPPORTED_MESH: Final = Code(
    "MGT806", "unsupported-mesh", Severity.ERROR, "the kernel's mesh is not a Mosaic GPU mesh"
)

INTERPRET_GRID: Final = Code(
    "MGT807",
    "interpret-grid",
    Severity.ERROR,
    "interpret mode was given a grid of another size than the mesh",
)

PROFILE_EXISTS: Final = Code(
    "MGT808", "profile-exists", Severity.WARNING, "JAX dropped a profile because its file exists"
)

OUT_OF_BOUNDS_READ: Final = Code(
    "MGT809", "out-of-bounds-read", Severity.ERROR, "the interpreted kernel read beyond a buffer"
)

NOT_THREAD_COLLECTIVE: Final = Code(
    "MGT810",
    "not-thread-collective",
    Severity.ERROR,
    "the compiler allocates for all threads of a block or not at all",
)

WRONG_PLATFORM: Final = Code(
    "MGT811", "wrong-platform", Severity.ERROR, "a kernel for the GPU was run on another backend"
)

CODES: Final[tuple[Code, ...]] = (
    CUPTI_UNSUPPORTED,
    CUPTI_UNEVEN,
    ALLOCATION_OWNER,
    UNKNOWN_CLUSTER_AXIS,
    NO_AXIS_NAMES,
    UNSUPPORTED_MESH,
    INTERPRET_GRID,
    PROFILE_EXISTS,
    OUT_OF_BOUNDS_READ,
    NOT_THREAD_COLLECTIVE,
    WRONG_PLATFORM,
)
