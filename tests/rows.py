"""Writing tracks down: one row is one track, unused words are poison."""

from __future__ import annotations

from typing import Any

import numpy as np

from mgpu_trace.decode import Decoded, decode
from mgpu_trace.diagnostics import Diagnostic
from mgpu_trace.model import TraceBuffer
from mgpu_trace.spec import TraceSpec

POISON = 0xDEADBEEF

Event = tuple[int, int]


def B(name: int, clock: int) -> Event:  # noqa: N802 - as Perfetto calls a begin
    return name, clock


def E(name: int, clock: int) -> Event:  # noqa: N802 - as Perfetto calls an end
    return name | 1 << 31, clock


def row(start: int, sm: int, events: list[Event], used: int | None = None) -> list[int]:
    flat = [word for event in events for word in event]
    return [start, sm, len(flat) if used is None else used, *flat]


def decoded(rows: list[list[int]], entries: int, **spec: Any) -> Decoded:
    """Decode tracks of ``entries`` words; by default one block of that many warpgroups."""
    spec = {"grid": (1, 1, 1), "block": (128 * len(rows), 1, 1), **spec}
    words = np.array([r + [POISON] * (entries - len(r)) for r in rows], np.uint32)
    return decode(TraceBuffer.from_flat(words.reshape(-1), TraceSpec(words_per_track=entries, **spec)))


def slices(result: Decoded) -> list[tuple[int, ...]]:
    """(track, name, start_cyc, dur_cyc, closed) of every slice."""
    s = result.slices
    return list(zip(*(c.tolist() for c in (s.track, s.name, s.start_cyc, s.dur_cyc, s.closed)), strict=True))


def codes(result: Decoded) -> dict[str, int]:
    return {d.code.id: d.count for d in result.report}


def finding(result: Decoded, code: str) -> Diagnostic:
    return next(d for d in result.report if d.code.id == code)
