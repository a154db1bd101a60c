"""JAX's own verdicts on launches: its interpreter, mesh, profiler spec and lowering, run on a CPU.

Every function returns the sentence that JAX refuses with, or None where it accepts. Importing this skips
where JAX is missing.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest

from mgpu_trace.layout import Scope

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # JAX's own imports are not under test
    profiler = pytest.importorskip(
        "jax.experimental.mosaic.gpu.profiler",
        reason="JAX with Mosaic GPU is not installed (mgpu-trace[jax])",
    )
    import jax
    import jax.numpy as jnp
    from jax._src.interpreters import mlir
    from jax._src.pallas.mosaic_gpu import lowering as _pallas_lowering
    from jax.experimental import pallas as pl
    from jax.experimental.mosaic import gpu as mgpu
    from jax.experimental.pallas import mosaic_gpu as plgpu
    from jaxlib.mlir import ir

    try:  # GPU interpret mode came with 0.9.0
        from jax._src.pallas.mosaic_gpu.interpret import gpu_callbacks as _callbacks
        from jax._src.pallas.mosaic_gpu.interpret import interpret_pallas_call as _interpreter
    except ImportError:
        _callbacks = _interpreter = None

# On a machine with a GPU too: interpret mode runs on a CPU, and the limits of the device at hand are not
# those that these tests compare with.
jax.config.update("jax_platforms", "cpu")

JAX_VERSION: str = jax.__version__
JAX_RELEASE: tuple[int, ...] = tuple(int(part) for part in JAX_VERSION.split(".")[:3])
COLLECTIVE_RULES = JAX_RELEASE >= (0, 10, 2)  # the rules of today
_SPEC_PARAMETERS = inspect.signature(profiler.ProfilerSpec.__init__).parameters
SCOPES = tuple(Scope) if "trace_scope" in _SPEC_PARAMETERS else (Scope.WARPGROUP,)
BOUNDS_CHECK = "bounds_check" in _SPEC_PARAMETERS
REFUSALS = (ValueError, NotImplementedError, RuntimeError)

needs_scopes = pytest.mark.skipif(len(SCOPES) == 1, reason="before JAX 0.10.1 every track is a warpgroup's")
needs_interpreter = pytest.mark.skipif(
    _interpreter is None, reason="before JAX 0.9.0 there is no interpret mode for GPUs"
)


@contextmanager
def _quiet() -> Iterator[None]:
    """JAX warns of what it deprecates; that is not under test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def refusal(call: Callable[[], object]) -> str | None:
    """The sentence that ``call`` refuses with."""
    with _quiet():
        try:
            call()
        except jax.errors.JaxRuntimeError:
            raise  # the kernel broke as it ran, which is no verdict
        except REFUSALS as refused:
            return str(refused)
    return None


# ---- the mesh and its interpreter


@dataclass(frozen=True)
class Mesh:
    """The axes of a ``plgpu.Mesh``: names with their sizes."""

    grid: dict[str, int]
    cluster: dict[str, int]
    thread: tuple[str, int] | None

    def of_jax(self) -> dict[str, Any]:
        """What ``plgpu.Mesh`` takes."""
        name, number = self.thread or (None, None)
        return {
            "grid": tuple(self.grid.values()),
            "grid_names": tuple(self.grid),
            "cluster": tuple(self.cluster.values()),
            "cluster_names": tuple(self.cluster),
            "num_threads": number,
            "thread_name": name,
        }

    def of_ours(self) -> dict[str, Any]:
        """What LaunchConfig takes. Its grid counts blocks and the mesh's counts clusters.

        A mesh with fewer grid axes than cluster axes has no grid in blocks with as many axes as names.
        """
        name, number = self.thread or (None, None)
        n_axes = max(len(self.grid), len(self.cluster))
        grid, cluster = (_padded(axes.values(), n_axes) for axes in (self.grid, self.cluster))
        return {
            "grid": tuple(clusters * blocks for clusters, blocks in zip(grid, cluster, strict=True)),
            "grid_axes": tuple(self.grid) if n_axes == len(self.grid) else None,
            "cluster": tuple(self.cluster.values()),
            "cluster_axes": tuple(self.cluster),
            "num_threads": number,
            "thread_axis": name,
        }


def _padded(sizes: Any, n_axes: int) -> tuple[int, ...]:
    return (*sizes, *(1,) * (n_axes - len(sizes)))


