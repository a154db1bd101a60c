"""Large plain buffers, made fast: one tag sequence for all tracks, random clocks, no truth."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from mgpu_trace.layout import (
    EXIT_BIT,
    FIRST_CLOCK_WORD,
    FIRST_TAG_WORD,
    HEADER_WORDS,
    SM_WORD,
    START_WORD,
    USED_WORD,
    WORDS_PER_EVENT,
    Scope,
)
from mgpu_trace.model import U32, TraceBuffer
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth.noise import Noise

_N_SMS = 132
_CLOCK_MHZ = 1980.0
_NAMES = ("Init", "loop", "wait", "load", "mma", "store")
_PATTERN = (1, 2, 2 | EXIT_BIT, 3, 3 | EXIT_BIT, 4, 5, 5 | EXIT_BIT, 4 | EXIT_BIT, 1 | EXIT_BIT)
_RUN_WORDS = 1 << 22


def bench_launch(
    n_blocks: int = 132, tracks_per_block: int = 3, events_per_track: int = 2526, seed: int = 0
) -> TraceBuffer:
    """A sound launch of ``n_blocks * tracks_per_block * events_per_track`` events.

    Gaps are 13 to 76 cycles and the clocks do not wrap, so that JAX's own decoder can read it too. An
    odd number of events leaves a region open.
    """
    spec = _bench_spec(n_blocks, tracks_per_block, events_per_track)
    return TraceBuffer(spec, _run(spec, events_per_track, 0, spec.n_tracks, Noise(seed)))


def write_bench_npy(
    path: str | os.PathLike[str],
    n_blocks: int,
    tracks_per_block: int = 3,
    events_per_track: int = 2526,
    seed: int = 0,
) -> TraceSpec:
    """Write the words of :func:`bench_launch` as ``.npy`` without holding them all; return the spec."""
    spec = _bench_spec(n_blocks, tracks_per_block, events_per_track)
    noise = Noise(seed)
    with Path(path).open("wb") as f:
        header = {"descr": "<u4", "fortran_order": False, "shape": (spec.n_words,)}
        np.lib.format.write_array_header_1_0(f, header)
        step = max(1, _RUN_WORDS // spec.words_per_track)
        for first in range(0, spec.n_tracks, step):
            last = min(first + step, spec.n_tracks)
            f.write(_run(spec, events_per_track, first, last, noise).astype("<u4", copy=False).data)
    return spec


def _bench_spec(n_blocks: int, tracks_per_block: int, events_per_track: int) -> TraceSpec:
    return TraceSpec(
        grid=(n_blocks, 1, 1),
        block=(tracks_per_block * Scope.WARPGROUP.value, 1, 1),
        words_per_track=-(-(HEADER_WORDS + WORDS_PER_EVENT * (events_per_track + 1)) // 4) * 4,
        names=_NAMES,
        kernel="bench",
        sm_clock_mhz=_CLOCK_MHZ,
    )


def _run(spec: TraceSpec, n_events: int, first: int, last: int, noise: Noise) -> U32:
    """The rows of the tracks from ``first`` to before ``last``."""
    n = last - first
    block = np.arange(first, last) // spec.tracks_per_block
    words = np.zeros((n, spec.words_per_track), np.uint32)
    tags = np.resize(np.array(_PATTERN, np.uint32), max(0, n_events - 2))
    tags = np.concatenate((np.array([0, EXIT_BIT], np.uint32), tags))[:n_events]
    # One row of random gaps, and a random number for each track that changes all of them.
    base, salt = Noise(n_events).words(n_events) % 64, noise.words(n) % 64
    begin = 1000 + 64 * 2 * n_events * (block // _N_SMS) % (1 << 30)
    clock = words[:, FIRST_CLOCK_WORD : FIRST_CLOCK_WORD + WORDS_PER_EVENT * n_events : 2]
    gap = (base.astype(np.uint8) ^ salt.astype(np.uint8)[:, None]) + np.uint8(13)
    np.cumsum(gap, axis=1, dtype=np.uint32, out=clock)
    clock += (begin - (gap[:, 0] if n_events else 0)).astype(np.uint32)[:, None]
    end = FIRST_TAG_WORD + WORDS_PER_EVENT * n_events
    words[:, FIRST_TAG_WORD:end:2] = tags
    words[:, START_WORD] = begin * (1000.0 / _CLOCK_MHZ) // 32 * 32
    words[:, SM_WORD] = block % _N_SMS
    words[:, USED_WORD] = WORDS_PER_EVENT * n_events
    return words
