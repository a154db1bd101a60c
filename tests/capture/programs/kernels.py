"""Profiled kernels for the programs beside this file, and what JAX calls things in its versions."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before JAX is imported: the devices of shard_map and pmap.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

if os.environ.get("MGPU_CHANGED_JAX"):
    import changed_jax  # noqa: F401

import jax
import jax.numpy as jnp
import jax_on_cpu as sim
import numpy as np
from jax._src.interpreters import mlir
from jax.experimental import pallas as pl
from jax.experimental.mosaic import gpu as mgpu
from jax.experimental.mosaic.gpu import profiler
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlib.mlir import ir

SIZE = 256
ARRAY = jax.ShapeDtypeStruct((SIZE,), jnp.float32)
ZEROS = np.zeros(
    SIZE, np.float32
)  # of NumPy: JAX has no devices yet, which a program of several processes needs
OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
DUMPS = OUT / "dumps"  # where JAX writes its JSON

_OUT_TYPE = "out_type" if "out_type" in inspect.signature(plgpu.kernel).parameters else "out_shape"
_SCOPES = "trace_scope" in inspect.signature(profiler.ProfilerSpec.__init__).parameters
BOUNDS_CHECK = "bounds_check" in inspect.signature(profiler.ProfilerSpec.__init__).parameters
# From 0.11.2 on, pallas_call takes no parameters of Mosaic GPU.
PALLAS_CALL = not hasattr(sim.pallas_call_registration, "mpmd_map_mgpu_lowering_rule")


def _body(name: str, regions: tuple[str, ...]) -> Callable[[Any, Any], None]:
    def kernel(in_ref: Any, out_ref: Any) -> None:
        value = in_ref[...]
        for region in regions:
            with jax.named_scope(region):
                value = value + 1
        out_ref[...] = value

    kernel.__name__ = kernel.__qualname__ = name
    return kernel


def params(profile_space: int = 16, **more: Any) -> Any:
    """``CompilerParams`` that ask for a profile; 0: that do not."""
    if not profile_space:
        return plgpu.CompilerParams()
    DUMPS.mkdir(parents=True, exist_ok=True)
    return plgpu.CompilerParams(profile_space=profile_space, profile_dir=str(DUMPS), **more)


def pallas_kernel(
    name: str,
    profile_space: int = 16,
    grid: tuple[int, ...] = (2,),
    num_threads: int = 1,
    regions: tuple[str, ...] = ("load", "store"),
    **more: Any,
) -> Callable[[Any], Any]:
    """A ``plgpu.kernel`` that adds one."""
    threads = {} if num_threads == 1 else {"num_threads": num_threads, "thread_name": "wg"}
    made: Callable[[Any], Any] = plgpu.kernel(
        _body(name, regions),
        **{_OUT_TYPE: ARRAY},
        grid=grid,
        grid_names=tuple("abc"[: len(grid)]),
        compiler_params=params(profile_space, **more),
        **threads,
    )
    return made


def pallas_call_kernel(name: str) -> Callable[[Any], Any]:
    """The same by ``pallas_call``."""
    made: Callable[[Any], Any] = pl.pallas_call(
        _body(name, ("load", "store")), out_shape=ARRAY, compiler_params=params()
    )
    return made


def mosaic_kernel(
    name: str | None, words: int = 64, block: tuple[int, int, int] = (128, 1, 1), warp: bool = False
) -> Callable[[Any], Any]:
    """An ``as_gpu_kernel`` that adds one. A name of None leaves JAX to name it by the function."""
    DUMPS.mkdir(parents=True, exist_ok=True)
    scope = {"trace_scope": mgpu.ThreadSubset.WARP} if warp else {}
    spec = profiler.ProfilerSpec(words, dump_path=str(DUMPS), **scope)

    def body(ctx: Any, *_: Any) -> None:
        for region in ("produce", "consume", "épilogue"):
            with ctx.named_region(region):
                pass

    # It lowers the body at once; without a GPU nothing has made the context.
    with mlir.make_ir_context(), ir.Location.unknown():
        kernel: Callable[[Any], Any] = mgpu.as_gpu_kernel(
            body, (3, 1, 1), block, ARRAY, ARRAY, (), prof_spec=spec, kernel_name=name
        )
        jax.eval_shape(kernel, ARRAY)
    return kernel


def shard_map(
    function: Callable[[Any], Any], n_devices: int = 4, backwards: bool = False
) -> Callable[[Any], Any]:
    """``function`` on each of the devices, under jit."""
    from jax.sharding import Mesh, PartitionSpec

    devices = jax.devices()[:n_devices]
    mesh = Mesh(devices[::-1] if backwards else devices, ("d",))
    over = PartitionSpec("d")
    mapped: Callable[[Any], Any] = jax.jit(
        jax.shard_map(function, mesh=mesh, in_specs=over, out_specs=over, check_vma=False)
    )
    return mapped


def marked(n_devices: int = 4) -> Any:
    """An input whose shards begin with 0, 10, 20...: ten times the device."""
    return jnp.repeat(10.0 * jnp.arange(n_devices), SIZE)
