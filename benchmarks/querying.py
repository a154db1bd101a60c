"""SQL and Parquet on twenty times as many events, against pandas (or NumPy) and pyarrow alone."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from measure import Line, cpu_seconds, run_child

from mgpu_trace.export.output import write_trace
from mgpu_trace.model import Slices
from mgpu_trace.pipeline import Launch, open_launch
from mgpu_trace.sql.session import Session
from mgpu_trace.synth import bench_launch

SQL = "SELECT region, count(*), sum(dur_cyc), avg(dur_cyc) FROM slices GROUP BY region"
TIMES = 20


def querying(folder: Path, options: argparse.Namespace) -> Iterator[Line]:
    """A group-by on decoded slices; the whole command; and the slices as Parquet."""
    path = folder / "many.npy"
    per_track = max(12, TIMES * options.events // 396 // 10 * 10 + 2)
    buffer = bench_launch(132, 3, per_track)
    np.save(path, buffer.words.reshape(-1))
    path.with_suffix(".json").write_text(json.dumps(buffer.spec.to_dict()))
    timeline = Launch(buffer).timeline()
    n = len(timeline.slices)
    session = Session()
    session.add(timeline)
    runs = min(options.runs, 3)
    rival, group = rival_of(timeline.slices)
    ours, theirs = cpu_seconds(runs, lambda: session.ask(SQL), group)
    yield Line(
        f"query: group-by, {n / 1e6:.1f} M slices",
        f"{ours:.3f} s",
        f"{rival} on arrays {theirs:.3f} s",
        f"{ours / theirs:.1f} times as long",
        "< 2 s",
        ours < 2,
    )
    command = [sys.executable, "-m", "mgpu_trace_cli", "query", SQL, str(path)]
    whole = min(run_child(command).cpu_seconds for _ in range(runs))
    decode = cpu_seconds(runs, lambda: open_launch(path).timeline())[0]
    yield Line(
        "whole process: mgpu-trace query",
        f"{whole:.3f} s",
        f"decoding alone {decode:.3f} s",
        f"{whole / decode:.1f} times as long",
        "< 2 s",
        whole < 2,
    )
    yield parquet(folder, runs, path, n)


def rival_of(slices: Slices) -> tuple[str, Callable[[], object]]:
    """The same group-by in memory, without SQL."""
    try:
        import pandas as pd
    except ImportError:
        return "NumPy", lambda: (np.bincount(slices.name), np.bincount(slices.name, slices.dur_cyc))
    frame = pd.DataFrame({"name": slices.name, "dur": slices.dur_cyc}, copy=False)
    return "pandas", lambda: frame.groupby("name").dur.agg(["count", "sum", "mean"])


def parquet(folder: Path, runs: int, path: Path, n: int) -> Line:
    """Read, decode and write Parquet, against pyarrow writing the finished table with its own settings."""
    import pyarrow.parquet as pq

    table = open_launch(path).timeline().to_arrow()
    ours, theirs = cpu_seconds(
        runs,
        lambda: write_trace(open_launch(path), folder / "ours.parquet"),
        lambda: pq.write_table(table, folder / "theirs.parquet"),
    )
    mine, other = ((folder / f"{name}.parquet").stat().st_size / n for name in ("ours", "theirs"))
    return Line(
        "read+decode+clock+Parquet file",
        f"{ours:.2f} s {mine:.1f} B a slice",
        f"pyarrow alone {theirs:.2f} s {other:.1f} B",
        f"{ours / theirs:.1f} times as long",
        "<= 3",
        ours <= 3 * theirs,
    )
