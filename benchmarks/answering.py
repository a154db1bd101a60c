"""The cost of answers: ``stats`` against decoding alone, and against a group-by over the same slices."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import Line, cpu_seconds, peak_bytes_of_interpreter, run_child

import mgpu_trace
from mgpu_trace.decode import decode
from mgpu_trace.model import Timeline, TraceBuffer
from mgpu_trace.pipeline import open_launch


def against_decode(path: Path, buffer: TraceBuffer, options: argparse.Namespace) -> list[Line]:
    """Read, decode and all statistics by region, against decode; and the rivals, which start from slices."""

    def ours() -> object:
        return mgpu_trace.stats(open_launch(path))

    timeline = mgpu_trace.load(path)
    by_pandas = grouped_by_pandas(timeline)
    mine, theirs, alone = cpu_seconds(
        options.runs, ours, lambda: decode(buffer), lambda: mgpu_trace.stats(timeline)
    )
    lines = [
        Line(
            "read+decode+stats by region",
            f"{mine:.4f} s",
            f"decode alone {theirs:.4f} s",
            f"{mine / theirs:.1f} times as long",
            "<= 3",
            mine / theirs <= 3,
        )
    ]
    if by_pandas is not None:
        (pandas,) = cpu_seconds(options.runs, by_pandas)
        lines.append(_rival("stats of slices in memory", alone, "pandas, without self time", pandas, 1))
    (python,) = cpu_seconds(1, lambda: grouped_by_python(timeline))
    lines.append(_rival("the same", alone, "a loop over slices", python, 10))
    return lines


def _rival(what: str, ours: float, name: str, theirs: float, times: float) -> Line:
    return Line(
        what,
        f"{ours:.4f} s",
        f"{name} {theirs:.3f} s",
        f"{theirs / ours:.1f} times faster",
        f">= {times:g}",
        theirs / ours >= times,
    )


def grouped_by_pandas(timeline: Timeline) -> Callable[[], object] | None:
    """Count, total, mean, spread, ends and percentiles by region; None where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        print(f"pandas: skipped, {error}")
        return None
    frame = pd.DataFrame({"name": timeline.slices.name, "dur": timeline.slices.dur_cyc})

    def asked() -> object:
        by = frame.groupby("name")["dur"]
        return by.agg(["count", "sum", "mean", "std", "min", "max"]), by.quantile([0.5, 0.9, 0.99])

    return asked


def grouped_by_python(timeline: Timeline) -> dict[int, tuple[Any, ...]]:
    """What a person writes first: a list of lengths for each region, with self times from a stack."""
    s = timeline.slices
    lengths: dict[int, list[int]] = defaultdict(list)
    own: dict[int, int] = defaultdict(int)
    stack: list[tuple[int, int, int]] = []
    columns = (s.track.tolist(), s.name.tolist(), s.start_cyc.tolist(), s.dur_cyc.tolist())
    for track, name, start, dur in zip(*columns, strict=True):
        while stack and (stack[-1][0] != track or stack[-1][2] < start + dur):
            stack.pop()
        if stack:
            own[stack[-1][1]] -= dur
        own[name] += dur
        stack.append((track, name, start + dur))
        lengths[name].append(dur)
    found = {}
    for name, mine in lengths.items():
        mine.sort()
        n = len(mine)
        marks = [mine[int(p * (n - 1))] for p in (0.5, 0.9, 0.99)]
        found[name] = (n, sum(mine), own[name], mine[0], mine[-1], *marks)
    return found


def memory(path: Path, program: list[str], command: str) -> Line:
    """Peak memory of a command on a large buffer."""
    size = path.stat().st_size
    used = run_child([*program, command, str(path), "--json"])
    above = (used.peak_bytes - peak_bytes_of_interpreter()) / 2**20
    return Line(
        f"peak of {command}, {size / 2**30:.2f} GiB buffer",
        f"{above:.0f} MiB above Python",
        f"buffer {size / 2**20:.0f} MiB",
        f"{above * 2**20 / size:.2f} of the buffer",
        "< 500 MiB",
        above < 500,
    )
