"""A compiled kernel, run here on made-up clocks, fills a buffer that decodes to those clocks.

The words are put where the compiler's own text puts them; nothing of ours writes them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from contract.checks import CLOCK, TIMER, Facts, Launch, Track, n_kept
from contract.values import Number, Part, Reading

from mgpu_trace.decode import Decoded, decode
from mgpu_trace.layout import EXIT_BIT, NAME_MASK, WORDS_PER_EVENT
from mgpu_trace.model import TraceBuffer
from mgpu_trace.spec import TraceSpec

if TYPE_CHECKING:
    from contract.conftest import Compiled

STALE = 0xDEADBEEF
FULL_RUNS = ["pallas_warpgroup_3", "mosaic_warpgroup_3", "unrolled", "pallas_warpgroup_1_checked"]

Slice = tuple[int, str, int, int, bool]


@cache
def made_up(reading: Reading) -> int:
    """What the special register held: clocks that pass 2**32 in some tracks, an SM for each block."""
    block = int(np.ravel_multi_index(reading.thread[:3], (8, 8, 8)))
    if reading.register == CLOCK:
        return (2**32 - 400 + 1009 * block + 37 * reading.serial + reading.serial**2 % 11) % 2**32
    return 1_000_000 + 32 * block if reading.register == TIMER else block % 132


def word_of(parts: tuple[Part | None, ...]) -> int:
    """The number in a word: of each byte, what it came from."""
    found = 0
    for i, part in enumerate(parts):
        assert part is not None
        origin, k = part
        if isinstance(origin, Number):
            value = origin.value
        else:
            value, k = (made_up(origin), k) if isinstance(origin, Reading) else (STALE, i)
        found |= (value >> 8 * k & 0xFF) << 8 * i
    return found


def spec_of(facts: Facts) -> TraceSpec:
    return TraceSpec(
        grid=facts.grid,
        block=facts.block,
        words_per_track=facts.words_per_track,
        scope=facts.scope,
        names=tuple(facts.names),
        bounds_checked=facts.bounds_checked,
    )


def run(compiled: Compiled, name: str) -> tuple[Launch, Decoded]:
    """The kernel on its whole grid, and what is decoded from its buffer."""
    facts = compiled.facts(name)
    launch = Launch(compiled.text(name), facts, blocks=list(np.ndindex(*facts.grid)))
    words = [
        word_of(launch.word(track, word)) for track in launch.tracks for word in range(facts.words_per_track)
    ]
    return launch, decode(TraceBuffer.from_flat(np.array(words, np.uint32), spec_of(facts)))


def expected(facts: Facts, number: int, track: Track) -> list[Slice]:
    """The slices of a track by its program and the clocks that were made up, by a plain stack."""
    names = list(facts.names)
    clocks = [made_up(reading) for _, reading in track.readings(CLOCK)]
    since = [(clock - clocks[0]) % 2**32 for clock in clocks]
    tags = facts.program(track.block, track.unit)
    n_events = n_kept(facts, len(tags))
    found: dict[int, Slice] = {}
    opened: list[int] = []
    for event, tag in enumerate(tags[:n_events]):
        if not tag & EXIT_BIT:
            opened.append(event)
            continue
        begin = opened.pop()
        found[begin] = (number, names[tag & NAME_MASK], since[begin], since[event] - since[begin], True)
    for begin in opened:
        last = since[n_events - 1] - since[begin]
        found[begin] = (number, names[tags[begin]], since[begin], last, False)
    return [found[begin] for begin in sorted(found)]


def decoded_slices(facts: Facts, decoded: Decoded) -> list[Slice]:
    names, s = list(facts.names), decoded.slices
    columns = (s.track, s.name, s.start_cyc, s.dur_cyc, s.closed)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(track, names[name], start, duration, closed) for track, name, start, duration, closed in rows]


@pytest.mark.parametrize("name", FULL_RUNS)
def test_the_buffer_decodes_to_what_the_kernel_did(compiled: Compiled, name: str) -> None:
    launch, decoded = run(compiled, name)
    tracks = list(enumerate(launch.tracks))
    assert decoded_slices(launch.facts, decoded) == [
        s for n, t in tracks for s in expected(launch.facts, n, t)
    ]
    assert decoded.tracks.sm.tolist() == [made_up(t.only_reading("smid")[1]) for t in launch.tracks]
    assert decoded.tracks.start_ns.tolist() == [made_up(t.only_reading(TIMER)[1]) for t in launch.tracks]
    assert decoded.n_lost_events == 0
    losses = {"MGT401", "MGT402"} if launch.facts.bounds_checked else set()
    assert {finding.code.id for finding in decoded.report} <= losses


def test_an_overrun_is_found(compiled: Compiled) -> None:
    launch, decoded = run(compiled, "overrun")
    facts = launch.facts
    n_blocks = int(np.prod(facts.grid))
    counts = {finding.code.id: finding.count for finding in decoded.report}
    assert counts["MGT301"] == n_blocks * facts.tracks_per_block
    assert counts["MGT302"] == n_blocks * (facts.tracks_per_block - 1)
    n_overwritten = len(facts.program((0, 0, 0), 0)) - facts.words_per_track // WORDS_PER_EVENT
    skipped = np.where(decoded.tracks.unit == 0, 0, n_overwritten)
    assert (decoded.tracks.n_skipped == np.minimum(skipped, decoded.tracks.n_events)).all()
