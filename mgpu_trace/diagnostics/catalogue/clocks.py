"""MGT5xx: cycles, nanoseconds, and how they meet."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "CLOCKS_DISAGREE",
    "CLOCK_DISORDER",
    "CLOCK_STEP_BACK",
    "LAUNCH_TOO_LONG",
    "OVERHEAD_REMOVED",
    "RATE_ASSUMED",
    "RATE_ESTIMATED",
    "RATE_UNKNOWN",
    "WRAP_AMBIGUOUS",
]

CLOCK_STEP_BACK: Final = Code(
    "MGT501", "clock-step-back", Severity.INFO, "the SM clock stepped back by a few cycles"
)

CLOCK_DISORDER: Final = Code(
    "MGT502", "clock-disorder", Severity.ERROR, "a track's clock readings are out of order"
)

RATE_UNKNOWN: Final = Code("MGT503", "rate-unknown", Severity.WARNING, "the SM clock's rate is not known")

RATE_ASSUMED: Final = Code("MGT504", "rate-assumed", Severity.WARNING, "the SM clock's rate is assumed")

CLOCKS_DISAGREE: Final = Code(
    "MGT505", "clocks-disagree", Severity.WARNING, "start times and cycle counters do not agree"
)

LAUNCH_TOO_LONG: Final = Code(
    "MGT506", "launch-too-long", Severity.WARNING, "start times may have wrapped more than once"
)

RATE_ESTIMATED: Final = Code(
    "MGT507", "rate-estimated", Severity.INFO, "the SM clock's rate was estimated from the data"
)

WRAP_AMBIGUOUS: Final = Code(
    "MGT508", "wrap-ambiguous", Severity.WARNING, "the cycle counter may have wrapped unseen"
)

OVERHEAD_REMOVED: Final = Code(
    "MGT509", "overhead-removed", Severity.INFO, "a probe cost was subtracted on request"
)

CODES: Final[tuple[Code, ...]] = (
    CLOCK_STEP_BACK,
    CLOCK_DISORDER,
    RATE_UNKNOWN,
    RATE_ASSUMED,
    CLOCKS_DISAGREE,
    LAUNCH_TOO_LONG,
    RATE_ESTIMATED,
    WRAP_AMBIGUOUS,
    OVERHEAD_REMOVED,
)
