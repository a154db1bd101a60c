"""What ``mgpu_trace.layout`` and docs/format.md say about the buffer, asked of a compiled kernel.

A kernel is followed thread by thread (``machine.py``); each ``check_`` function then asks one thing, of every
track, and raises AssertionError. Numbers come from ``mgpu_trace.layout``, not from JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from contract import ptx
from contract.machine import SHARED, Memory, Store, Thread
from contract.values import Number, Part, Reading, Stale, whole

from mgpu_trace.layout import (
    EXIT_BIT,
    HEADER_WORDS,
    NAME_MASK,
    SM_WORD,
    START_WORD,
    USED_WORD,
    WORD_BYTES,
    WORDS_PER_EVENT,
    Scope,
    capacity_events,
)

Dim3 = tuple[int, int, int]
CLOCK, TIMER, SM = "clock", "globaltimer_lo", "smid"
STEPS = 3  # of the loop of a known length
AREA_ALIGNMENT_BYTES = 8  # where the tracks of a block begin in shared memory


@dataclass(frozen=True, slots=True)
class Facts:
    """What JAX's profiler said about a kernel when it was compiled."""

    name: str
    maker: str
    grid: Dim3
    block: Dim3
    words_per_track: int
    scope: Scope
    bounds_checked: bool
    names: dict[str, int]

    def program(self, block: Dim3, unit: int) -> list[int]:
        """The tags of a track, in the order in which the kernel was written (``ptx_compile.py``)."""
        steps = STEPS + (block[0] if self.maker == "pallas" else 0)
        names = ["Init", "/Init", "outer", "inner", "/inner", "/outer", *["step", "/step"] * steps]
        if self.maker == "mosaic":
            name = "produce" if unit * self.scope.value < Scope.WARPGROUP.value else "consume"
            names += [name, f"/{name}"]
        return [self.names[n.removeprefix("/")] | (EXIT_BIT if n[0] == "/" else 0) for n in names]

    @property
    def tracks_per_block(self) -> int:
        return int(np.prod(self.block)) // self.scope.value

    def corners(self) -> list[Dim3]:
        """Blocks that tell every order of the axes from every other: first, one along each axis, last."""
        x, y, z = self.grid
        return [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (x - 1, y - 1, z - 1)]

    @property
    def track_bytes(self) -> int:
        return self.words_per_track * WORD_BYTES


@dataclass(frozen=True, slots=True)
class Track:
    """The first thread of a unit, run to its end."""

    block: Dim3
    unit: int
    thread: Thread

    @property
    def events(self) -> list[tuple[int, Store]]:
        """Stores to shared memory that hold a clock, each with its place among all that the thread did."""
        found = enumerate(self.thread.done)
        return [(i, s) for i, s in found if isinstance(s, Store) and s.address.base == SHARED and _clocks(s)]

    def readings(self, register: str) -> list[tuple[int, Reading]]:
        found = enumerate(self.thread.done)
        return [(i, r) for i, r in found if isinstance(r, Reading) and r.register == register]

    def only_reading(self, register: str) -> tuple[int, Reading]:
        found = self.readings(register)
        assert len(found) == 1, f"%{register} is read {len(found)} times"
        return found[0]


def _clocks(store: Store) -> list[Reading]:
    origins = (whole(value) for value in store.values)
    return [o for o in origins if isinstance(o, Reading) and "clock" in o.register]


