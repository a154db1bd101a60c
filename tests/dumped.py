"""What ``mgpu-trace dump`` makes of a few tracks written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from cli_support import invoke
from numpy.typing import NDArray
from rows import POISON, B, E

Trace = dict[str, Any]

PAIRS = [B(0, 10), E(0, 20), B(1, 30), E(1, 50)]


def words_of(rows: list[list[int]], entries: int) -> NDArray[np.uint32]:
    return np.array([(r + [POISON] * entries)[:entries] for r in rows], np.uint32).reshape(-1)


def saved(folder: Path, rows: list[list[int]], entries: int) -> Path:
    np.save(folder / "buffer.npy", words_of(rows, entries))
    return folder / "buffer.npy"


class Dumped:
    """What ``dump`` made of a file: its status, what it said, and the trace."""

    def __init__(self, path: Path, *args: object) -> None:
        out = path.with_suffix(".trace.json")
        lines = () if "--compat" in args else ("--no-lanes",)  # a line for each track
        result = invoke("dump", path, "-o", out, *lines, *args)
        self.status = result.exit_code
        self.said = result.stderr
        self.trace: Trace = json.loads(out.read_bytes()) if out.exists() else {}
        events = self.trace.get("traceEvents", [])
        self.threads = {
            (e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"
        }
        self.slices = [e for e in events if e["ph"] == "X" and "cat" not in e]
        self.metadata = self.trace.get("metadata", {})

    def times(self) -> list[tuple[str, str, int, int]]:
        """(thread, name, start in ns, duration in ns) of every region, in file order."""
        return [
            (self.threads[e["pid"], e["tid"]], e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000))
            for e in self.slices
        ]

    def line(self, code: str) -> str:
        (line,) = [text for text in self.said.splitlines() if f"[{code}]" in text]
        return line

    def codes(self) -> set[str]:
        return {text.split("[")[1][:6] for text in self.said.splitlines() if "[MGT" in text}


def warpgroups(n: int, entries: int, grid: str = "1") -> list[object]:
    return ["--grid", grid, "--block", 128 * n, "--entries", entries]


def cycles(*more: object) -> list[object]:
    """At 1000 MHz a cycle is a nanosecond."""
    return ["--sm-clock-mhz", 1000, *more]
