"""The headers of all tracks: one pass that touches a few words of each.

The rules and their reasons are in docs/format.md, "Headers".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mgpu_trace import layout
from mgpu_trace.decode.tally import Tally
from mgpu_trace.diagnostics import catalogue
from mgpu_trace.layout import Word2
from mgpu_trace.model import I64, U32, Bool, TraceBuffer, TrackFlag, Tracks
from mgpu_trace.spec import TraceSpec

# How much of a memory-mapped buffer one step of the pass may bring into memory.
_STEP_BYTES = 32 << 20
_HEAD_WORDS = layout.FIRST_CLOCK_WORD + 1


@dataclass(frozen=True, slots=True)
class Headers:
    """What the headers say, checked.

    Attributes
    ----------
    tracks
        One row per track.
    used
        ``(n_tracks,)`` words that the kernel counted; 0 for a broken track.
    """

    tracks: Tracks
    used: I64


def read_headers(buffer: TraceBuffer, tally: Tally) -> Headers:
    """Read every track's header; enter what is wrong with them into ``tally``."""
    spec = buffer.spec
    head = _head_words(buffer)
    counted = head[:, layout.USED_WORD].astype(np.int64)

    garbage = counted > spec.words_per_track + layout.MAX_OVERRUN_WORDS
    word2 = _word2_variant(spec, counted[~garbage])
    used = counted
    if word2 is Word2.USED_PLUS_HEADER:
        used = np.where(counted == 0, 0, counted - layout.HEADER_WORDS)
        garbage |= used < 0
    odd = (used % layout.WORDS_PER_EVENT != 0) & ~garbage
    used = np.where(garbage | odd, 0, used)

    overrun_words = _overrun_words(spec, used)
    tracks = _make_tracks(spec, head, used, overrun_words, garbage | odd)
    _find_first_clocks(buffer, tracks, head)
    _count(spec, tally, tracks, used, overrun_words, garbage=garbage, odd=odd, word2=word2, counted=counted)
    return Headers(tracks, used)


def _head_words(buffer: TraceBuffer) -> U32:
    """``(n_tracks, 5)``: header, first tag and first clock of each track (zero beyond its end)."""
    words = buffer.words
    n_tracks, words_per_track = words.shape
    width = min(words_per_track, _HEAD_WORDS)
    head = np.zeros((n_tracks, _HEAD_WORDS), np.uint32)
    for first, last in _steps(n_tracks, words_per_track):
        head[first:last, :width] = words[first:last, :width]
        buffer.release(first, last)
    return head


