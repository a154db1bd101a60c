"""The errors that JAX really raises, with their whole tracebacks, lead to the codes that explain them."""

from __future__ import annotations

import io
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import jax_launch as of_jax
import numpy as np
import pytest
from jax_launch import Mesh, jax, jnp, mgpu, pl, plgpu, profiler

from mgpu_trace.diagnostics.match import matches

EXIT = 1 << 31
GRID, BLOCK = (1, 1, 1), (128, 1, 1)


def dumped(*words: int, entries: int = 16) -> None:
    """JAX's decoder on one track."""
    spec = of_jax.profiler_spec(entries)
    spec.intern_name("Init")
    track = np.zeros(entries, np.uint32)
    track[: len(words)] = words
    spec.dump(track, io.StringIO(), GRID, BLOCK)


def with_a_full_table() -> None:
    class Full(dict):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return EXIT

    spec = of_jax.profiler_spec(16)
    spec.interned_names = Full()
    spec.intern_name("one more")


def mesh(**axes: Any) -> None:
    plgpu.Mesh(**{"grid": (), "grid_names": (), "cluster": (), "cluster_names": ()} | axes)


def block_of(*block: int) -> Callable[[], object]:
    return lambda: of_jax.profiler_spec(16).jax_buffer_type(GRID, block)


def launched(cluster: tuple[int, ...] = (1, 1, 1), smem_bytes: int = 8) -> None:
    array, own = jax.ShapeDtypeStruct((8,), jnp.float32), jax.ShapeDtypeStruct((smem_bytes,), jnp.int8)
    with of_jax.mlir.make_ir_context(), of_jax.ir.Location.unknown():
        mgpu.as_gpu_kernel(lambda *_: None, (3, 1, 1), BLOCK, array, array, own, cluster=cluster)


def interpreted(axes: Mesh, collective_axes: tuple[str, ...], first: int = 0) -> None:
    """A kernel in GPU interpret mode that reads 8 words from ``first`` on."""
    parameters = (
        getattr(of_jax._interpreter, "InterpretGPUParams", None) or of_jax._interpreter.InterpretParams
    )

    def kernel(out_ref: Any) -> None:
        def scoped(ref: Any) -> None:
            ref[...] = jnp.ones_like(ref[...])
            out_ref[...] = ref[pl.ds(jnp.int32(first), 8)]

        pl.run_scoped(scoped, plgpu.GMEM((8,), dtype=jnp.int32), collective_axes=collective_axes)

    gpu_mesh = plgpu.Mesh(**axes.of_jax())
    mapped = pl.run_state(lambda ref: pl.core_map(gpu_mesh, interpret=parameters())(lambda: kernel(ref)))
    try:
        jax.block_until_ready(jax.jit(mapped)(jnp.zeros(8, jnp.int32)))
    finally:
        of_jax._forget()


def with_an_axis(name: str) -> None:
    def kernel(out_ref: Any) -> None:
        out_ref[...] = jnp.full((8,), jax.lax.axis_index(name))

    jax.eval_shape(pl.pallas_call(kernel, grid=(4,), out_shape=jax.ShapeDtypeStruct((8,), jnp.int32)))


def with_scope(made_with: object, set_later: object = None) -> None:
    spec = profiler.ProfilerSpec(16, dump_path=".", trace_scope=made_with)
    spec.trace_scope = set_later
    spec.jax_buffer_type(GRID, BLOCK)


THREADS = Mesh({}, {}, ("t", 2))
CLUSTER = Mesh({}, {"c": 2}, ("t", 2))
THREADLESS = Mesh({}, {"c": 2}, None)

