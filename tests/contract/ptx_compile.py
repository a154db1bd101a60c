"""Compile profiled kernels to PTX with the real Mosaic GPU compiler, on a machine without a GPU.

A program of its own, since it sets environment variables that JAX reads once::

    python ptx_compile.py FOLDER

writes a ``.ptx`` file per kernel into FOLDER, and one JSON object to standard output: JAX's version, and for
each kernel where its PTX is and what JAX's own profiler said about it (grid, block, words, names).

Needs jax and, with the same version, jax-cuda13-plugin and jax-cuda13-pjrt (``pip install --no-deps``).
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OUT = Path(sys.argv[1]).resolve()
os.environ |= {
    "JAX_PLATFORMS": "cpu",
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
    "MOSAIC_GPU_DUMP_PTX": "1",
    "MOSAIC_GPU_DUMP_TO": str(OUT),
}

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax._src.interpreters import mlir  # noqa: E402
from jax.experimental import topologies  # noqa: E402
from jax.experimental.mosaic import gpu as mgpu  # noqa: E402
from jax.experimental.mosaic.gpu import profiler  # noqa: E402
from jax.experimental.mosaic.gpu import utils as mgpu_utils  # noqa: E402
from jax.experimental.pallas import mosaic_gpu as plgpu  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402
from jaxlib.mlir.dialects import arith  # noqa: E402

# What the compiler asks of a device: a card of compute capability 9.0.
DEVICE = """
gpu_device_info {
  cuda_compute_capability { major: 9 feature_extension: ACCELERATED_FEATURES }
  threads_per_block_limit: 1024 threads_per_warp: 32 core_count: 132
  shared_memory_per_block: 49152 shared_memory_per_block_optin: 232448
}
platform_name: "CUDA"
device_description_str: "sm_90a"
"""
N = 384  # elements: divisible by the threads of one and of three warpgroups
STEPS = 3
WORDS_PER_SPACE = 4  # of Pallas's profile_space, from 0.10.0 on
GRID = (2, 3, 5)
PARAMETERS = inspect.signature(profiler.ProfilerSpec.__init__).parameters
HAS_BOUNDS_CHECK = "bounds_check" in PARAMETERS  # 0.11.1
HAS_SCOPE = "trace_scope" in PARAMETERS  # 0.10.1


@dataclass(frozen=True)
class Wanted:
    """A kernel to compile."""

    name: str
    maker: str
    scope: str = "warpgroup"
    warpgroups: int = 1
    checked: bool = False
    words: int = 44
    scratch_bytes: int = 0


def pallas(wanted: Wanted) -> Any:
    """Nested scopes, a loop of a known length, and one that is as long as the block's number says."""

    def body(x: Any, o: Any) -> None:
        def step(_: Any, carry: None) -> None:
            with jax.named_scope("step"):
                o[...] = x[...] + o[...]

        with jax.named_scope("outer"), jax.named_scope("inner"):
            o[...] = x[...] * 2
        jax.lax.fori_loop(0, STEPS, step, None)
        jax.lax.fori_loop(0, jax.lax.axis_index("c"), step, None)

    body.__name__ = wanted.name
    more: dict[str, Any] = {"profile_bounds_check": True} if wanted.checked else {}
    if HAS_SCOPE:
        more["profile_trace_scope"] = getattr(plgpu.TraceScope, wanted.scope.upper())
    threads = {"num_threads": wanted.warpgroups, "thread_name": "w"} if wanted.warpgroups > 1 else {}
    shape = "out_type" if "out_type" in inspect.signature(plgpu.kernel).parameters else "out_shape"
    return plgpu.kernel(
        body,
        **{shape: jax.ShapeDtypeStruct([N], jnp.float32)},
        grid=GRID,
        grid_names=("a", "b", "c"),
        **threads,
        compiler_params=plgpu.CompilerParams(
            profile_space=wanted.words // WORDS_PER_SPACE, profile_dir=str(OUT), **more
        ),
    )


