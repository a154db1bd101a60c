"""MGT660 to MGT679: many launches at once."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "ALIGN_UNKNOWN",
    "BEFORE_NOTED",
    "BOUNDS_CONTRADICT",
    "CLOCKS_DRIFT",
    "DEVICES_UNALIGNED",
    "HOST_DISAGREES",
    "HOST_PARTLY",
    "HOST_TRACE_INVALID",
    "HOST_UNMATCHED",
    "IMPOSSIBLE_ORDER",
    "NO_HOST_TIMES",
    "NO_LAUNCH",
    "OUTSIDE_TRACE",
    "SAME_LAUNCH",
    "TURN_AMBIGUOUS",
    "TURN_ASSUMED",
    "WORKER_KILLED",
]

WORKER_KILLED: Final = Code(
    "MGT660", "worker-killed", Severity.ERROR, "the process that worked on a file was killed"
)

TURN_AMBIGUOUS: Final = Code(
    "MGT661", "turn-ambiguous", Severity.WARNING, "a launch fits more than one turn of the global timer"
)

TURN_ASSUMED: Final = Code(
    "MGT662", "turn-assumed", Severity.INFO, "in which turn of the timer a launch began is an assumption"
)

CLOCKS_DRIFT: Final = Code(
    "MGT663", "clocks-drift", Severity.WARNING, "device and host clocks drift apart during the run"
)

BOUNDS_CONTRADICT: Final = Code(
    "MGT664", "bounds-contradict", Severity.WARNING, "a launch ends after the host noted that it was over"
)

NO_HOST_TIMES: Final = Code(
    "MGT665", "no-host-times", Severity.WARNING, "a device has no host times, and others have"
)

DEVICES_UNALIGNED: Final = Code(
    "MGT666", "devices-unaligned", Severity.WARNING, "devices are placed against each other by host times"
)

ALIGN_UNKNOWN: Final = Code(
    "MGT667", "align-unknown", Severity.ERROR, "the region to align devices by is not in their launches"
)

IMPOSSIBLE_ORDER: Final = Code(
    "MGT668", "impossible-order", Severity.WARNING, "a wait ends before the signal that it waits for"
)

NO_LAUNCH: Final = Code("MGT669", "no-launch", Severity.ERROR, "no launch is left to merge")

HOST_UNMATCHED: Final = Code(
    "MGT670", "host-unmatched", Severity.ERROR, "no launch has a slice in the host trace"
)

HOST_TRACE_INVALID: Final = Code(
    "MGT671", "host-trace-invalid", Severity.ERROR, "the host trace cannot be read, or is none"
)

HOST_DISAGREES: Final = Code(
    "MGT672", "host-disagrees", Severity.WARNING, "launches stick out of their slices in the host trace"
)

HOST_PARTLY: Final = Code(
    "MGT673", "host-partly", Severity.INFO, "some launches or slices of the host trace have no counterpart"
)

SAME_LAUNCH: Final = Code("MGT674", "same-launch", Severity.WARNING, "several files hold the same launch")

OUTSIDE_TRACE: Final = Code(
    "MGT675", "outside-trace", Severity.WARNING, "a launch is at a time that the trace cannot show"
)

BEFORE_NOTED: Final = Code(
    "MGT676", "before-noted", Severity.INFO, "a launch began before the first time that the host noted for it"
)

CODES: Final[tuple[Code, ...]] = (
    WORKER_KILLED,
    TURN_AMBIGUOUS,
    TURN_ASSUMED,
    CLOCKS_DRIFT,
    BOUNDS_CONTRADICT,
    NO_HOST_TIMES,
    DEVICES_UNALIGNED,
    ALIGN_UNKNOWN,
    IMPOSSIBLE_ORDER,
    NO_LAUNCH,
    HOST_UNMATCHED,
    HOST_TRACE_INVALID,
    HOST_DISAGREES,
    HOST_PARTLY,
    SAME_LAUNCH,
    OUTSIDE_TRACE,
    BEFORE_NOTED,
)
