"""The inverse of decode: launches made on purpose, with the truth beside them.

The modules, in the order in which a launch is made::

    noise     random numbers that are the same under every NumPy
    config    what is asked for: SynthConfig, Role, Region, Fault
    program   a role's regions -> tags, gaps and slices of one track
    launch    blocks on SMs, real time, both clocks -> words and truth
    faults    what can be broken: one fault per code that a buffer can fire
    truth     what really happened: the true timeline, and where it was spoilt
    write     NAME.npy or .npz with the spec and the truth beside it
    bench     large plain buffers, fast
"""

from __future__ import annotations

from mgpu_trace.synth.bench import bench_launch, write_bench_npy
from mgpu_trace.synth.config import Fault, Region, Role, SynthConfig, Tail
from mgpu_trace.synth.faults import FAULTS
from mgpu_trace.synth.launch import synthesise
from mgpu_trace.synth.truth import Synthetic, Truth
from mgpu_trace.synth.write import write_synthetic

__all__ = [
    "FAULTS",
    "Fault",
    "Region",
    "Role",
    "SynthConfig",
    "Synthetic",
    "Tail",
    "Truth",
    "bench_launch",
    "synthesise",
    "write_bench_npy",
    "write_synthetic",
]
