"""The modules of JAX in which a capture replaces something (see hooks.py)."""

from __future__ import annotations

from typing import Final

PROFILER: Final = "jax.experimental.mosaic.gpu.profiler"
MOSAIC: Final = "jax.experimental.mosaic.gpu.core"
PALLAS: Final = "jax._src.pallas.mosaic_gpu.pallas_call_registration"
LOWERING: Final = "jax._src.pallas.mosaic_gpu.lowering"
DEBUG: Final = "jax.debug"
DISPATCH: Final = "jax._src.dispatch"

MODULES: Final = frozenset({PROFILER, MOSAIC, PALLAS, LOWERING, DEBUG, DISPATCH})
