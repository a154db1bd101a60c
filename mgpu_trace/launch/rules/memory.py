"""The profile's part of shared memory, and how it is cut into tracks."""

from __future__ import annotations

from collections.abc import Iterator

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.launch.config import LaunchConfig
from mgpu_trace.launch.facts import INIT_RANGES, LaunchFacts
from mgpu_trace.launch.hardware import LARGEST_DEVICE_BYTES

# Init and one range of the kernel's own, of two events each; rounded up to an even number of words.
_LEAST_RANGES = INIT_RANGES + 1
LEAST_WORDS = layout.HEADER_WORDS + _LEAST_RANGES * 2 * layout.WORDS_PER_EVENT + 1


def rules(config: LaunchConfig, facts: LaunchFacts) -> Iterator[Diagnostic]:
    """MGT223 to 227, and 244."""
    if bool(config.profile_space) != bool(config.profile_dir) and config.words_per_track is None:
        missing = "profile_dir" if config.profile_space else "profile_space"
        yield Diagnostic(
            catalogue.PROFILE_DIR_MISSING,
            "Either both profile_space and profile_dir must be set, or neither.",
            hint=f"give {missing} too, or neither",
        )
    yield from _room(config, facts)
    if facts.buffer_bytes is not None and facts.buffer_bytes > LARGEST_DEVICE_BYTES:
        yield Diagnostic(
            catalogue.BUFFER_TOO_LARGE,
            f"the buffer is {facts.buffer_bytes} bytes, and no device has more than {LARGEST_DEVICE_BYTES}",
            hint="use a smaller grid, or fewer words a track",
        )
    if facts.words_per_track:
        yield from _track(config, facts, facts.words_per_track)


def _room(config: LaunchConfig, facts: LaunchFacts) -> Iterator[Diagnostic]:
    total, limit = _total(config, facts), facts.smem_limit_bytes
    if total <= limit:
        return
    yield Diagnostic(
        catalogue.SMEM_EXCEEDED,
        "Mosaic GPU kernel exceeds available shared memory: "
        f"smem_bytes={total} > max_smem_bytes={limit}{_whose(facts)}",
        hint=_what_fits(config, facts),
    )


def _total(config: LaunchConfig, facts: LaunchFacts) -> int:
    """Bytes of a block: as said, or with the least profile that would do, or of the kernel alone."""
    if facts.smem_total_bytes is not None:
        return facts.smem_total_bytes
    if facts.needed_words is not None and facts.tracks_per_block is not None:
        return facts.smem_start_bytes + facts.tracks_per_block * facts.needed_words * layout.WORD_BYTES
    return config.smem_bytes or 0  # without a profile nothing is rounded up


def _whose(facts: LaunchFacts) -> str:
    """Where the limit comes from, unless the user said it."""
    named = {"flag": "", "assumed": " (assumed)"}
    return named.get(facts.smem_limit_source, f" ({facts.smem_limit_source})")


def _what_fits(config: LaunchConfig, facts: LaunchFacts) -> str:
    own = config.smem_bytes or 0
    if own > facts.smem_limit_bytes:
        return f"the kernel alone takes {own} bytes"
    words, units = facts.most_words_per_track, facts.most_profile_space
    if words is None:
        return "use a smaller profile_space"
    if facts.words_per_track is None and words >= LEAST_WORDS:
        return f"a track would need {facts.needed_words} words, and there is room for {words}: record less"
    if words < LEAST_WORDS:
        return f"beside the kernel's {own} bytes there is no room for a profile of {_tracks(facts)} a block"
    return f"profile_space {units} or entries {words} is the most that fits beside the kernel's {own} bytes"


def _tracks(facts: LaunchFacts) -> str:
    return counted(facts.tracks_per_block or 0, "track")


def _track(config: LaunchConfig, facts: LaunchFacts, words: int) -> Iterator[Diagnostic]:
    ranges, events = facts.ranges, facts.capacity_events
    assert ranges is not None
    if ranges < _LEAST_RANGES:
        units = layout.profile_space_for(LEAST_WORDS, facts.words_per_profile_space)
        least = LEAST_WORDS - 1 if facts.tracks_per_block == 1 else LEAST_WORDS  # one alone may be odd
        yield Diagnostic(
            catalogue.TOO_FEW_RANGES,
            f"a track of {words} words has room for {counted(events or 0, 'event')}: "
            + ("Init and no range of the kernel's own" if ranges else "not even Init"),
            hint=f"use at least profile_space {units} or entries {least}",
        )
    if words % 2 and (facts.tracks_per_block or 1) > 1:
        yield Diagnostic(
            catalogue.MISALIGNED_TRACKS,
            f"tracks of {words} words, {facts.tracks_per_block} a block: every other one starts "
            f"{layout.WORD_BYTES} bytes off a multiple of 8 in shared memory, where events are stored "
            "8 bytes at a time",
            hint=f"use an even number, such as entries {max(words + 1, LEAST_WORDS)}",
        )
    elif _could_be_odd(config, facts) and facts.unused_words and ranges >= _LEAST_RANGES:
        yield Diagnostic(
            catalogue.UNUSED_WORD,
            f"{layout.capacity_words(words)} usable words hold {events} events, and one word is left over",
            hint="with one track a block, one word fewer holds as much",
        )


def _could_be_odd(config: LaunchConfig, facts: LaunchFacts) -> bool:
    """Whether the words were chosen freely: several tracks, and profile_space, make them even."""
    return config.words_per_track is not None and facts.tracks_per_block == 1
