"""Tracks written down event by event, as the cases in issues and documents are."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from mgpu_trace.decode import Decoder
from mgpu_trace.diagnostics import Diagnostic
from mgpu_trace.export.jax_compat import write_jax_compat
from mgpu_trace.layout import EXIT_BIT, Scope
from mgpu_trace.model import TraceBuffer
from mgpu_trace.spec import TraceSpec

STALE = 0xDEADBEEF
NAMES = ("Init", "load", "mma")


def enter(name: int, clock: int) -> tuple[int, int]:
    return name, clock


def leave(name: int, clock: int) -> tuple[int, int]:
    return name | EXIT_BIT, clock


def track(start: int, sm: int, *events: tuple[int, int], used: int | None = None) -> list[int]:
    """Header and events of one track; clocks are taken modulo 2**32."""
    counted = 2 * len(events) if used is None else used
    return [start, sm, counted, *(word % 2**32 for event in events for word in event)]


def launch(*tracks: list[int], words: int = 16, **spec: Any) -> TraceBuffer:
    """One block a track (unless told otherwise); unused words are stale."""
    table = np.full((len(tracks), words), STALE, np.uint32)
    for row, content in zip(table, tracks, strict=True):
        row[: len(content)] = content
    shape = {"grid": (len(tracks), 1, 1), "block": (128, 1, 1), "names": NAMES, "scope": Scope.WARPGROUP}
    return TraceBuffer.from_flat(table.reshape(-1), TraceSpec(words_per_track=words, **(shape | spec)))


def compat(buffer: TraceBuffer, **options: Any) -> tuple[str, list[Diagnostic]]:
    """The text of ``--compat jax`` and what it found."""
    sink = io.BytesIO()
    found = write_jax_compat(buffer, Decoder(buffer).tracks, sink, **options)
    return sink.getvalue().decode("ascii"), found


def compat_events(buffer: TraceBuffer, **options: Any) -> list[dict[str, Any]]:
    return list(json.loads(compat(buffer, **options)[0])["traceEvents"])
