"""Profiled kernels run on a CPU: everything of JAX's is real but the GPU's own work.

Import this before a kernel is lowered, in a process of its own: it registers lowerings for the CPU that last
as long as the process. Then tracing, the lowering of the kernel, its profiler spec, ``dump_profile`` and the
debug callback are JAX's; only the custom call that would launch the kernel is a fake. The fake gives the
profile buffer that a kernel of that shape would leave, and adds one to its input.

Every buffer says which launch it is of, so that a test can tell what was lost, doubled or mixed up: ``Init``
lasts ``identity`` cycles, and that holds the kernel's number, the *mark* (the first number of the kernel's
first input, as the device saw it) and the launch's number. LAUNCHES keeps what was handed out.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir
from jax._src.pallas import mpmd, pallas_call
from jax._src.pallas.mosaic_gpu import pallas_call_registration
from jax.experimental import io_callback
from jax.experimental.mosaic.gpu import core, profiler

STALE_WORD = 0xDEADBEEF  # what a track's unused words hold: whatever shared memory held before
START_NS = 1_000_000
CLOCK = 5_000  # the first reading
EXIT = 1 << 31
N_SMS = 132


@dataclass(frozen=True)
class Kernel:
    """A kernel that was lowered, and the shape of its launches."""

    number: int
    name: str
    spec: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]

    def launched(self, launch: int, mark: int) -> Launched:
        """One launch, as a test wants to know it."""
        words = self.words(launch, mark)
        if spoil is not None:
            spoil(words)
        return Launched(
            kernel=self.name,
            launch=launch,
            mark=mark,
            identity=identity(self.number, mark, launch),
            grid=self.grid,
            block=self.block,
            scope=getattr(self.spec, "trace_scope", core.utils.ThreadSubset.WARPGROUP).name.lower(),
            names=tuple(self.spec.interned_names),
            bounds_checked=getattr(self.spec, "bounds_check", None),
            words=words,
        )

    def words(self, launch: int, mark: int) -> np.ndarray[Any, Any]:
        """The words of one launch, one row a track: every region in turn, as many as fit."""
        words_per_track = self.spec.entries_per_warpgroup
        per_block = self.spec._num_traces((), self.block)
        n = self.spec._num_traces(self.grid, self.block)
        words = np.full((n, words_per_track), STALE_WORD, np.uint32)
        names = np.arange(min(len(self.spec.interned_names), (words_per_track - 3) // 4), dtype=np.uint32)
        durations = np.where(names == 0, identity(self.number, mark, launch), 50 + names)
        ends = CLOCK + np.cumsum(durations + 20)
        words[:, 0] = (START_NS * (launch + 1) + 32 * np.arange(n)) % 2**32
        words[:, 1] = np.arange(n) // per_block % N_SMS
        words[:, 2] = 4 * len(names)
        events = np.stack([names, ends - durations, names | EXIT, ends], axis=1).reshape(-1)
        words[:, 3 : 3 + len(events)] = events % 2**32
        return words


@dataclass(frozen=True)
class Launched:
    """One launch: what a capture must know of it, and its buffer."""

    kernel: str
    launch: int
    mark: int
    identity: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    scope: str
    names: tuple[str, ...]
    bounds_checked: bool | None
    words: np.ndarray[Any, Any]


def identity(kernel: int, mark: int, launch: int) -> int:
    """The duration of ``Init`` by which a launch is known."""
    return 1 << 26 | kernel << 20 | (mark & 0xFF) << 12 | (launch & 0xFFF)


LAUNCHES: list[Launched] = []
KERNELS: list[Kernel] = []
_lock = threading.Lock()

# What is done to a launch's words before they are handed out: faults are put in here.
spoil: Callable[[np.ndarray[Any, Any]], None] | None = None


def write_truth(path: Path) -> None:
    """Write the launches so far: a ``.npz`` with a buffer each, and what is known of them as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    buffers = {f"launch{i}": launched.words for i, launched in enumerate(LAUNCHES)}
    known = [{**vars(launched), "words": None} for launched in LAUNCHES]
    np.savez(path, known=np.array(json.dumps(known)), **buffers)