# The codes stand apart from the calls: a traceback shows the line of a call, and an id in it would count.
CODES = {
    "block 96": "MGT207",
    "block 5": "MGT207",
    "threads of a mesh": "MGT222",
    "shared memory": "MGT223",
    "profile_space alone": "MGT227",
    "profile_dir alone": "MGT227",
    "cluster of 2 in a grid of 3": "MGT231",
    "cluster of two axes": "MGT232",
    "cluster of four axes": "MGT232",
    "grid names": "MGT234",
    "cluster names": "MGT234",
    "threads without a name": "MGT235",
    "names": "MGT236",
    "iterations": "MGT237",
    "overflow": "MGT301",
    "odd": "MGT303",
    "orphan exit": "MGT404",
    "unknown name": "MGT406",
    "no CUPTI": "MGT801",
    "an axis of no mesh": "MGT805",
    "lowered for a GPU": "MGT811",
    "run on a CPU": "MGT811",
    "no thread axis": "MGT238",
    "a cluster axis": "MGT239",
    "not the thread axis": "MGT240",
    "an unknown axis": "MGT241",
    "read beyond a buffer": "MGT809",
    "scope": "MGT220",
    "another scope": "MGT220",
}
ERRORS: dict[str, Callable[[], object]] = {
    "block 96": block_of(96, 1, 1),
    "block 5": block_of(5, 5, 1),
    "threads of a mesh": lambda: mesh(num_threads=17, thread_name="t"),
    "shared memory": lambda: launched(smem_bytes=1 << 20),
    "profile_space alone": lambda: plgpu.CompilerParams(profile_space=1),
    "profile_dir alone": lambda: plgpu.CompilerParams(profile_dir="x"),
    "cluster of 2 in a grid of 3": lambda: launched((2, 1, 1)),
    "cluster of two axes": lambda: launched((3, 1)),
    "cluster of four axes": lambda: mesh(cluster=(1,) * 4, cluster_names=tuple("abcd")),
    "grid names": lambda: mesh(grid=(1, 2), grid_names=("x",)),
    "cluster names": lambda: mesh(cluster=(1, 2), cluster_names=("x",)),
    "threads without a name": lambda: mesh(num_threads=2),
    "names": with_a_full_table,
    "iterations": lambda: profiler.measure(lambda: None, iterations=0)(),
    "overflow": lambda: dumped(0, 0, 40),
    "odd": lambda: dumped(0, 0, 3),
    "orphan exit": lambda: dumped(0, 0, 2, EXIT, 5),
    "unknown name": lambda: dumped(0, 0, 2, 9, 5),
    "no CUPTI": lambda: profiler.Cupti().measure(lambda: None)(),
    "an axis of no mesh": lambda: with_an_axis("x"),
    "lowered for a GPU": lambda: lowered(),
    "scope": lambda: with_scope("block"),
    "another scope": lambda: with_scope(mgpu.ThreadSubset.WARP, mgpu.ThreadSubset.BLOCK),
    "run on a CPU": lambda: jax.jit(doubled())(jnp.zeros(256)),
}
# The JAX that began to say it, where that is later than the others.
NOT_YET = {
    "orphan exit": (0, 11, 1),
    "odd": (0, 10, 1),
    "iterations": (0, 7, 2),
    "no CUPTI": (0, 7, 2),
    "scope": (0, 10, 1),
    "another scope": (0, 10, 1),
}
INTERPRETED: dict[str, Callable[[], object]] = {
    "no thread axis": lambda: interpreted(THREADLESS, ("c",)),
    "a cluster axis": lambda: interpreted(CLUSTER, ("t", "c")),
    "not the thread axis": lambda: interpreted(THREADS, ()),
    "an unknown axis": lambda: interpreted(THREADS, ("t", "g")),
    "read beyond a buffer": lambda: interpreted(THREADS, ("t",), first=4),
}


def doubled(**parameters: Any) -> Any:
    array = jax.ShapeDtypeStruct((256,), jnp.float32)
    out = "out_type" if "out_type" in plgpu.kernel.__code__.co_varnames else "out_shape"

    def kernel(in_ref: Any, out_ref: Any) -> None:
        out_ref[...] = in_ref[...] * 2

    return plgpu.kernel(
        kernel,
        **{out: array},
        compiler_params=plgpu.CompilerParams(**parameters),
        grid=(1,),
        grid_names=("x",),
    )


def lowered() -> None:
    array = jax.ShapeDtypeStruct((256,), jnp.float32)
    made = doubled(profile_space=16, profile_dir="x")
    jax.jit(made).trace(array).lower(lowering_platforms=("cuda",))


def raised_by(call: Callable[[], object]) -> str:
    """The traceback that Python would print."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as error:
            return "".join(traceback.format_exception(error))
    pytest.fail("nothing was raised")


def check(text: str, code: str) -> None:
    """The traceback leads to its code: whole, wrapped, in capitals, its last error alone."""
    first = matches(text)[0]
    assert first.code.id == code, text
    assert first.score == 1
    assert first.sentence is not None
    lines = text.splitlines()
    wrapped = (line[i : i + 70] for line in lines for i in range(0, len(line) or 1, 70))
    last = max(i for i, line in enumerate(lines) if re.match(r"[\w.]+(?:Error|Exception): ", line))
    for shown in ("\n".join(f"E   {line}" for line in wrapped), text.upper(), "\n".join(lines[last:])):
        assert matches(shown)[0].code.id == code, shown


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_jax(name: str) -> None:
    if name in NOT_YET and NOT_YET[name] > of_jax.JAX_RELEASE:
        pytest.skip(f"JAX {of_jax.JAX_VERSION} does not say it")
    check(raised_by(ERRORS[name]), CODES[name])


@of_jax.needs_interpreter
@pytest.mark.skipif(not of_jax.COLLECTIVE_RULES, reason="before JAX 0.10.2 interpret mode had other rules")
@pytest.mark.parametrize("name", INTERPRETED)
def test_an_error_of_interpret_mode(name: str) -> None:
    check(raised_by(INTERPRETED[name]), CODES[name])


def test_a_warning_of_jax() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        dumped(0, 0, 8, 0, 1000, 0, 9000, EXIT, 5000, EXIT, 9900)
    texts = [warnings.formatwarning(w.message, w.category, w.filename, w.lineno) for w in warned]
    (text,) = (text for text in texts if "UserWarning" in text)
    assert [m.code.id for m in matches(text)] == ["MGT501", "MGT502"]  # JAX says the same of both
