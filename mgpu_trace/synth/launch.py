"""Blocks on SMs, real time and the two clocks, as words and as truth.

Real time is counted in whole SM cycles since the launch began, so that the truth is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mgpu_trace.layout import (
    FIRST_CLOCK_WORD,
    FIRST_TAG_WORD,
    HEADER_WORDS,
    SM_WORD,
    START_WORD,
    USED_WORD,
    WORD_RANGE,
    WORDS_PER_EVENT,
    Word2,
    capacity_events,
    capacity_words,
)
from mgpu_trace.model import I64, U32
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth.config import SynthConfig, Tail
from mgpu_trace.synth.faults import inject
from mgpu_trace.synth.noise import Noise
from mgpu_trace.synth.program import Program, compile_role
from mgpu_trace.synth.truth import Synthetic, Truth

_BLOCK_GAP_CYC = 700
_POISON = 0xDEADBEEF


@dataclass(frozen=True, slots=True)
class _Launch:
    """A launch in real time: what each unit of a block does, and when.

    ``programs`` and ``cyc`` (each ``(n_blocks, n_events)``) are by unit; ``sm`` is ``(n_blocks,)``.
    """

    spec: TraceSpec
    programs: list[Program]
    cyc: list[I64]
    sm: I64
    clock_offset: I64


def synthesise(config: SynthConfig, seed: int = 0) -> Synthetic:
    """Make the launch that ``config`` asks for; equal arguments give equal words.

    Raises
    ------
    ValueError
        Where the config contradicts itself, or a fault has no track that it could break.
    MgpuTraceError
        Where the launch's shape is not one (as :class:`TraceSpec` says).
    """
    noise = Noise(seed)
    launch = _play(config, noise)
    words = _record(config, launch, noise)
    faults = inject(words, launch.spec, config.word2, config.faults)
    return Synthetic(words, launch.spec, _truth(config, launch, faults))


def _play(config: SynthConfig, noise: Noise) -> _Launch:
    ids = {name: i for i, name in enumerate(config.name_table())}
    by_role = {r: compile_role(r, ids, config.n_iterations) for r in config.roles}
    programs = [by_role[config.role_of(unit)] for unit in range(config.tracks_per_block)]
    spec = _spec(config, max((len(p.tags) for p in programs), default=0))
    n = config.n_blocks
    relative = []
    for program in programs:
        shape = (n, len(program.tags))
        mean = np.broadcast_to(program.gap_cyc, shape)
        gap = mean * noise.integers(768, 1281, mean.size).reshape(shape) // 1024
        if shape[1]:
            gap[:, 0] = noise.integers(0, 64, n)  # units of a block do not start in the same cycle
        relative.append(np.cumsum(gap, axis=1))
    lasts = [cyc[:, -1] for cyc in relative if cyc.shape[1]]
    sm, begin = _place(config, np.max(lasts, axis=0) if lasts else np.zeros(n, np.int64), noise)
    if config.clock_offsets is None:
        offset = noise.integers(0, WORD_RANGE, config.n_sms)
    else:
        offset = np.array(config.clock_offsets, np.int64)
    return _Launch(spec, programs, [begin[:, None] + cyc for cyc in relative], sm, offset)


def _spec(config: SynthConfig, n_events: int) -> TraceSpec:
    fits = -(-(HEADER_WORDS + WORDS_PER_EVENT * (n_events + 1)) // 4) * 4
    return TraceSpec(
        grid=config.grid,
        block=config.block,
        scope=config.scope,
        words_per_track=fits if config.words_per_track is None else config.words_per_track,
        names=config.name_table(),
        bounds_checked=config.bounds_checked,
        kernel=config.kernel,
        device=config.device,
        jax_version=config.jax_version,
        sm_clock_mhz=config.clock_khz / 1000 if config.state_clock else None,
    )


def _place(config: SynthConfig, dur_cyc: I64, noise: Noise) -> tuple[I64, I64]:
    """The SM and the begin of each block: slots of SMs are filled in waves."""
    n, n_slots = len(dur_cyc), config.n_sms * config.resident
    sm = noise.permutation(config.n_sms)[np.arange(n) % config.n_sms]
    begin = np.empty(n, np.int64)
    free = noise.integers(0, 400, n_slots)
    for first in range(0, n, n_slots):
        wave = slice(first, min(first + n_slots, n))
        size = wave.stop - first
        begin[wave] = free[:size]
        free[:size] += dur_cyc[wave] + noise.integers(_BLOCK_GAP_CYC, 2 * _BLOCK_GAP_CYC, size)
    return sm, begin


def _record(config: SynthConfig, launch: _Launch, noise: Noise) -> U32:
    """The words that the device writes, ``(n_tracks, words_per_track)``."""
    spec = launch.spec
    words = _tail(config, spec, noise).reshape(spec.n_blocks, spec.tracks_per_block, -1)
    n_kept = capacity_events(spec.words_per_track)
    overruns = False
    for unit, (program, cyc) in enumerate(zip(launch.programs, launch.cyc, strict=True)):
        n = len(program.tags)
        overruns |= n > n_kept and not config.bounds_checked
        kept = min(n, n_kept)
        words[:, unit, FIRST_TAG_WORD : FIRST_TAG_WORD + 2 * kept : 2] = program.tags[:kept]
        words[:, unit, FIRST_CLOCK_WORD : FIRST_CLOCK_WORD + 2 * kept : 2] = _clock(launch, cyc)[:, :kept]
        first = cyc[:, 0] if n else np.zeros(spec.n_blocks, np.int64)
        ns = config.start_ns + (first - config.lead_cyc) * 1_000_000 // config.clock_khz
        words[:, unit, START_WORD] = ns // config.step_ns * config.step_ns % WORD_RANGE
        words[:, unit, SM_WORD] = launch.sm
        used = WORDS_PER_EVENT * (kept if config.bounds_checked else n)
        words[:, unit, USED_WORD] = used + HEADER_WORDS * (config.word2 is Word2.USED_PLUS_HEADER)
    if overruns:
        _overrun(launch, words)
    return words.reshape(spec.n_tracks, spec.words_per_track)


def _clock(launch: _Launch, cyc: I64) -> U32:
    return ((launch.clock_offset[launch.sm][:, None] + cyc) % WORD_RANGE).astype(np.uint32)


def _overrun(launch: _Launch, words: U32) -> None:
    """Write ``words``' events again as shared memory holds them: back to back, the last writer wins."""
    spec = launch.spec
    stride, capacity = spec.words_per_track, capacity_words(spec.words_per_track)
    total = stride * spec.tracks_per_block
    memory = np.zeros((spec.n_blocks, total), np.uint32)
    for unit in range(spec.tracks_per_block):
        memory[:, unit * stride : unit * stride + capacity] = words[:, unit, FIRST_TAG_WORD:]
    when = np.full((spec.n_blocks, total), -1, np.int64)
    for unit, (program, cyc) in enumerate(zip(launch.programs, launch.cyc, strict=True)):
        pairs = np.empty((spec.n_blocks, len(program.tags), WORDS_PER_EVENT), np.uint32)
        pairs[..., 0], pairs[..., 1] = program.tags, _clock(launch, cyc)
        place = slice(unit * stride, min(unit * stride + WORDS_PER_EVENT * len(program.tags), total))
        n = place.stop - place.start
        own, at = pairs.reshape(spec.n_blocks, -1)[:, :n], np.repeat(cyc, WORDS_PER_EVENT, axis=1)[:, :n]
        later = at >= when[:, place]
        memory[:, place] = np.where(later, own, memory[:, place])
        when[:, place] = np.maximum(at, when[:, place])
    for unit in range(spec.tracks_per_block):
        words[:, unit, FIRST_TAG_WORD:] = memory[:, unit * stride : unit * stride + capacity]


