"""MGT4xx: the events of a track, and how they nest."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "CROSSING_REGIONS",
    "GARBAGE_TAG",
    "MAYBE_TRUNCATED",
    "ORPHAN_EXIT",
    "TRUNCATED_TRACK",
    "UNCLOSED_REGION",
    "UNKNOWN_NAME",
]

TRUNCATED_TRACK: Final = Code(
    "MGT401",
    "truncated-track",
    Severity.WARNING,
    "a track is full and its later events are lost",
    means=(
        "The track has used all its words while regions were still open: with the bounds check on, "
        "later events are dropped without a word."
    ),
    matters=(
        "What happened after the last event is not in the buffer. The open regions are closed at the "
        "last event and marked truncated."
    ),
    todo="Raise profile_space or entries_per_warpgroup.",
)

MAYBE_TRUNCATED: Final = Code(
    "MGT402",
    "maybe-truncated",
    Severity.INFO,
    "a track is exactly full",
    means=(
        "The track has used all its words and every region is closed. Whether more events came after "
        "cannot be told."
    ),
    matters="The track may be a prefix.",
    todo="Raise profile_space by one to be sure.",
)

UNCLOSED_REGION: Final = Code(
    "MGT403",
    "unclosed-region",
    Severity.WARNING,
    "a region was entered and never left",
    means="An ENTER has no EXIT of its name after it in the track.",
    matters="Its true end is unknown. It is closed at the track's last event and marked unclosed.",
    todo="Look for an early return, a trap, or a missing end of the region.",
)

ORPHAN_EXIT: Final = Code(
    "MGT404",
    "orphan-exit",
    Severity.WARNING,
    "a region was left that was never entered",
    means="An EXIT has no open ENTER of its name before it in the track.",
    matters="It is left out: there is no start to draw it from.",
    todo="Look for lost events (overflow) and for exits under another name.",
)

CROSSING_REGIONS: Final = Code(
    "MGT405",
    "crossing-regions",
    Severity.INFO,
    "regions overlap without nesting",
    means="A region was left while a region entered after it was still open.",
    matters=(
        "A line of a timeline can only show nested slices, so the crossing ones are drawn on a second "
        "line, marked overlap."
    ),
    todo="Nothing, if the work is asynchronous. Otherwise check the order of the scopes' ends.",
)

UNKNOWN_NAME: Final = Code(
    "MGT406",
    "unknown-name",
    Severity.WARNING,
    "a name id is not in the table of names",
    means="An event's name id is not one of the names that the spec lists.",
    matters="The region is kept and called 'name N (unknown)'.",
    todo="Give the whole table: --names FILE, in the order of the ids.",
)

GARBAGE_TAG: Final = Code(
    "MGT407",
    "garbage-tag",
    Severity.ERROR,
    "an event's tag cannot be one",
    means="The name id is 1048576 or more. No kernel has so many names.",
    matters="The words were overwritten or never written. The event is left out.",
    todo="Look for an overflow in the same block; check the spec.",
)

CODES: Final[tuple[Code, ...]] = (
    TRUNCATED_TRACK,
    MAYBE_TRUNCATED,
    UNCLOSED_REGION,
    ORPHAN_EXIT,
    CROSSING_REGIONS,
    UNKNOWN_NAME,
    GARBAGE_TAG,
)