class Launch:
    """A kernel's text, run on some blocks of its grid (the corners) by the threads that write tracks."""

    def __init__(self, text: str, facts: Facts, blocks: Sequence[Dim3] | None = None) -> None:
        self.kernel = ptx.parse(text)
        self.facts = facts
        self.memory: Memory = {}  # global memory
        self.shared: list[Memory] = []  # by block
        self.tracks: list[Track] = []
        for block in facts.corners() if blocks is None else blocks:
            self._run_block(block)

    @property
    def buffer(self) -> str:
        """The memory that the profile goes to: the kernel's last parameter."""
        return self.kernel.parameters[-1]

    def thread(self, block: Sequence[int], tid: int, memory: Memory, leader: Thread | None = None) -> Thread:
        x, y, _ = self.facts.block
        tids = (tid % x, tid // x % y, tid // x // y)
        values = {"ctaid": block, "nctaid": self.facts.grid, "tid": tids, "ntid": self.facts.block}
        place = {
            f"{what}.{a}": int(v) for what, xyz in values.items() for a, v in zip("xyz", xyz, strict=True)
        }
        return Thread(self.kernel, place, memory, leader)

    def _run_block(self, block: Dim3) -> None:
        """Let the first threads of the units run in turn, each to the next barrier, until all are done."""
        memory: Memory = {}
        threads = [
            self.thread(block, unit * self.facts.scope.value, memory)
            for unit in range(self.facts.tracks_per_block)
        ]
        running = [thread.run() for thread in threads]
        while running:
            running = [r for r in running if next(r, StopIteration) is not StopIteration]
        self.tracks += [Track(block, unit, thread) for unit, thread in enumerate(threads)]
        self.shared.append({key: part for key, part in memory.items() if key[0] == SHARED})
        self.memory |= {key: part for key, part in memory.items() if key[0] != SHARED}

    @cached_property
    def area(self) -> int:
        """Where the tracks of a block begin in shared memory, in bytes."""
        return self.tracks[0].events[0][1].address.value

    def first_byte(self, track: Track) -> int:
        """Where the track begins in the buffer: blocks in order, z the fastest, then units."""
        block = int(np.ravel_multi_index(track.block, self.facts.grid))
        return (block * self.facts.tracks_per_block + track.unit) * self.facts.track_bytes

    def word(self, track: Track, word: int) -> tuple[Part | None, ...]:
        """The bytes of a word of the track, as they are in the buffer at the end."""
        first = self.first_byte(track) + word * WORD_BYTES
        return tuple(self.memory.get((self.buffer, first + k)) for k in range(WORD_BYTES))

    def written(self, track: Track) -> list[int]:
        """Every byte of the buffer that the track's thread stored to, in order."""
        stores = (s for s in track.thread.done if isinstance(s, Store) and s.address.base == self.buffer)
        return sorted(
            byte
            for s in stores
            for byte in range(s.address.value, s.address.value + s.width_bytes * len(s.values))
        )


def _origin(parts: tuple[Part | None, ...]) -> object:
    """What a whole word of the buffer is."""
    known = [part for part in parts if part is not None]
    same = len(known) == len(parts) and all(part == (known[0][0], k) for k, part in enumerate(known))
    return known[0][0] if same else None


def check_start_time(launch: Launch) -> None:
    """The global timer is read once, before all else that is read or stored, and is word 0."""
    assert launch.kernel.count("%globaltimer_lo") == 1, (
        "the timer stands in the text more than once, or never"
    )
    for track in launch.tracks:
        place, reading = track.only_reading(TIMER)
        assert place < track.events[0][0], "the timer is read after the first event"
        assert place < track.readings(CLOCK)[0][0], "the timer is read after a clock"
        assert _origin(launch.word(track, START_WORD)) == reading


def check_sm(launch: Launch) -> None:
    """The SM's number is read once, after the last event, and is word 1."""
    for track in launch.tracks:
        place, reading = track.only_reading(SM)
        assert place > track.events[-1][0], "the SM is read before the last event"
        assert _origin(launch.word(track, SM_WORD)) == reading


def n_kept(facts: Facts, n_events: int) -> int:
    """How many of so many events a kernel stores."""
    return min(n_events, capacity_events(facts.words_per_track)) if facts.bounds_checked else n_events


def check_used(launch: Launch) -> None:
    """Word 2 is a number: two words for each event that was kept, the header not counted."""
    for track in launch.tracks:
        program = launch.facts.program(track.block, track.unit)
        used = _origin(launch.word(track, USED_WORD))
        assert isinstance(used, Number), "what word 2 counts is not known"
        assert used.value == n_kept(launch.facts, len(program)) * WORDS_PER_EVENT
        assert len(track.events) == n_kept(launch.facts, len(program))


def check_pairs(launch: Launch) -> None:
    """An event is one store of two words: a tag that stands in the text, and the clock, read for it alone."""
    for track in launch.tracks:
        for place, store in track.events:
            assert (store.width_bytes, len(store.values)) == (WORD_BYTES, WORDS_PER_EVENT)
            tag, clock = store.values[0], whole(store.values[1])
            assert isinstance(tag, Number), "the tag is not a number"
            assert not tag.made_from, f"the tag depends on {sorted(tag.made_from)}"
            assert isinstance(clock, Reading)
            assert clock.register == CLOCK
            assert clock.thread == track.thread.name
            assert clock.serial == place - 1, "the clock was read earlier than for this event"


def check_tags(launch: Launch) -> None:
    """Tags are the interned ids, bit 31 set where a region is left, in the order of the program."""
    for track in launch.tracks:
        program = launch.facts.program(track.block, track.unit)
        tags = [s.values[0].value % 2**32 for _, s in track.events if isinstance(s.values[0], Number)]
        assert tags == program[: n_kept(launch.facts, len(program))]
        names = [
            name for name in launch.facts.names for tag in tags if launch.facts.names[name] == tag & NAME_MASK
        ]
        assert len(names) == len(tags), "an id that has no name"


def check_places(launch: Launch) -> None:
    """Events lie one after the other from word 0 of the unit's own share of shared memory."""
    assert launch.area % AREA_ALIGNMENT_BYTES == 0
    for track in launch.tracks:
        first = launch.area + track.unit * launch.facts.track_bytes
        for n, (_, store) in enumerate(track.events):
            assert store.address.value == first + n * WORDS_PER_EVENT * WORD_BYTES


def check_copy(launch: Launch) -> None:
    """After the header come the words of shared memory from word 0 on, to the track's end, used or not."""
    facts = launch.facts
    for i, track in enumerate(launch.tracks):
        shared = launch.shared[i // facts.tracks_per_block]
        first = launch.area + track.unit * facts.track_bytes
        for word in range(facts.words_per_track - HEADER_WORDS):
            keys = [(SHARED, first + word * WORD_BYTES + k) for k in range(WORD_BYTES)]
            expected = tuple(shared.get(key, (Stale(*key), 0)) for key in keys)
            assert launch.word(track, HEADER_WORDS + word) == expected


def check_extent(launch: Launch) -> None:
    """A unit writes its own track of the buffer: every byte once, and no other byte."""
    for track in launch.tracks:
        first = launch.first_byte(track)
        assert launch.written(track) == list(range(first, first + launch.facts.track_bytes))


def check_threads(launch: Launch) -> None:
    """Only the first thread of each unit stores events or writes to the buffer.

    Asked of the first two threads of every warp, and of all threads of the last unit.
    """
    size, n_threads = launch.facts.scope.value, int(np.prod(launch.facts.block))
    block, memory = launch.tracks[-1].block, Memory()
    leader: Thread | None = None
    for tid in range(n_threads):
        if tid < n_threads - size and tid % Scope.WARP.value > 1:
            continue
        first_of_warp = tid % Scope.WARP.value == 0
        thread = launch.thread(block, tid, memory, None if first_of_warp else leader)
        leader = thread if first_of_warp else leader
        for _ in thread.run():
            pass
        stores = [s for s in thread.done if isinstance(s, Store)]
        recorded = [s for s in stores if s.address.base in (SHARED, launch.buffer)]
        assert bool(recorded) == (tid % size == 0), f"thread {tid}"


CHECKS: tuple[Callable[[Launch], None], ...] = (
    check_start_time,
    check_sm,
    check_used,
    check_pairs,
    check_tags,
    check_places,
    check_copy,
    check_extent,
    check_threads,
)