def mosaic(wanted: Wanted) -> Any:
    """The same regions, and then one of two, by warpgroup."""

    def body(ctx: Any, x: Any, o: Any, scratch: Any) -> None:
        def copy() -> None:
            mgpu.FragmentedArray.load_strided(x).store_untiled(o)

        with ctx.named_region("outer"), ctx.named_region("inner"):
            copy()

        @mgpu.fori(mgpu.c(STEPS, ir.IndexType.get()), None)
        def loop(i: Any, carry: None) -> None:
            with ctx.named_region("step"):
                copy()

        warpgroup = mgpu_utils.warpgroup_idx()
        zero = mgpu.c(0, ir.IntegerType.get_signless(32))
        for name, predicate in (("produce", arith.CmpIPredicate.eq), ("consume", arith.CmpIPredicate.ne)):
            with mgpu_utils.when(arith.cmpi(predicate, warpgroup, zero)), ctx.named_region(name):
                copy()

    more: dict[str, Any] = {"bounds_check": True} if wanted.checked else {}
    if HAS_SCOPE:
        more["trace_scope"] = getattr(mgpu_utils.ThreadSubset, wanted.scope.upper())
    with mlir.make_ir_context() as context, ir.Location.unknown():
        mgpu.dialect.register_dialect(context)
        return mgpu.as_gpu_kernel(
            body,
            GRID,
            (128 * wanted.warpgroups, 1, 1),
            jax.ShapeDtypeStruct([N], jnp.float32),
            jax.ShapeDtypeStruct([N], jnp.float32),
            (jax.ShapeDtypeStruct([wanted.scratch_bytes], jnp.int8),) if wanted.scratch_bytes else (),
            prof_spec=profiler.ProfilerSpec(wanted.words, dump_path=str(OUT), **more),
            module_name=wanted.name,
            kernel_name=wanted.name,
        )


def all_wanted() -> list[Wanted]:
    """Every combination that this JAX has, and some at the edges."""
    scopes = ("warpgroup", "warp") if HAS_SCOPE else ("warpgroup",)
    checks = (False, True) if HAS_BOUNDS_CHECK else (False,)
    wanted = [
        # So few words that not all events fit, in a Pallas kernel those of later blocks.
        Wanted(
            f"{maker}_{scope}_{n}{'_checked' * checked}", maker, scope, n, checked, (full if checked else 44)
        )
        for maker, full in (("pallas", 32), ("mosaic", 28))
        for scope in scopes
        for n in (1, 3)
        for checked in checks
    ]
    wanted += [
        Wanted("unrolled", "mosaic", scopes[-1], 3, words=32),  # the copy has no loop
        Wanted("scratch", "mosaic", warpgroups=3, scratch_bytes=12),
        Wanted("overrun", "mosaic", warpgroups=3, words=16),
        Wanted("odd", "mosaic", warpgroups=3, words=31),
        Wanted("odd_single", "mosaic", words=31),
    ]
    return wanted


class Compiler:
    """Compiles for a card that is not there, and keeps what JAX's profiler was told meanwhile."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}
        finalize = profiler.OnDeviceProfiler.finalize

        def watched(on_device: Any, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
            self.told = {"spec": on_device.spec, "grid": grid, "block": block}
            finalize(on_device, grid=grid, block=block)

        profiler.OnDeviceProfiler.finalize = watched
        # A client that only compiles has no host callbacks, and nothing here runs.
        jax.debug.callback = lambda *args, **kwargs: None
        topology = topologies.get_topology_desc(platform="cuda", target_config=DEVICE, topology="1x1x1")
        mesh = topologies.make_mesh(topo=topology, mesh_shape=(1,), axis_names=("x",))
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        self.argument = jax.ShapeDtypeStruct((N,), jnp.float32, sharding=sharding)

    def compile(self, wanted: Wanted) -> dict[str, Any]:
        function = {"pallas": pallas, "mosaic": mosaic}[wanted.maker](wanted)
        jax.jit(function).trace(self.argument).lower().compile()
        (path,) = OUT.glob(f"{wanted.name}_[0-9]*.ptx")
        spec = self.told["spec"]
        return {
            "name": wanted.name,
            "maker": wanted.maker,
            "scope": wanted.scope,
            "bounds_checked": wanted.checked,
            "grid": self.told["grid"],
            "block": self.told["block"],
            "words_per_track": spec.entries_per_warpgroup,
            "names": spec.interned_names,
            "profile_space": wanted.words // WORDS_PER_SPACE if wanted.maker == "pallas" else None,
            "ptx": path.name,
        }


def main() -> None:
    compiler = Compiler()
    kernels = [compiler.compile(wanted) for wanted in all_wanted()]
    sys.stdout.write(json.dumps({"jax": jax.__version__, "kernels": kernels}) + "\n")


if __name__ == "__main__":
    main()
