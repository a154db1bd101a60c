"""Launches at the edges: hostile, unclocked, broken, empty, of one slice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from report.support import hostile, launch

from mgpu_trace.model import TraceBuffer
from mgpu_trace.pipeline import Launch
from mgpu_trace.report import report_page
from mgpu_trace.synth import SynthConfig


def unclocked() -> Launch:
    return launch(SynthConfig(state_clock=False, grid=(2, 1, 1)))


def of_words(words: object, **spec: object) -> Launch:
    made = launch().spec
    table = np.array(words, np.uint32)
    shape = {"grid": (len(table), 1, 1), "block": (128, 1, 1), "words_per_track": table.shape[1]}
    return Launch(TraceBuffer.from_flat(table.reshape(-1), replace(made, **(shape | spec))))  # type: ignore[arg-type]


def broken() -> Launch:
    return of_words(np.full((3, 16), 0xFFFFFFFF, np.uint32))


def empty() -> Launch:
    return of_words([[1000, 0, 0, *([0] * 13)]] * 2)


def one_slice() -> Launch:
    return of_words([[1000, 7, 4, 1, 100, 1 | 2**31, 100, *([0] * 9)]])


def pair(**config: object) -> bytes:
    """Two launches, of which the second has more iterations."""
    old, new = (launch(SynthConfig(n_iterations=n, kernel="made"), seed=n) for n in (4, 6))
    return report_page(new, before=old, **config)  # type: ignore[arg-type]


PAGES = {
    "sound": launch,
    "hostile": hostile,
    "unclocked": unclocked,
    "broken": broken,
    "empty": empty,
    "one slice": one_slice,
}