def interpreted(mesh: Mesh, collective_axes: tuple[str, ...], space: str = "GMEM") -> str | None:
    """Run a kernel of that mesh that allocates with ``run_scoped``; what it refuses with.

    Every thread fills its allocation with ones and copies it out, so a kernel that ran shows it.
    """
    parameters = getattr(_interpreter, "InterpretGPUParams", None) or _interpreter.InterpretParams
    allocation = getattr(plgpu, space)((8,), dtype=jnp.int32)

    def kernel(out_ref: Any) -> None:
        def scoped(ref: Any) -> None:
            ref[...] = jnp.ones_like(ref[...])
            out_ref[...] = ref[...]

        pl.run_scoped(scoped, allocation, collective_axes=collective_axes)

    def run() -> None:
        gpu_mesh = plgpu.Mesh(**mesh.of_jax())
        mapped = pl.run_state(lambda ref: pl.core_map(gpu_mesh, interpret=parameters())(lambda: kernel(ref)))
        assert jax.jit(mapped)(jnp.zeros(8, jnp.int32)).tolist() == [1] * 8

    refused = refusal(run)
    if refused is not None:
        _forget()
    return refused


def _forget() -> None:
    """Drop what an interpreted kernel that failed leaves behind, or the next one waits for it."""
    name = "reset_gpu_interpret_mode_state"
    getattr(_callbacks, name if hasattr(_callbacks, name) else "_clear_shared_memory")()


def mesh_refusal(**axes: Any) -> str | None:
    """What ``plgpu.Mesh`` refuses with, without the mesh that it prints at the end."""
    refused = refusal(lambda: plgpu.Mesh(**axes))
    return None if refused is None else refused.partition("Mesh(")[0]


# ---- the profiler


def profiler_spec(words_per_track: int, scope: Scope = Scope.WARPGROUP) -> Any:
    """JAX's ``ProfilerSpec``."""
    scopes = {Scope.WARP: mgpu.ThreadSubset.WARP, Scope.WARPGROUP: mgpu.ThreadSubset.WARPGROUP}
    asked = {"trace_scope": scopes[scope]} if len(SCOPES) > 1 else {}
    return profiler.ProfilerSpec(words_per_track, dump_path=".", **asked)


def n_tracks(spec: Any, grid: tuple[int, ...], block: tuple[int, ...]) -> int:
    """Tracks of a launch; the method had another name before there were scopes."""
    count = getattr(spec, "_num_traces", None) or spec._num_warpgroups
    return int(count(grid, block))


def mosaic_refusal(
    grid: tuple[int, ...], block: tuple[int, ...], cluster: tuple[int, ...], smem_bytes: int, spec: Any
) -> str | None:
    """Lower a Mosaic GPU kernel with that much shared memory of its own; what that refuses with."""
    array = jax.ShapeDtypeStruct((8,), jnp.float32)
    own = jax.ShapeDtypeStruct((smem_bytes,), jnp.int8)

    def lower() -> None:
        with mlir.make_ir_context(), ir.Location.unknown():
            mgpu.as_gpu_kernel(
                lambda *_: None, grid, block, array, array, own, prof_spec=spec, cluster=cluster
            )

    return refusal(lower)


@dataclass(frozen=True)
class Lowered:
    """What Pallas made of a profiled kernel: the launch it asked a buffer for, or why not."""

    words_per_track: int | None
    grid: tuple[int, ...]
    block: tuple[int, ...]
    n_words: int
    refused: str | None


def pallas_lowered(mesh: Mesh, **parameters: Any) -> Lowered:
    """Lower a kernel of that mesh with those ``CompilerParams``, for CUDA.

    Without a GPU the last step fails, which prepares the dumping of the profile; all else is done by then.
    """
    specs, launches = [], []

    class Recorded(profiler.ProfilerSpec):
        def __init__(self, words: int, *args: Any, **kwargs: Any) -> None:
            super().__init__(words, *args, **kwargs)
            specs.append(words)

        def jax_buffer_type(self, grid: Any, block: Any) -> Any:
            buffer = super().jax_buffer_type(grid, block)
            launches.append((grid, block, buffer.shape[0]))
            return buffer

    def kernel(in_ref: Any, out_ref: Any) -> None:
        out_ref[...] = in_ref[...] * 2

    array = jax.ShapeDtypeStruct((256,), jnp.float32)
    out = "out_type" if "out_type" in inspect.signature(plgpu.kernel).parameters else "out_shape"

    def lower() -> None:
        made = plgpu.kernel(
            kernel, **{out: array}, compiler_params=plgpu.CompilerParams(**parameters), **mesh.of_jax()
        )
        jax.jit(made).trace(array).lower(lowering_platforms=("cuda",))

    with mock.patch.object(_pallas_lowering.mgpu_profiler, "ProfilerSpec", Recorded):
        refused = refusal(lower)
    if refused is not None and "is different from the lowering platform cuda" in refused:
        refused = None
    grid, block, n_words = launches[-1] if launches else ((), (), 0)
    return Lowered(specs[-1] if specs else None, grid, block, n_words, refused)
