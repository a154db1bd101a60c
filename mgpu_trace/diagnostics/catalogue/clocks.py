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
    "MGT501",
    "clock-step-back",
    Severity.INFO,
    "the SM clock stepped back by a few cycles",
    means="An event's clock is a little smaller than that of the event before it in the track.",
    matters="The order of the events is kept; the times are levelled so that no duration is negative.",
    todo="Nothing.",
)

CLOCK_DISORDER: Final = Code(
    "MGT502",
    "clock-disorder",
    Severity.ERROR,
    "a track's clock readings are out of order",
    means=(
        "An event's clock is much smaller than that of the event before it: more than the hardware's "
        "own small steps."
    ),
    matters=(
        "Some clock readings of the track are wrong. They are levelled to their neighbours; durations "
        "there are not to be trusted."
    ),
    todo="Look for overwritten events in the same block; check the spec.",
)

RATE_UNKNOWN: Final = Code(
    "MGT503",
    "rate-unknown",
    Severity.WARNING,
    "the SM clock's rate is not known",
    means=(
        "Neither a flag, nor the spec, nor the data itself, nor the device's name says "
        "how fast the SM clock ran."
    ),
    matters=(
        "One cycle is shown as one nanosecond. Distances within one SM are exact in cycles, and are "
        "not times."
    ),
    todo="Give --sm-clock-mhz.",
)

RATE_ASSUMED: Final = Code(
    "MGT504",
    "rate-assumed",
    Severity.WARNING,
    "the SM clock's rate is assumed",
    means=(
        "The rate is the highest clock that is published for the device; the true one at that time "
        "may have been lower."
    ),
    matters="Durations in nanoseconds may be too short by some per cent. Cycles are exact.",
    todo="Give --sm-clock-mhz, or lock the clock while recording.",
)

CLOCKS_DISAGREE: Final = Code(
    "MGT505",
    "clocks-disagree",
    Severity.WARNING,
    "start times and cycle counters do not agree",
    means=(
        "With the rate in use no offset of an SM's counter puts every track of that SM within one "
        "step of its start time."
    ),
    matters=(
        "The rate is wrong, the clock changed during the launch, or a start time is. Positions across "
        "SMs are off by the amount in the message."
    ),
    todo="Check --sm-clock-mhz.",
)

LAUNCH_TOO_LONG: Final = Code(
    "MGT506",
    "launch-too-long",
    Severity.WARNING,
    "start times may have wrapped more than once",
    means=("The start times cover more than half of the 4.29 s after which the 32-bit global timer wraps."),
    matters="Where the launch begins on that circle cannot be told for certain.",
    todo="Record shorter launches.",
)

RATE_ESTIMATED: Final = Code(
    "MGT507",
    "rate-estimated",
    Severity.INFO,
    "the SM clock's rate was estimated from the data",
    means="Tracks that start far apart on one SM give the number of cycles in a known time.",
    matters="The message gives the rate and its uncertainty.",
    todo="Give --sm-clock-mhz where it is known.",
)

WRAP_AMBIGUOUS: Final = Code(
    "MGT508",
    "wrap-ambiguous",
    Severity.WARNING,
    "the cycle counter may have wrapped unseen",
    means=(
        "Two tracks of one SM start so far apart that the 32-bit cycle counter may have wrapped in "
        "between, and no rate is known to tell how often."
    ),
    matters="The later tracks may be drawn up to 2.2 s too early.",
    todo="Give --sm-clock-mhz.",
)

OVERHEAD_REMOVED: Final = Code(
    "MGT509",
    "overhead-removed",
    Severity.INFO,
    "a probe cost was subtracted on request",
    means=("--overhead was given: that many cycles were taken off for every event before the one at hand."),
    matters="Times are corrected by an estimate, and gaps shorter than it become zero.",
    todo="Leave --overhead out for raw times.",
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