def _tail(config: SynthConfig, spec: TraceSpec, noise: Noise) -> U32:
    if config.tail is Tail.RANDOM:
        return noise.words(spec.n_words)
    words = np.full(spec.n_words, _POISON, np.uint32)
    if config.tail is Tail.STALE:
        rows = words.reshape(spec.n_tracks, -1)
        n = spec.capacity_events
        rows[:, FIRST_TAG_WORD : FIRST_TAG_WORD + 2 * n : 2] = np.where(np.arange(n) % 2, 1 << 31, 0)
        rows[:, FIRST_CLOCK_WORD : FIRST_CLOCK_WORD + 2 * n : 2] = 500 + 100 * np.arange(n)
    return words


def _truth(config: SynthConfig, launch: _Launch, faults: tuple[dict[str, object], ...]) -> Truth:
    spec = launch.spec
    per_block, n_blocks = spec.tracks_per_block, spec.n_blocks
    rows = np.cumsum([0, *(len(p.name) for p in launch.programs)])
    columns = np.empty((7, n_blocks, rows[-1]), np.int64)
    for unit, (p, cyc) in enumerate(zip(launch.programs, launch.cyc, strict=True)):
        part = columns[:, :, rows[unit] : rows[unit + 1]]
        part[0] = np.arange(n_blocks)[:, None]
        part[1] = unit
        part[2] = launch.sm[:, None]
        part[3], part[4] = p.name, p.depth
        part[5] = cyc[:, p.enter]
        part[6] = cyc[:, p.leave] - part[5]
    recorded = np.concatenate([p.leave < spec.capacity_events for p in launch.programs])
    block, unit_, sm, name, depth, start, dur = columns.reshape(7, -1)
    return Truth(
        track=block * per_block + unit_,
        block=block,
        unit=unit_,
        sm=sm,
        name=name,
        depth=depth,
        start_cyc=start,
        dur_cyc=dur,
        recorded=np.tile(recorded, n_blocks),
        sm_clock_khz=config.clock_khz,
        step_ns=config.step_ns,
        launch_start_ns=config.start_ns,
        faults=faults,
    )
