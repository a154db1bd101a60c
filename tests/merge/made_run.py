"""Runs whose true times are known: launches of several devices, each with a timer of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from mgpu_trace.read import write_npz
from mgpu_trace.synth import SynthConfig, synthesise

EPOCH_NS = 1_790_000_000_000_000_000
OFFSETS_NS = (123_456_789_012, -987_654_321)
DUR_NS = 20_000  # more than any of the launches takes
SLACK_NS = 30_000


def make_run(folder: Path, n: int, *, with_host: bool = True, seed: int = 1) -> dict[str, int]:
    """``n`` launches of two kernels in turn on two devices at once; when each truly began, by file."""
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    true: dict[str, int] = {}
    now, over = EPOCH_NS, [EPOCH_NS - 10**6] * 2
    for number in range(n):
        now += int(rng.integers(10**5, 10**7))
        for device, offset_ns in enumerate(OFFSETS_NS):
            kernel = ("gemm", "softmax")[number % 2]
            start_ns = (now - offset_ns) % 2**32
            made = synthesise(SynthConfig(kernel=kernel, device="H100", start_ns=start_ns), seed=number)
            host = {"host_time_before_ns": over[device], "host_time_ns": now + DUR_NS + SLACK_NS}
            who = {"process": 0, "device_id": device, "launch": number}
            spec = replace(made.buffer.spec, **who, **(host if with_host else {}))
            over[device] = now + DUR_NS + SLACK_NS
            path = folder / f"{kernel}-p0-d{device}-{number:06}.npz"
            write_npz(path, made.buffer.words.reshape(-1), spec)
            true[str(path)] = now
    return true