def _steps(n_tracks: int, words_per_track: int) -> Iterator[tuple[int, int]]:
    step = max(1, _STEP_BYTES // (words_per_track * layout.WORD_BYTES))
    for first in range(0, n_tracks, step):
        yield first, min(n_tracks, first + step)


def _word2_variant(spec: TraceSpec, counted: I64) -> Word2:
    """The spec's variant, or the one that the counts of all tracks that are not garbage vote for."""
    if spec.word2 is not Word2.AUTO:
        return spec.word2
    told = counted[counted != 0]
    return Word2.USED_PLUS_HEADER if told.size and (told % 2 == 1).all() else Word2.USED


def _make_tracks(spec: TraceSpec, head: U32, used: I64, overrun_words: I64, broken: Bool) -> Tracks:
    usable = spec.capacity_events * layout.WORDS_PER_EVENT
    n_events = np.minimum(used, usable) // layout.WORDS_PER_EVENT
    n_skipped = np.minimum((overrun_words + 1) // layout.WORDS_PER_EVENT, n_events)

    flags = np.zeros(len(used), np.uint8)
    flags[used > spec.capacity_words] |= TrackFlag.OVERFULL
    flags[overrun_words > 0] |= TrackFlag.OVERWRITTEN
    flags[broken] |= TrackFlag.BROKEN
    flags[(used == usable) & (used > 0)] |= TrackFlag.FULL
    return Tracks(
        spec.tracks_per_block,
        head[:, layout.SM_WORD].copy(),
        head[:, layout.START_WORD].copy(),
        n_events.astype(np.int32),
        n_skipped.astype(np.int32),
        np.zeros(len(used), np.uint32),
        flags,
    )


def _overrun_words(spec: TraceSpec, used: I64) -> I64:
    """Words at the start of each track that an overfull track before it in the block wrote over.

    In shared memory the tracks of a block lie back to back, without headers (docs/format.md).
    """
    overrun = np.zeros(len(used), np.int64)
    if used.max(initial=0) <= spec.words_per_track:
        return overrun
    by_block = used.reshape(-1, spec.tracks_per_block)
    view = overrun.reshape(by_block.shape)
    for distance in range(1, spec.tracks_per_block):
        reach = by_block[:, :-distance] - distance * spec.words_per_track
        np.maximum(view[:, distance:], reach, out=view[:, distance:])
    return overrun


def _find_first_clocks(buffer: TraceBuffer, tracks: Tracks, head: U32) -> None:
    """Fill ``tracks.first_clock``: the clock of the first event that is read and has a sound tag."""
    tag, clock = head[:, layout.FIRST_TAG_WORD], head[:, layout.FIRST_CLOCK_WORD]
    at_once = tracks.has_events & (tracks.n_skipped == 0) & (tag & layout.NAME_MASK <= layout.MAX_NAME_ID)
    tracks.first_clock[at_once] = clock[at_once]
    for track in np.flatnonzero(tracks.has_events & ~at_once):
        first = layout.HEADER_WORDS + layout.WORDS_PER_EVENT * int(tracks.n_skipped[track])
        last = layout.HEADER_WORDS + layout.WORDS_PER_EVENT * int(tracks.n_events[track])
        tags = buffer.words[track, first : last : layout.WORDS_PER_EVENT]
        sound = (tags & np.uint32(layout.NAME_MASK)) <= layout.MAX_NAME_ID
        if sound.any():
            at = first + layout.WORDS_PER_EVENT * int(np.argmax(sound)) + 1
            tracks.first_clock[track] = buffer.words[track, at]
        else:
            tracks.flags[track] |= TrackFlag.UNREADABLE


def _count(
    spec: TraceSpec,
    tally: Tally,
    tracks: Tracks,
    used: I64,
    overrun_words: I64,
    *,
    garbage: Bool,
    odd: Bool,
    word2: Word2,
    counted: I64,
) -> None:
    """Enter the findings about headers into ``tally``."""
    broken, live = garbage | odd, used > 0
    tally.tracks(catalogue.GARBAGE_HEADER, garbage, largest=counted)
    tally.tracks(catalogue.ODD_COUNT, odd, largest=counted)
    tally.tracks(catalogue.OVERFULL_TRACK, used > spec.capacity_words, largest=used)
    tally.tracks(catalogue.OVERWRITTEN_TRACK, overrun_words > 0, largest=overrun_words)
    if word2 is Word2.USED_PLUS_HEADER and spec.word2 is Word2.AUTO:
        tally.tracks(catalogue.LEGACY_LAYOUT, live)
    empty = ~live & ~broken
    tally.tracks(catalogue.NO_EVENTS if empty.all() else catalogue.EMPTY_TRACKS, empty)
    if np.count_nonzero(live) > 1 and not (tracks.sm[live].any() or tracks.start_ns[live].any()):
        tally.tracks(catalogue.NO_START_TIMES, live)
    _count_sms(spec, tally, tracks, live)


def _count_sms(spec: TraceSpec, tally: Tally, tracks: Tracks, live: Bool) -> None:
    """SM ids that cannot be, and blocks whose tracks do not agree on theirs."""
    tally.tracks(catalogue.IMPLAUSIBLE_SM, live & (tracks.sm > layout.MAX_PLAUSIBLE_SM), largest=tracks.sm)
    of_block = tracks.sm.reshape(-1, spec.tracks_per_block)
    live_in_block = live.reshape(of_block.shape)
    first_live = np.argmax(live_in_block, axis=1)
    expected = np.take_along_axis(of_block, first_live[:, None], axis=1)
    differs = live_in_block & (of_block != expected)
    n_blocks = int(np.count_nonzero(differs.any(axis=1)))
    if n_blocks:
        tally.add(catalogue.SM_MISMATCH, n_blocks, int(np.argmax(differs.reshape(-1))))
