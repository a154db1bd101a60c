"""What CUDA and its devices allow a launch: the numbers, each with its source.

Shared memory per block is the opt-in limit of the CUDA C++ programming guide's table of compute
capabilities (its 1 KiB that the system keeps is already taken off). Grid, block and cluster limits are
from the same table.
"""

from __future__ import annotations

import re
from typing import Final

MAX_THREADS_PER_BLOCK: Final = 1024
MAX_BLOCK: Final = (1024, 1024, 64)
MAX_GRID: Final = (2**31 - 1, 65535, 65535)
MAX_CLUSTER_DIMENSIONS: Final = 3
# Every part runs clusters of 8; 16 needs cudaFuncAttributeNonPortableClusterSizeAllowed and luck.
MAX_CLUSTER_BLOCKS: Final = 8
MAX_CLUSTER_BLOCKS_NONPORTABLE: Final = 16
# Clusters came with compute capability 9.0.
WITHOUT_CLUSTERS: Final = frozenset({"sm_80", "sm_86", "sm_89"})
# The largest memory of any device known here, that of a B300; a buffer has to fit into it.
LARGEST_DEVICE_BYTES: Final = 288 * 10**9
# JAX's Mesh lets 2048 // 128 Mosaic threads through; CUDA stops at 1024 threads.
MAX_MOSAIC_THREADS: Final = 16
THREADS_PER_MOSAIC_THREAD: Final = 128

_KIB: Final = 1024
SMEM_LIMIT_BYTES: Final = {
    "sm_80": 163 * _KIB,
    "sm_86": 99 * _KIB,
    "sm_89": 99 * _KIB,
    "sm_90": 227 * _KIB,
    "sm_100": 227 * _KIB,
    "sm_103": 227 * _KIB,
    "sm_120": 99 * _KIB,
}
# Where JAX sees no device it takes the limit of sm_90 and sm_10x (mosaic/gpu/core.py, _launch).
SMEM_LIMIT_ASSUMED_BYTES: Final = 227 * _KIB
# st.shared.v2.u32 stores tag and clock at once, which takes an address that is a multiple of 8.
SMEM_ALIGNMENT_BYTES: Final = 8


def architecture(text: str) -> str | None:
    """The known architecture that ``text`` names (``sm_90``, ``sm_90a``, ``90``, ``9.0``), or None."""
    match = re.fullmatch(r"(?:sm_?|compute_?)?(\d{1,2})\.?(\d)[af]?", text.strip().lower(), re.ASCII)
    name = f"sm_{match[1]}{match[2]}" if match else ""
    return name if name in SMEM_LIMIT_BYTES else None


def aligned(n_bytes: int) -> int:
    """``n_bytes`` rounded up to where the profile area may start."""
    return -(-n_bytes // SMEM_ALIGNMENT_BYTES) * SMEM_ALIGNMENT_BYTES
