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
    "MGT401", "truncated-track", Severity.WARNING, "a track is full and its later events are lost"
)

MAYBE_TRUNCATED: Final = Code("MGT402", "maybe-truncated", Severity.INFO, "a track is exactly full")

UNCLOSED_REGION: Final = Code(
    "MGT403", "unclosed-region", Severity.WARNING, "a region was entered and never left"
)

ORPHAN_EXIT: Final = Code(
    "MGT404", "orphan-exit", Severity.WARNING, "a region was left that was never entered"
)

CROSSING_REGIONS: Final = Code("MGT405", "crossing-regions", Severity.INFO, "regions overlap without nesting")

UNKNOWN_NAME: Final = Code(
    "MGT406", "unknown-name", Severity.WARNING, "a name id is not in the table of names"
)

GARBAGE_TAG: Final = Code("MGT407", "garbage-tag", Severity.ERROR, "an event's tag cannot be one")

CODES: Final[tuple[Code, ...]] = (
    TRUNCATED_TRACK,
    MAYBE_TRUNCATED,
    UNCLOSED_REGION,
    ORPHAN_EXIT,
    CROSSING_REGIONS,
    UNKNOWN_NAME,
    GARBAGE_TAG,
)