class _ProfileBuffer(jax.ShapeDtypeStruct):
    """The type of a profile buffer, which takes along what the fake launch has to know."""

    __slots__ = ("block", "grid", "spec")


_jax_buffer_type = profiler.ProfilerSpec.jax_buffer_type


def _buffer_type(spec: Any, grid: tuple[int, ...], block: tuple[int, ...]) -> _ProfileBuffer:
    plain = _jax_buffer_type(spec, grid, block)
    buffer = _ProfileBuffer(plain.shape, plain.dtype)
    for name, value in (("spec", spec), ("grid", grid), ("block", block)):
        object.__setattr__(buffer, name, value)
    return buffer


def _kernel_name(module: Any) -> str:
    symbols = [op.attributes["sym_name"].value for op in module.body if "sym_name" in op.attributes]
    [name] = [symbol for symbol in symbols if symbol.endswith("_mosaic_gpu")]
    return name.removesuffix("_mosaic_gpu")


def _launch(kernel: Kernel, n_launches: list[int], mark: Any) -> np.ndarray[Any, Any]:
    """What the GPU would do: the callback that stands for the custom call."""
    with _lock:
        launch, n_launches[0] = n_launches[0], n_launches[0] + 1
        LAUNCHES.append(kernel.launched(launch, int(np.asarray(mark))))
        return LAUNCHES[-1].words.reshape(-1)


def _fake_custom_call(
    ctx: Any, *args: Any, module: Any, out_types: Any, inout_types: Any = (), **options: Any
) -> Any:
    kernels = {}
    for i, out in enumerate(out_types):
        if isinstance(out, _ProfileBuffer):
            kernels[i] = Kernel(len(KERNELS), _kernel_name(module), out.spec, out.grid, out.block)
            KERNELS.append(kernels[i])

    def call(*inputs: Any) -> list[Any]:
        outs: list[Any] = []
        for i, out in enumerate((*out_types, *inout_types)):
            if i in kernels:
                mark = inputs[0].reshape(-1)[0].astype(jnp.int32) if inputs else jnp.int32(0)
                # The kernel's outputs do not wait for this callback; the profile does, as on a GPU.
                made = io_callback(
                    lambda mark, kernel=kernels[i], n=[0]: _launch(kernel, n, mark),
                    jax.ShapeDtypeStruct(out.shape, out.dtype),
                    mark,
                )
                outs.append(made)
            elif inputs and (inputs[0].shape, inputs[0].dtype) == (out.shape, out.dtype):
                outs.append(inputs[0] + jnp.ones((), out.dtype))
            else:
                outs.append(jnp.zeros(out.shape, out.dtype))
        return outs

    return mlir.lower_fun(call, multiple_results=True)(ctx, *args)


def _install() -> None:
    profiler.ProfilerSpec.jax_buffer_type = _buffer_type
    core._mosaic_gpu_lowering_rule = _fake_custom_call
    mlir.register_lowering(core.mosaic_gpu_p, _fake_custom_call, platform="cpu")
    if hasattr(pallas_call_registration, "mpmd_map_mgpu_lowering_rule"):
        # Looked up when it is called: a hook may have replaced it.
        mlir.register_lowering(
            mpmd.mpmd_map_p,
            lambda ctx, *args, **params: pallas_call_registration.mpmd_map_mgpu_lowering_rule(
                ctx, *args, **params
            ),
            platform="cpu",
        )
    else:
        pallas_call._pallas_call_lowering = _pallas_call_lowering
        mlir.register_lowering(pallas_call.pallas_call_p, _pallas_call_lowering, platform="cpu")


def _pallas_call_lowering(ctx: Any, *args: Any, **params: Any) -> Any:
    """Up to JAX 0.11.1 both entry points of Pallas end here."""
    return pallas_call_registration.pallas_call_lowering(ctx, *args, **params)


_install()
