"""What can be broken in a launch: one fault per code that the words of a buffer can fire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.layout import (
    EXIT_BIT,
    FIRST_TAG_WORD,
    HEADER_WORDS,
    MAX_PLAUSIBLE_SM,
    NAME_MASK,
    SM_WORD,
    START_WORD,
    USED_WORD,
    WORD_RANGE,
    WORDS_PER_EVENT,
    Word2,
)
from mgpu_trace.model import U32
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth.config import Fault

_OVERRUN_WORDS = 6
_GARBAGE_COUNT = WORD_RANGE - 2
_GARBAGE_TAG = 0xDEADBEEF


@dataclass(slots=True)
class Words:
    """A launch's words while they are broken."""

    rows: U32
    spec: TraceSpec
    word2: Word2
    touched: set[int] = field(default_factory=set)

    def used(self, track: int) -> int:
        return max(0, int(self.rows[track, USED_WORD]) - self._extra)

    def set_used(self, track: int, used: int) -> None:
        self.rows[track, USED_WORD] = used + self._extra

    @property
    def _extra(self) -> int:
        return int(HEADER_WORDS) if self.word2 is Word2.USED_PLUS_HEADER else 0

    def events(self, track: int) -> U32:
        """``(n_events, 2)`` tags and clocks of a track, as a copy."""
        n = min(self.used(track), WORDS_PER_EVENT * self.spec.capacity_events)
        words: U32 = self.rows[track, FIRST_TAG_WORD : FIRST_TAG_WORD + n].copy()
        return words.reshape(-1, WORDS_PER_EVENT)

    def put(self, track: int, events: U32) -> tuple[int, ...]:
        """Record ``events`` unchecked; returns the tracks written to, the next ones of the block too."""
        flat, stride = events.reshape(-1), self.spec.words_per_track
        self.set_used(track, flat.size)
        last = track // self.spec.tracks_per_block * self.spec.tracks_per_block + self.spec.tracks_per_block
        written = []
        for i, row in enumerate(range(track, last)):
            part = flat[i * stride : (i + 1) * stride][: self.spec.capacity_words]
            if i == 0 or part.size:
                self.rows[row, FIRST_TAG_WORD : FIRST_TAG_WORD + part.size] = part
                written.append(row)
        return tuple(written)

    def pick(self, suits: Callable[[int], bool] = lambda _: True) -> int:
        """The first track with events that no fault has touched and that ``suits``, past the first block.

        (The first block comes last: examples read better when it is sound.)
        """
        first = self.spec.tracks_per_block
        order: tuple[int, ...] = (*range(first, len(self.rows)), *range(first))
        for track in order:
            if track not in self.touched and self.used(track) >= 2 * WORDS_PER_EVENT and suits(track):
                return track
        raise ValueError("no track is left that this fault could break")


def inject(
    words: U32, spec: TraceSpec, word2: Word2, faults: tuple[Fault, ...]
) -> tuple[dict[str, Any], ...]:
    """Break ``words`` in place; returns what was broken, for the truth.

    Raises
    ------
    ValueError
        For a kind that is not in :data:`FAULTS`, and where no track suits.
    """
    work, done = Words(words, spec, word2), []
    for fault in faults:
        if fault.kind not in FAULTS:
            raise ValueError(f"no fault is called {fault.kind!r}; there are: {', '.join(sorted(FAULTS))}")
        make = FAULTS[fault.kind]
        if fault.track is not None and not 0 <= fault.track < len(words):
            raise ValueError(f"fault {fault.kind}: there is no track {fault.track}")
        try:
            tracks = make(work, fault.track)
        except ValueError as e:
            raise ValueError(f"fault {fault.kind}: {e}") from None
        work.touched.update(tracks)
        done.append({"kind": fault.kind, "tracks": [int(t) for t in tracks]})
    return tuple(done)


def _pad(events: U32, n: int, n_open: int) -> U32:
    """``events`` and ``n`` more: pairs of the first name, the last ``n_open`` of them only entered."""
    tags = np.resize(np.array([0, EXIT_BIT], np.uint32) | (events[0, 0] & NAME_MASK), n)
    tags[n - n_open :] &= np.uint32(NAME_MASK)
    clocks = (int(events[-1, 1]) + 50 * np.arange(1, n + 1)) % WORD_RANGE
    return np.concatenate((events, np.stack((tags, clocks.astype(np.uint32)), axis=1)))


def _overfull(work: Words, track: int | None) -> tuple[int, ...]:
    per_block = work.spec.tracks_per_block
    if track is None:
        track = work.pick(lambda t: _has_next(work, t) or per_block == 1)
    events = work.events(track)
    n = (work.spec.words_per_track + _OVERRUN_WORDS + 1) // WORDS_PER_EVENT - len(events)
    return work.put(track, _pad(events, n, 0))


def _overwritten(work: Words, track: int | None) -> tuple[int, ...]:
    track = work.pick(lambda t: _has_next(work, t)) if track is None else track
    written = _overfull(work, track)
    if len(written) < 2:
        raise ValueError(f"track {track} is the last of its block")
    return written


def _has_next(work: Words, track: int) -> bool:
    """Whether there is a track after it in its block, and it is as the launch left it."""
    return (track + 1) % work.spec.tracks_per_block > 0 and track + 1 not in work.touched


