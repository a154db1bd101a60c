"""Launches that are captured, and profiled by JAX from the second step on; the argument is where to.

The fake launch takes real time, under an annotation of the profiler that has the kernel's name, as has the
driver's own slice. Its buffer has times of now, on a timer that is off by OFFSET_NS; a cycle is a nanosecond.
"""

import sys
import time
from pathlib import Path

import jax
import jax_on_cpu as sim
import kernels
import numpy as np

import mgpu_trace

OFFSET_NS = 123_456_789_012
EXIT = sim.EXIT
STEPS = 6


def with_times_of_now(words):
    """Two regions a track, which begin now."""
    words[:, 0] = (time.time_ns() - OFFSET_NS) % 2**32
    words[:, 2] = 8
    words[:, 3:11] = [0, 5000, 1, 6000, 1 | EXIT, 90_000, 0 | EXIT, 100_000]


def launch_under_its_name(kernel, n_launches, mark, launch=sim._launch):
    with jax.profiler.TraceAnnotation(f"jit_{kernel.name}"):
        words = launch(kernel, n_launches, mark)
        time.sleep(0.002)
        return words


out = Path(sys.argv[1])
sim.spoil = with_times_of_now
sim._launch = launch_under_its_name
gemm = kernels.pallas_kernel("gemm")
softmax = kernels.pallas_kernel("softmax", regions=("max", "sum"))
step = jax.jit(lambda x: softmax(gemm(x)))
with mgpu_trace.capture(out / "traces"):
    step(kernels.ZEROS).block_until_ready()
    with jax.profiler.trace(str(out / "profile"), create_perfetto_trace=True):
        for i in range(1, STEPS):
            step(kernels.ZEROS + np.float32(i)).block_until_ready()
