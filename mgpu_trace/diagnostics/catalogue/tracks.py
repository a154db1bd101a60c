"""MGT3xx: what the headers of the tracks say."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "EMPTY_TRACKS",
    "GARBAGE_HEADER",
    "IMPLAUSIBLE_SM",
    "LEGACY_LAYOUT",
    "NO_EVENTS",
    "NO_START_TIMES",
    "ODD_COUNT",
    "OVERFULL_TRACK",
    "OVERWRITTEN_TRACK",
    "SM_MISMATCH",
]

OVERFULL_TRACK: Final = Code(
    "MGT301",
    "overfull-track",
    Severity.ERROR,
    "a track used more words than it has",
    means=(
        "The header's count of used words is larger than the track's capacity: the kernel wrote past "
        "its share of shared memory."
    ),
    matters=(
        "The tail of the track's events is lost. Beyond the track's own words it overwrote the start "
        "of the next track of the block."
    ),
    todo=(
        "Raise profile_space (Pallas) or entries_per_warpgroup (Mosaic GPU) to the number in the "
        "message, or turn on the bounds check (JAX 0.11.1 and later), which drops late events "
        "instead."
    ),
)

OVERWRITTEN_TRACK: Final = Code(
    "MGT302",
    "overwritten-track",
    Severity.ERROR,
    "the start of a track was overwritten by the track before it",
    means="The track before it in the same block overflowed into this one.",
    matters="The first events of this track may be the other track's; they are left out.",
    todo="Give the overflowing track more room; see MGT301.",
)

ODD_COUNT: Final = Code(
    "MGT303",
    "odd-count",
    Severity.ERROR,
    "a track's count of words is odd",
    means=(
        "Events are two words each, so the count of used words must be even; it is odd in this track "
        "and even in others. JAX says: Profiler collected an odd number of trace events."
    ),
    matters="The header is not to be trusted, so the track is left empty. The other tracks are decoded.",
    todo=(
        "Look for a track that overflowed into this one, and for a kernel that writes outside its "
        "shared memory."
    ),
)

GARBAGE_HEADER: Final = Code(
    "MGT304",
    "garbage-header",
    Severity.ERROR,
    "a track's header cannot be one",
    means=(
        "The count of used words is larger than any shared memory, or less than the header that it includes "
        "(JAX up to 0.7.2)."
    ),
    matters=(
        "The block was not finished, or something else wrote there. The track is left empty. The "
        "other tracks are decoded."
    ),
    todo="Check that the kernel ended without an error and that the spec is that of this launch.",
)

NO_EVENTS: Final = Code(
    "MGT305",
    "no-events",
    Severity.ERROR,
    "no track has an event",
    means="Every track's count of used words is zero.",
    matters="The kernel never ran, was not profiled, or this is another array.",
    todo="Check that the buffer was read after the kernel had finished. --allow-empty accepts it.",
)

EMPTY_TRACKS: Final = Code(
    "MGT306",
    "empty-tracks",
    Severity.INFO,
    "some tracks have no events",
    means="The count of used words is zero in these tracks while others have events.",
    matters="Those warps or warpgroups recorded nothing, or their blocks did not run.",
    todo=(
        "Nothing, if that is how the kernel is written. JAX's own kernels record at least Init everywhere."
    ),
)

IMPLAUSIBLE_SM: Final = Code(
    "MGT307",
    "implausible-sm",
    Severity.WARNING,
    "an SM id is larger than any GPU's",
    means="The header's SM id is 1024 or more; no GPU known here has so many SMs.",
    matters="The header may be corrupt. The track is decoded and shown under that id.",
    todo="Check the words around it; compare with the other tracks of the same block.",
)

SM_MISMATCH: Final = Code(
    "MGT308",
    "sm-mismatch",
    Severity.WARNING,
    "the tracks of one block name different SMs",
    means=(
        "All threads of a block run on one SM at a time, but the headers of this block's tracks do not agree."
    ),
    matters=(
        "A block that was preempted and moved can do this; so can a wrong spec (tracks per block). "
        "Times within the block are then from different counters."
    ),
    todo="Check --block and --scope. If they are right, compare only tracks of one SM.",
)

LEGACY_LAYOUT: Final = Code(
    "MGT309",
    "legacy-layout",
    Severity.INFO,
    "the header's count includes the header",
    means=(
        "Word 2 is odd in every track that is not empty: JAX up to 0.7.2 stored the count of used "
        "words plus 3."
    ),
    matters="Nothing is lost.",
    todo="Nothing.",
)

NO_START_TIMES: Final = Code(
    "MGT310",
    "no-start-times",
    Severity.WARNING,
    "the tracks carry no start times and no SM ids",
    means="Words 0 and 1 are zero in every track: JAX up to 0.4.31 did not write them.",
    matters="Tracks cannot be placed against each other: each is shown from its own first event.",
    todo="Record with a newer JAX to compare tracks.",
)

CODES: Final[tuple[Code, ...]] = (
    OVERFULL_TRACK,
    OVERWRITTEN_TRACK,
    ODD_COUNT,
    GARBAGE_HEADER,
    NO_EVENTS,
    EMPTY_TRACKS,
    IMPLAUSIBLE_SM,
    SM_MISMATCH,
    LEGACY_LAYOUT,
    NO_START_TIMES,
)