def _truncated(work: Words, track: int | None) -> tuple[int, ...]:
    track = work.pick(lambda t: _room(work, t) > 0) if track is None else track
    room = _room(work, track)
    if room == 0:
        raise ValueError(f"track {track} has no room for a region that stays open")
    return work.put(track, _pad(work.events(track), room, 1 if room % 2 else 2))


def _exactly_full(work: Words, track: int | None) -> tuple[int, ...]:
    track = work.pick(lambda t: _room(work, t) % 2 == 0) if track is None else track
    return work.put(track, _pad(work.events(track), _room(work, track), 0))


def _room(work: Words, track: int) -> int:
    return work.spec.capacity_events - len(work.events(track))


def _orphan_exit(work: Words, track: int | None) -> tuple[int, ...]:
    track = work.pick() if track is None else track
    return work.put(track, work.events(track)[1:])


def _unclosed(work: Words, track: int | None) -> tuple[int, ...]:
    track = work.pick() if track is None else track
    return work.put(track, work.events(track)[:-1])


def _crossable(events: U32) -> NDArray[np.bool_]:
    """Where an exit and the tag after it, of another name, can change places: their regions then cross."""
    tags, names = events[:, 0], events[:, 0] & NAME_MASK
    found: NDArray[np.bool_] = (tags[:-1] >= EXIT_BIT) & (names[:-1] != names[1:])
    return found


def _crossing(work: Words, track: int | None) -> tuple[int, ...]:
    if track is None:
        track = work.pick(lambda t: bool(_crossable(work.events(t)).any()))
    events = work.events(track)
    places = np.flatnonzero(_crossable(events))
    if len(places) == 0:
        raise ValueError(f"track {track} has no two regions that could cross")
    i = int(places[-1])
    events[[i, i + 1], 0] = events[[i + 1, i], 0]
    return work.put(track, events)


def _unknown_name(work: Words, track: int | None) -> tuple[int, ...]:
    track = work.pick() if track is None else track
    events = work.events(track)
    tags = events[:, 0]
    same = tags & NAME_MASK == tags[0] & NAME_MASK
    tags[same] = tags[same] & np.uint32(EXIT_BIT) | np.uint32(len(work.spec.names or ()) + 7)
    return work.put(track, events)


def _garbage_tag(work: Words, track: int | None) -> tuple[int, ...]:
    track = work.pick() if track is None else track
    events = work.events(track)
    events[len(events) // 2, 0] = _GARBAGE_TAG
    return work.put(track, events)


def _step_back(by_cyc: int) -> Callable[[Words, int | None], tuple[int, ...]]:
    """A fault that sets one reading ``by_cyc`` below the one before it."""

    def make(work: Words, track: int | None) -> tuple[int, ...]:
        track = work.pick() if track is None else track
        events = work.events(track)
        middle = len(events) // 2
        events[middle, 1] = (int(events[middle - 1, 1]) - by_cyc) % WORD_RANGE
        return work.put(track, events)

    return make


def _header(word: int, value: Callable[[Words, int], int]) -> Callable[[Words, int | None], tuple[int, ...]]:
    """A fault that sets one word of a track's header."""

    def make(work: Words, track: int | None) -> tuple[int, ...]:
        track = work.pick() if track is None else track
        work.rows[track, word] = value(work, track)
        return (track,)

    return make


def _sm_mismatch(work: Words, track: int | None) -> tuple[int, ...]:
    if work.spec.tracks_per_block == 1:
        raise ValueError("a block of one track cannot disagree with itself")
    track = work.pick() if track is None else track
    work.rows[track, SM_WORD] += 1
    return (track,)


def _implausible_sm(work: Words, track: int | None) -> tuple[int, ...]:
    per_block = work.spec.tracks_per_block

    def of_block(t: int) -> tuple[int, ...]:
        return tuple(range(t // per_block * per_block, (t // per_block + 1) * per_block))

    tracks = of_block(work.pick(lambda t: work.touched.isdisjoint(of_block(t))) if track is None else track)
    work.rows[list(tracks), SM_WORD] = MAX_PLAUSIBLE_SM + 1
    return tracks


def _never_ran(work: Words, _: int | None) -> tuple[int, ...]:
    work.rows[:] = 0
    return tuple(range(len(work.rows)))


def _no_start_times(work: Words, _: int | None) -> tuple[int, ...]:
    work.rows[:, [START_WORD, SM_WORD]] = 0
    return tuple(range(len(work.rows)))


FAULTS: Final[Mapping[str, Callable[[Words, int | None], tuple[int, ...]]]] = {
    "overfull-track": _overfull,
    "overwritten-track": _overwritten,
    "odd-count": _header(USED_WORD, lambda work, t: int(work.rows[t, USED_WORD]) - 1),
    "garbage-header": _header(USED_WORD, lambda *_: _GARBAGE_COUNT),
    "no-events": _never_ran,
    "empty-tracks": _header(USED_WORD, lambda *_: 0),
    "implausible-sm": _implausible_sm,
    "sm-mismatch": _sm_mismatch,
    "no-start-times": _no_start_times,
    "truncated-track": _truncated,
    "maybe-truncated": _exactly_full,
    "unclosed-region": _unclosed,
    "orphan-exit": _orphan_exit,
    "crossing-regions": _crossing,
    "unknown-name": _unknown_name,
    "garbage-tag": _garbage_tag,
    "clock-step-back": _step_back(3),
    "clock-disorder": _step_back(1_000_000),
}
