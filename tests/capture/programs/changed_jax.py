"""A JAX whose internals are not those that the hook knows: its sources are changed as they are imported.

Imported before JAX. MGPU_CHANGED_JAX names the changes, with commas between.
"""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any

PROFILER = "jax.experimental.mosaic.gpu.profiler"
MOSAIC = "jax.experimental.mosaic.gpu.core"
PALLAS = "jax._src.pallas.mosaic_gpu.pallas_call_registration"
LOWERING = "jax._src.pallas.mosaic_gpu.lowering"
LAYOUT_RULES = "jax._src.pallas.mosaic_gpu.layout_rules"
DISPATCH = "jax._src.dispatch"
PXLA = "jax._src.interpreters.pxla"
DEBUG = "jax.debug"

# Module -> what is written there now -> what will have been written there.
CHANGES: dict[str, dict[str, tuple[str, str]]] = {
    "dump renamed": {
        PROFILER: ("def dump(", "def dump_json("),
        MOSAIC: ("prof_spec.dump(", "prof_spec.dump_json("),
        PALLAS: ("prof_spec.dump(", "prof_spec.dump_json("),
    },
    "dump takes a launch": {
        PROFILER: (
            "def dump(self, buffer, f, grid: tuple[int, ...], block: tuple[int, ...]):",
            "def dump(self, buffer, f, launch):\n    grid, block = launch",
        ),
        MOSAIC: (
            "prof_spec.dump(prof_buffer, f, grid=grid, block=block)",
            "prof_spec.dump(prof_buffer, f, (grid, block))",
        ),
        PALLAS: (
            "grid=lowering_result.grid,\n              block=lowering_result.block,",
            "(lowering_result.grid, lowering_result.block),",
        ),
    },
    "no callback": {
        DEBUG: ("debug_callback as callback", "debug_callback as call_back"),
        MOSAIC: ("jax.debug.callback(", "jax.debug.call_back("),
        PALLAS: ("jax.debug.callback(", "jax.debug.call_back("),
    },
    "lowering renamed": {
        MOSAIC: ("_lower_as_gpu_kernel(", "_lower_gpu_kernel("),
        LOWERING: ("_lower_as_gpu_kernel(", "_lower_gpu_kernel("),
        LAYOUT_RULES: ("_lower_as_gpu_kernel(", "_lower_gpu_kernel("),
    },
    "pallas lowering renamed": {LOWERING: ("lower_jaxpr_to_module(", "lower_to_module(")},
    "dispatch renamed": {
        DISPATCH: ("jaxpr_has_prim_requiring_devices(", "jaxpr_asks_for_devices("),
        PXLA: ("jaxpr_has_prim_requiring_devices(", "jaxpr_asks_for_devices("),
    },
    "opened otherwise": {
        MOSAIC: ('open(out_file, "x")', '__import__("pathlib").Path(out_file).open("x")'),
        PALLAS: ('open(out_file, "x")', '__import__("pathlib").Path(out_file).open("x")'),
    },
}


class _Changed(SourceFileLoader):
    def __init__(self, name: str, path: str, changes: list[tuple[str, str]]) -> None:
        super().__init__(name, path)
        self._changes = changes

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path).decode()
        for old, new in self._changes:
            source = source.replace(old, new)
        return compile(source, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, changes: list[dict[str, tuple[str, str]]]) -> None:
        self._changes = changes

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        changes = [change[fullname] for change in self._changes if fullname in change]
        spec = PathFinder.find_spec(fullname, path) if changes else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Changed(fullname, spec.origin, changes)
        return spec


chosen = [CHANGES[name] for name in os.environ.get("MGPU_CHANGED_JAX", "").split(",") if name]
sys.meta_path.insert(sys.meta_path.index(PathFinder), _Finder(chosen))  # just before who finds the sources
