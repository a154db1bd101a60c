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
    "MGT301", "overfull-track", Severity.ERROR, "a track used more words than it has"
)

OVERWRITTEN_TRACK: Final = Code(
    "MGT302",
    "overwritten-track",
    Severity.ERROR,
    "the start of a track was overwritten by the track before it",
)

ODD_COUNT: Final = Code("MGT303", "odd-count", Severity.ERROR, "a track's count of words is odd")

GARBAGE_HEADER: Final = Code("MGT304", "garbage-header", Severity.ERROR, "a track's header cannot be one")

NO_EVENTS: Final = Code("MGT305", "no-events", Severity.ERROR, "no track has an event")

EMPTY_TRACKS: Final = Code("MGT306", "empty-tracks", Severity.INFO, "some tracks have no events")

IMPLAUSIBLE_SM: Final = Code(
    "MGT307", "implausible-sm", Severity.WARNING, "an SM id is larger than any GPU's"
)

SM_MISMATCH: Final = Code(
    "MGT308", "sm-mismatch", Severity.WARNING, "the tracks of one block name different SMs"
)

LEGACY_LAYOUT: Final = Code(
    "MGT309", "legacy-layout", Severity.INFO, "the header's count includes the header"
)

NO_START_TIMES: Final = Code(
    "MGT310", "no-start-times", Severity.WARNING, "the tracks carry no start times and no SM ids"
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
