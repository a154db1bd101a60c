"""Folders: two processes against one, and many small launches on one timeline. Here wall time counts."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from measure import Line, peak_bytes_of_interpreter, run_child

from mgpu_trace.batch import usable_cores
from mgpu_trace.read import write_npz
from mgpu_trace.synth import SynthConfig, bench_launch, synthesise

N_FILES = 120
EVENTS = 250_000  # of each file
N_LAUNCHES = 1000
EPOCH_NS = 1_790_000_000_000_000_000
STEP_NS = 5_000_000
MAX_PEAK_MIB = 100


def folders(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """``dump`` of a folder with one process and with two, in turn; then ``merge``."""
    traces, out = folder / "traces", folder / "out"
    traces.mkdir()
    buffer = bench_launch(132, 3, EVENTS // 396 // 10 * 10 + 2)
    for number in range(N_FILES):
        write_npz(traces / f"l{number:03}.npz", buffer.words.reshape(-1), buffer.spec)
    command = [sys.executable, "-m", "mgpu_trace_cli", "dump", str(traces), "-o", f"{out}/", "-q", "--jobs"]
    one, two = wall_seconds(min(options.runs, 3), [*command, "1"], [*command, "2"])
    yield Line(
        f"dump of {N_FILES} files, two processes",
        f"{two:.2f} s",
        f"one process: {one:.2f} s",
        f"{one / two:.2f} times faster, {N_FILES / two:.0f} files/s",
        f">= 1.7 on {usable_cores()} cores",
        one / two >= 1.7,
    )
    yield from merging(folder, options)


def merging(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """Many small launches as one timeline, in both formats."""
    traces = folder / "run"
    traces.mkdir()
    made = synthesise(SynthConfig(device="H100", start_ns=0), seed=0)
    starts = made.buffer.words[:, 0].copy()
    for number in range(N_LAUNCHES):
        begin = EPOCH_NS + number * STEP_NS
        words = made.buffer.words.copy()
        words[:, 0] = (starts.astype(int) + begin) % 2**32
        host = {"host_time_before_ns": begin - STEP_NS // 2, "host_time_ns": begin + STEP_NS // 2}
        spec = replace(made.buffer.spec, launch=number, process=0, device_id=0, **host)
        write_npz(traces / f"l{number:04}.npz", words.reshape(-1), spec)
    alone = peak_bytes_of_interpreter()
    for suffix in ("json.gz", "pftrace"):
        out = folder / f"run.{suffix}"
        command = [sys.executable, "-m", "mgpu_trace_cli", "merge", str(traces), "-o", str(out), "-q"]
        (seconds,) = wall_seconds(min(options.runs, 3), [*command, "--jobs", "2"])
        peak = run_child([*command, "--jobs", "1"]).peak_bytes - alone
        yield Line(
            f"merge of {N_LAUNCHES} launches, {suffix}",
            f"{seconds:.2f} s",
            f"peak memory: {peak / 2**20:.0f} MiB above Python",
            f"{1000 * seconds / N_LAUNCHES:.1f} ms a launch, {out.stat().st_size / 1e6:.1f} MB",
            f"<= {MAX_PEAK_MIB} MiB",
            peak <= MAX_PEAK_MIB << 20,
        )


def wall_seconds(runs: int, *commands: Sequence[str]) -> list[float]:
    """The smallest wall time of each command over ``runs`` rounds; each round runs all of them."""
    best = [float("inf")] * len(commands)
    for _ in range(runs):
        for i, command in enumerate(commands):
            begin = time.perf_counter()
            run_child(command)
            best[i] = min(best[i], time.perf_counter() - begin)
    return best
