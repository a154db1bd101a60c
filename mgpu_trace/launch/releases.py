"""Which release of JAX brought what a launch may ask for (read from the sources of 18 releases)."""

from __future__ import annotations

from typing import Final

from mgpu_trace.launch.config import LaunchConfig

Release = tuple[int, int, int]

PROFILE_SPACE: Final = (0, 4, 36)
ITERATIONS: Final = (0, 7, 2)
WARP_SCOPE: Final = (0, 10, 1)
BOUNDS_CHECK: Final = (0, 11, 1)
# GPU interpret mode at all, and the rules for collective axes that it has now.
INTERPRET_MODE: Final = (0, 9, 0)
COLLECTIVE_RULES: Final = (0, 10, 2)
# From here to COLLECTIVE_RULES a block of one thread could ask for any axes.
SINGLE_THREAD_EXEMPT: Final = (0, 9, 1)
# "Block size is not a multiple of 128" was "... of warpgroup size" before.
BLOCK_SENTENCE: Final = (0, 10, 1)


def has(config: LaunchConfig, since: Release) -> bool:
    """Whether the JAX of ``config`` is that release or later; one that is not said is the newest."""
    return config.release is None or config.release >= since


def spelled(release: Release) -> str:
    return ".".join(map(str, release))
