"""What follows from a launch: sizes, and what fits into them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

from mgpu_trace import layout
from mgpu_trace.launch.config import LaunchConfig
from mgpu_trace.launch.hardware import SMEM_LIMIT_ASSUMED_BYTES, SMEM_LIMIT_BYTES, aligned, architecture
from mgpu_trace.layout import Scope

EVENTS_PER_RANGE: Final = 2
# The first range of every kernel is Init, which JAX records around the set-up (mosaic/gpu/core.py).
INIT_RANGES: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """What follows from a LaunchConfig; None where too little was said.

    Attributes
    ----------
    n_threads, n_blocks, tracks_per_block, n_tracks
        Threads of a block, blocks, and tracks.
    words_per_track, n_words, buffer_bytes
        Words of a track, and the size of the whole buffer on the device.
    words_per_profile_space
        Words of one unit of Pallas's ``profile_space`` in that JAX.
    capacity_events, ranges, own_ranges, unused_words
        What fits into a track: events; ranges of two events; those of them that are not Init; and usable
        words that can hold no event.
    needed_words
        Words of a track that the events or ranges that were said would take, header included.
    smem_profile_bytes, smem_start_bytes, smem_total_bytes, smem_left_bytes
        Shared memory of a block: the profile's part, where it starts (after the kernel's own, taken as
        none where that was not said), its end, and what is left below the limit.
    smem_limit_bytes, smem_limit_source
        The limit, and who says so: ``"flag"``, an architecture, or ``"assumed"``.
    most_words_per_track, most_profile_space
        The largest track that fits beside the kernel's own shared memory. The words are even.
    name_ids_left
        How many more names can be interned.
    assumed
        One sentence for everything here that was not told.
    """

    n_threads: int | None
    n_blocks: int | None
    tracks_per_block: int | None
    n_tracks: int | None
    words_per_track: int | None
    n_words: int | None
    buffer_bytes: int | None
    words_per_profile_space: int
    capacity_events: int | None
    ranges: int | None
    own_ranges: int | None
    unused_words: int | None
    needed_words: int | None
    smem_profile_bytes: int | None
    smem_start_bytes: int
    smem_total_bytes: int | None
    smem_left_bytes: int | None
    smem_limit_bytes: int
    smem_limit_source: str
    most_words_per_track: int | None
    most_profile_space: int | None
    name_ids_left: int | None
    assumed: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data (the schema is in docs/cli.md)."""
        return asdict(self) | {"assumed": list(self.assumed)}


def facts_of(config: LaunchConfig) -> LaunchFacts:
    """What follows from ``config``."""
    per_block = _tracks_per_block(config)
    n_blocks = None if config.grid is None else math.prod(config.grid)
    factor = layout.words_per_profile_space(config.release)
    words = config.words_per_track or (config.profile_space or 0) * factor or None
    n_tracks = _times(n_blocks, per_block)
    n_words = _times(n_tracks, words)
    events = None if words is None else layout.capacity_events(words)
    ranges = None if events is None else events // EVENTS_PER_RANGE
    start = aligned(config.smem_bytes or 0)
    limit, source = _limit(config)
    profile = _times(per_block, words, layout.WORD_BYTES)
    total = None if profile is None else start + profile
    most = _most_words(limit - start, per_block)
    return LaunchFacts(
        n_threads=config.n_threads,
        n_blocks=n_blocks,
        tracks_per_block=per_block,
        n_tracks=n_tracks,
        words_per_track=words,
        n_words=n_words,
        buffer_bytes=_times(n_words, layout.WORD_BYTES),
        words_per_profile_space=factor,
        capacity_events=events,
        ranges=ranges,
        own_ranges=None if ranges is None else max(0, ranges - INIT_RANGES),
        unused_words=None if words is None else layout.capacity_words(words) % layout.WORDS_PER_EVENT,
        needed_words=_needed_words(config),
        smem_profile_bytes=profile,
        smem_start_bytes=start,
        smem_total_bytes=total,
        smem_left_bytes=None if total is None else limit - total,
        smem_limit_bytes=limit,
        smem_limit_source=source,
        most_words_per_track=most,
        most_profile_space=None if most is None else most // factor,
        name_ids_left=_name_ids_left(config),
        assumed=_assumed(config, source),
    )


def _tracks_per_block(config: LaunchConfig) -> int | None:
    """Tracks of a block; None where the scope or the block is unknown or cannot be."""
    threads = config.n_threads
    if not isinstance(config.scope, Scope) or threads is None or threads < 1:
        return None
    tracks, rest = divmod(threads, config.scope.value)
    return None if rest else tracks


def _times(*factors: int | None) -> int | None:
    """The product, or None where a factor is."""
    product = 1
    for factor in factors:
        if factor is None:
            return None
        product *= factor
    return product


def _limit(config: LaunchConfig) -> tuple[int, str]:
    if config.smem_limit_bytes is not None:
        return config.smem_limit_bytes, "flag"
    if config.arch is not None:
        name = architecture(config.arch)
        assert name is not None  # LaunchConfig takes no other
        return SMEM_LIMIT_BYTES[name], name
    return SMEM_LIMIT_ASSUMED_BYTES, "assumed"


def _most_words(room_bytes: int, per_block: int | None) -> int | None:
    """Words of the largest track that fits; even, so that every track starts at a multiple of 8 bytes."""
    if per_block is None:
        return None
    return max(0, room_bytes) // (layout.WORD_BYTES * per_block) // 2 * 2


def _needed_words(config: LaunchConfig) -> int | None:
    """Words that a track would take, rounded up to an even number."""
    if config.n_ranges is not None:
        events = (config.n_ranges + INIT_RANGES) * EVENTS_PER_RANGE
    elif config.n_events is not None:
        events = config.n_events
    else:
        return None
    words = layout.HEADER_WORDS + events * layout.WORDS_PER_EVENT
    return words + words % 2


def _name_ids_left(config: LaunchConfig) -> int | None:
    if config.n_names is not None:
        return layout.EXIT_BIT - config.n_names
    return None if config.names is None else layout.EXIT_BIT - len({"Init", *config.names})


def _assumed(config: LaunchConfig, limit_source: str) -> tuple[str, ...]:
    sentences = []
    if limit_source == "assumed" and (config.n_threads is not None or config.smem_bytes is not None):
        sentences.append(
            f"shared memory: {SMEM_LIMIT_ASSUMED_BYTES} bytes a block, as JAX does without a device; "
            "arch or smem_limit says otherwise"
        )
    if config.smem_bytes is None and config.n_threads is not None:
        sentences.append("shared memory of the kernel itself: none; smem_bytes says otherwise")
    if config.profile_space is not None and config.release is None:
        sentences.append("profile_space: 4 words a unit (JAX 0.10 and later); jax_version says otherwise")
    return tuple(sentences)
