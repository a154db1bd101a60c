"""Where each uint32 lives in a Mosaic GPU profile buffer.

A buffer is one *track* per profiled thread group (a warp or a warpgroup), block by block::

    track   | start_ns | sm | used | tag clock | tag clock | ... | unused |
    words        1        1    1       2           2

This is the only module that knows an offset or a bit mask. The layout was read from
``jax/experimental/mosaic/gpu/profiler.py``; docs/format.md cites it line by line.
"""

from __future__ import annotations

import enum
import re
from typing import Final

WORD_BYTES: Final = 4
WORD_BITS: Final = 32
WORD_RANGE: Final = 1 << WORD_BITS

START_WORD: Final = 0
SM_WORD: Final = 1
USED_WORD: Final = 2
HEADER_WORDS: Final = 3
WORDS_PER_EVENT: Final = 2
FIRST_TAG_WORD: Final = HEADER_WORDS
FIRST_CLOCK_WORD: Final = HEADER_WORDS + 1

EXIT_BIT: Final = 1 << 31
NAME_MASK: Final = EXIT_BIT - 1

# No kernel has a million names: ids come from interning the scopes of one program.
MAX_NAME_ID: Final = (1 << 20) - 1
# Threads' shared memory is at most 228 KiB (57 Ki words) on any part, so a kernel that counted
# further than its track plus this many words did not count; the header is garbage.
MAX_OVERRUN_WORDS: Final = 1 << 16
# The largest parts have fewer than 200 SMs; %smid need not be dense, so leave room.
MAX_PLAUSIBLE_SM: Final = 1023

# Words per unit of Pallas's ``profile_space``, and the first JAX version of each.
PROFILE_SPACE_WORDS: Final = 4
PROFILE_SPACE_WORDS_BEFORE_0_10: Final = 8


class Scope(enum.Enum):
    """Which threads share one track: the value is their number."""

    WARP = 32
    WARPGROUP = 128

    @property
    def label(self) -> str:
        return self.name.lower()


class Word2(enum.Enum):
    """What word 2 of a track's header counts.

    JAX up to 0.7.2 stored the words used by events plus the 3 of the header (odd); later ones
    store the words used by events (even). The buffer itself has no version marker.
    """

    AUTO = "auto"
    USED = "used"
    USED_PLUS_HEADER = "used+3"


def capacity_words(words_per_track: int) -> int:
    """Words of a track that events may fill; an odd last one stays unused."""
    return max(0, words_per_track - HEADER_WORDS)


def capacity_events(words_per_track: int) -> int:
    """Whole events that fit into a track."""
    return capacity_words(words_per_track) // WORDS_PER_EVENT


def profile_space_for(words: int, words_per_unit: int = PROFILE_SPACE_WORDS) -> int:
    """The smallest Pallas ``profile_space`` that gives a track at least ``words`` words."""
    return -(-words // words_per_unit)


def words_per_profile_space(release: tuple[int, int, int] | None) -> int:
    """Words of one unit of Pallas's ``profile_space`` in that release of JAX; None: the newest."""
    old = release is not None and release < (0, 10, 0)
    return PROFILE_SPACE_WORDS_BEFORE_0_10 if old else PROFILE_SPACE_WORDS


def jax_release(text: str | None) -> tuple[int, int, int] | None:
    """The numbers of a JAX version; None for a development version, which can be either side."""
    match = re.fullmatch(
        r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:\.\d{1,6})?(?:\.?post\d+)?(?:\+.*)?", text or "", re.ASCII
    )
    return None if match is None else (int(match[1]), int(match[2]), int(match[3] or 0))
