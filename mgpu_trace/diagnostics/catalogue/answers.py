"""MGT640 to MGT649: questions about a launch that cannot be answered as they were asked."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = ["LENGTHS_ROUNDED", "NO_RATE", "NO_SM_IDS", "UNEVEN_PAIR", "UNKNOWN_REGION"]

NO_RATE: Final = Code(
    "MGT640", "no-rate", Severity.ERROR, "nanoseconds are asked for, and the SM clock's rate is not known"
)

UNKNOWN_REGION: Final = Code(
    "MGT641", "unknown-region", Severity.ERROR, "no region of the launch has that name"
)

LENGTHS_ROUNDED: Final = Code(
    "MGT642", "lengths-rounded", Severity.INFO, "percentiles are right to one part in 2048"
)

UNEVEN_PAIR: Final = Code(
    "MGT643",
    "uneven-pair",
    Severity.WARNING,
    "one region of a pair ends more often in a block than the other",
)

NO_SM_IDS: Final = Code(
    "MGT644", "no-sm-ids", Severity.ERROR, "what ran on one SM is asked for, and no track says where it ran"
)

CODES: Final[tuple[Code, ...]] = (NO_RATE, UNKNOWN_REGION, LENGTHS_ROUNDED, UNEVEN_PAIR, NO_SM_IDS)
