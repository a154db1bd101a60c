"""What a capture costs the program: the callback of one launch, against a copy and against JAX's own dump."""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import Line

import mgpu_trace
from mgpu_trace.synth import bench_launch

BLOCKS, WARPGROUPS = 132, 3


def thread_seconds(runs: int, *functions: Callable[[], object], settle: Callable[[], object]) -> list[float]:
    """The smallest CPU time of this thread in each function over ``runs`` rounds.

    Only this thread's, which is what the program waits for; ``settle`` waits for the others in between.
    """
    best = [float("inf")] * len(functions)
    for _ in range(runs):
        for i, function in enumerate(functions):
            settle()
            before = time.thread_time()
            function()
            best[i] = min(best[i], time.thread_time() - before)
    return best


def in_callback(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """``ProfilerSpec.dump`` as JAX's callback calls it, with a capture and without, on the same buffer."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        from jax.experimental.mosaic.gpu.profiler import ProfilerSpec
    except ImportError as error:
        print(f"capture: skipped, {error}")
        return
    per_track = max(12, options.events // (BLOCKS * WARPGROUPS) // 10 * 10 + 2)
    buffer = bench_launch(BLOCKS, WARPGROUPS, per_track)
    words, spec = buffer.words.reshape(-1), buffer.spec
    profiler = ProfilerSpec(spec.words_per_track)
    for name in spec.names or ():
        profiler.intern_name(name)

    def jax_dump() -> None:
        with open(folder / "jax.json", "w") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it wraps unsigned numbers as it goes
            profiler.dump(words, file, grid=spec.grid, block=spec.block)

    jax = thread_seconds(1, jax_dump, settle=lambda: None)[0]
    ours, copy = captured(folder / "traces", options.runs, profiler, words, spec)
    size = words.nbytes / 1e6
    yield Line(
        "capture: one callback",
        f"{ours * 1e3:.2f} ms",
        f"copy of {size:.1f} MB {copy * 1e3:.2f} ms",
        f"{ours / copy:.2f} times as long",
        "<= 3",
        ours / copy <= 3,
    )
    yield Line(
        "the same, against JAX's dump",
        f"{ours * 1e3:.2f} ms",
        f"JAX's dump {jax:.2f} s",
        f"{jax / ours:.0f} times faster",
        ">= 1000",
        jax / ours >= 1000,
    )


def captured(folder: Path, runs: int, profiler: Any, words: Any, spec: Any) -> tuple[float, float]:
    """Seconds of one callback under capture, file opened and all, and of copying the buffer."""
    from jax.experimental.mosaic.gpu import core

    written = 0
    with mgpu_trace.capture(folder) as session:

        def callback() -> None:
            nonlocal written
            written += 1
            with core.open(str(folder / "kernel-0-trace.json"), "x") as file:  # the hook's own open
                profiler.dump(words, file, grid=spec.grid, block=spec.block)

        def settle() -> None:
            while len(session.launches) < written:
                time.sleep(0.01)

        ours, copy = thread_seconds(runs, callback, lambda: np.array(words, copy=True), settle=settle)
    return ours, copy
