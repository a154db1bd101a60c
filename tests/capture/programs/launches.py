"""Launches of many kinds, each kind under a capture of its own: ``launches.py FOLDER``.

Per kind, FOLDER/KIND holds ``traces``, the launches that the kernels were given (``truth.npz``), and what
the session said (``session.json``).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

from kernels import (
    DUMPS,
    OUT,
    PALLAS_CALL,
    SIZE,
    ZEROS,
    jax,
    jnp,
    marked,
    mosaic_kernel,
    pallas_call_kernel,
    pallas_kernel,
    shard_map,
    sim,
)
from told import session_dict, write_session

import mgpu_trace
from mgpu_trace.capture.settle import wait_for_launches

KINDS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {}


def kind(**options: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def add(body: Callable[[], Any]) -> Callable[[], Any]:
        KINDS[body.__name__] = body, options
        return body

    return add


def repeat(kernel: Callable[[Any], Any], n: int, x: Any = ZEROS) -> Any:
    for _ in range(n):
        x = kernel(x)
    return x


before_pallas = jax.jit(pallas_kernel("before_pallas"))
before_mosaic = mosaic_kernel("before_mosaic")
before_sharded = shard_map(pallas_kernel("before_sharded"))
once_more = jax.jit(pallas_kernel("once_more"))


@kind()
def eager() -> Any:
    return repeat(pallas_kernel("eager_k"), 3)


@kind()
def jitted() -> Any:
    return repeat(jax.jit(pallas_kernel("jitted_k", num_threads=2, grid=(2, 3))), 3)


@kind()
def pallas_call() -> Any:
    return repeat(jax.jit(pallas_call_kernel("called_k")), 3) if PALLAS_CALL else ZEROS + 3


@kind()
def mosaic() -> Any:
    return repeat(mosaic_kernel("mosaic_k"), 3)


@kind()
def mosaic_warps() -> Any:
    return repeat(mosaic_kernel("warps_k", warp=True, block=(256, 1, 1)), 3)


@kind()
def mosaic_unnamed() -> Any:
    return repeat(mosaic_kernel(None), 3)


@kind()
def lowered_before() -> Any:
    return repeat(before_mosaic, 2, repeat(before_pallas, 2))


@kind()
def sharded_before() -> Any:
    return repeat(before_sharded, 2, marked())


@kind()
def fori_loop() -> Any:
    kernel = pallas_kernel("fori_k")
    return jax.jit(lambda x: jax.lax.fori_loop(0, 7, lambda _, x: kernel(x), x))(ZEROS)


@kind()
def scan() -> Any:
    kernel = pallas_kernel("scan_k")
    return jax.jit(lambda x: jax.lax.scan(lambda x, _: (kernel(x), None), x, length=5)[0])(ZEROS)


@kind()
def several_kernels() -> Any:
    first, second, third = (pallas_kernel(f"k{i}", grid=(i + 1,)) for i in range(3))
    mosaic = mosaic_kernel("k3")
    return jax.jit(lambda x: mosaic(third(second(first(first(x))))))(ZEROS)


@kind()
def same_name() -> Any:
    """Two kernels of one name and of different shapes."""
    small, large = (jax.jit(pallas_kernel("twin", grid=(blocks,))) for blocks in (1, 5))
    return repeat(small, 2, repeat(large, 2))


@kind()
def sharded() -> Any:
    return repeat(shard_map(pallas_kernel("sharded_k")), 3, marked())


@kind()
def sharded_mosaic() -> Any:
    return repeat(shard_map(mosaic_kernel("sharded_mosaic_k")), 2, marked())


@kind()
def sharded_loop() -> Any:
    kernel = pallas_kernel("sharded_loop_k")
    return shard_map(lambda x: jax.lax.fori_loop(0, 3, lambda _, x: kernel(x), x))(marked())


@kind()
def pmapped() -> Any:
    return repeat(jax.pmap(pallas_kernel("pmapped_k")), 2, marked().reshape(4, SIZE))


@kind()
def sharded_backwards() -> Any:
    """A mesh whose devices are not in the order of their ids."""
    return repeat(shard_map(pallas_kernel("backwards_k"), backwards=True), 2, marked())


@kind()
def sharded_in_part() -> Any:
    """Two of the four devices."""
    return repeat(shard_map(pallas_kernel("part_k"), 2), 2, marked(2))


@kind()
def dropped() -> Any:
    """Nobody keeps what these give, on one device and on four."""
    single, four = jax.jit(pallas_kernel("dropped_k")), shard_map(pallas_kernel("dropped_d"))
    for _ in range(3):
        single(ZEROS)
        four(marked())
    return ZEROS


@kind()
def one_device_of_four() -> Any:
    x = jax.device_put(ZEROS, jax.devices()[2])
    return repeat(jax.jit(pallas_kernel("third_device")), 2, x)


@kind()
def branches() -> Any:
    taken, other = pallas_kernel("taken"), pallas_kernel("other")
    return jax.jit(lambda x: jax.lax.cond(x[0] < 1, taken, other, x))(ZEROS)


@kind()
def differentiated() -> Any:
    kernel = pallas_kernel("forward_k")

    @jax.custom_vjp
    def f(x: Any) -> Any:
        return kernel(x)

    f.defvjp(lambda x: (kernel(x), None), lambda _, g: (kernel(g),))
    return jax.jit(jax.grad(lambda x: f(x).sum()))(ZEROS)


@kind()
def in_flight() -> Any:
    """Many launches that nobody waits for."""
    return repeat(jax.jit(pallas_kernel("flight_k")), 40)


@kind()
def many_threads() -> Any:
    from concurrent.futures import ThreadPoolExecutor

    kernel = jax.jit(pallas_kernel("threads_k"))
    kernel(ZEROS)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: repeat(kernel, 5, ZEROS + 10 * i), range(1, 5)))
    return ZEROS


@kind()
def odd_names() -> Any:
    """Region names that are no identifiers, and a kernel that is a lambda."""
    kernel = pallas_kernel("<lambda>", regions=("a/b c", "ü*", "", "load"))
    return repeat(jax.jit(kernel), 2)


@kind()
def full_tracks() -> Any:
    """No word is left over."""
    return repeat(pallas_kernel("full_k", profile_space=4, regions=("a", "b")), 2)


@kind()
def broken_headers() -> Any:
    """Counts of used words that cannot be: the tracks come out as they are, and whole."""

    def break_headers(words: Any) -> None:
        words[0, 2] = 13
        words[1, 2] = 0xFFFFFFFE
        words[2, 2] = words.shape[1] - 1
        words[3, 2] = words.shape[1] + 1
        words[4, 2] = 0

    sim.spoil = break_headers
    try:
        return jax.block_until_ready(repeat(pallas_kernel("broken_k", grid=(6,)), 2))
    finally:
        jax.effects_barrier()
        sim.spoil = None


@kind(every=3)
def every() -> Any:
    return repeat(jax.jit(pallas_kernel("every_k")), 10)


@kind(every=2)
def every_of_each_device() -> Any:
    return repeat(shard_map(pallas_kernel("every_d")), 4, marked())


@kind(launches=2)
def first_launches() -> Any:
    return repeat(jax.jit(pallas_kernel("second_k")), 3, repeat(jax.jit(pallas_kernel("first_k")), 5))


@kind(every=2, launches=2)
def every_and_launches() -> Any:
    return repeat(jax.jit(pallas_kernel("both_k")), 9)


@kind(kernel="gemm*")
def by_name() -> Any:
    gemm, other = pallas_kernel("gemm_f16"), pallas_kernel("softmax")
    return repeat(jax.jit(lambda x: gemm(other(x))), 3)


@kind(max_bytes=5000)
def by_bytes() -> Any:
    return repeat(jax.jit(pallas_kernel("bytes_k")), 60)


@kind(keep_json=True)
def json_kept() -> Any:
    return repeat(jax.jit(pallas_kernel("json_k")), 3)


@kind(keep_json=True)
def json_kept_mosaic() -> Any:
    return repeat(mosaic_kernel("json_mosaic_k"), 2)


@kind(profile_space=32)
def profiled_from_outside() -> Any:
    asks_not, asks = pallas_kernel("asks_not", profile_space=0), pallas_kernel("asks", profile_space=16)
    return repeat(jax.jit(lambda x: asks(asks_not(x))), 2)


@kind(profile_space=1 << 15)
def no_room_for_profile() -> Any:
    """More than all shared memory: the kernel runs as it would have, without a profile."""
    return repeat(jax.jit(pallas_kernel("no_room", profile_space=0)), 2)


@kind()
def not_profiled() -> Any:
    return repeat(jax.jit(pallas_kernel("silent", profile_space=0)), 2)


@kind()
def lowered_in_an_earlier_capture() -> Any:
    return repeat(once_more, 2)


def run(name: str, body: Callable[[], Any], options: dict[str, Any]) -> None:
    del sim.LAUNCHES[:]
    folder = OUT / name
    began = time.time_ns()
    with mgpu_trace.capture(folder / "traces", **options) as session:
        result = body()
    jax.effects_barrier()
    sim.write_truth(folder / "truth.npz")
    more = {
        "result": jnp.asarray(result).reshape(-1)[::SIZE].tolist(),
        "dumps": sorted(path.name for path in DUMPS.iterdir()),
        "began_ns": began,
        "ended_ns": time.time_ns(),
    }
    write_session(folder / "session.json", session_dict(session) | more)
    for path in DUMPS.iterdir():
        path.unlink()


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of the launches that JAX loses, before there is a capture
    before_pallas(ZEROS)
    before_mosaic(ZEROS)
    repeat(before_sharded, 2, marked())  # compiled for an unsharded input and for a sharded one
    jax.effects_barrier()
    wait_for_launches()
    warnings.resetwarnings()
    for path in DUMPS.iterdir():
        path.unlink()
    for name, (body, options) in KINDS.items():
        run(name, body, options)
