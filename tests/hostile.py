"""Small launches that a picture or a table could trip over, as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mgpu_trace

EXIT = 2**31
# What a person's terminal could trip over.
NAMES = (
    "\U0001f680\U0001f680 rocket",
    "名前の長い" * 30,
    "\x1b[2J\x07",
    "x" * 10**6,
    "",
    "[red]",
    "two\nlines",
    "\u0301\u0301",
)

Slice = tuple[int, int, int]  # name, begin, end


def saved(path: Path, tracks: Sequence[tuple[int, int, Sequence[Slice]]], **spec: Any) -> Path:
    """Write a launch of one block a track: its start time, its SM, and slices one after the other."""
    rows = []
    for start, sm, slices in tracks:
        events = [word for name, begin, end in slices for word in (name, begin, name | EXIT, end)]
        rows.append([start, sm, len(events), *events])
    words = max(5, *map(len, rows))
    table = np.zeros((len(rows), words), np.uint32)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    np.save(path, table.reshape(-1))
    shape = {"grid": (len(rows), 1, 1), "block": (128, 1, 1), "words_per_track": words}
    told = mgpu_trace.TraceSpec(**shape, **{"sm_clock_mhz": 1000.0, "bounds_checked": False, **spec})
    path.with_suffix(".json").write_text(json.dumps(told.to_dict()))
    return path


def one_after_the_other(n: int, cyc: int) -> list[Slice]:
    """Slices of ``n`` names, of the same length."""
    return [(i, i * cyc, (i + 1) * cyc) for i in range(n)]


def hostile(folder: Path) -> dict[str, Path]:
    """Files by what is odd about them; all but the last one have slices."""
    names = tuple(f"region number {i}" for i in range(1000))
    made: dict[str, tuple[Sequence[tuple[int, int, Sequence[Slice]]], dict[str, Any]]] = {
        "thousand": ([(1000, 0, one_after_the_other(1000, 10))], {"names": names}),
        "names": ([(1000, 0, one_after_the_other(len(NAMES), 50))], {"names": NAMES}),
        "zero": ([(1000, 0, [(0, 5, 5)])], {}),
        "one": ([(1000, 0, [(0, 5, 9)])], {}),
        "sms": ([(1000, i * 1000000007 % 2**32, [(0, 5, 900)]) for i in range(100)], {}),
        "norate": ([(1000, 0, [(0, 5, 9)]), (1500, 1, [(0, 5, 90000)])], {"sm_clock_mhz": None}),
        "far": ([(1000, 0, [(0, 5, 9)]), (EXIT, 1, [(0, 5, 90000)])], {}),
        "nothing": ([(1000, 0, [])], {}),
    }
    return {name: saved(folder / f"{name}.npy", *about[:1], **about[1]) for name, about in made.items()}
