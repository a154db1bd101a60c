"""What a trace of TrackEvents holds; apart from its writer, whose classes take a moment to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from mgpu_trace.export import chrome

if TYPE_CHECKING:
    from mgpu_trace.spec import TraceSpec

ARGS: Final = (*chrome.ARGS, "block")
Base = Literal["host", "zero"]
Counters = Literal["none", "sm", "device"]


@dataclass(frozen=True, slots=True)
class Zero:
    """What the launch's first event is shown at.

    Attributes
    ----------
    what
        The field of the spec that says so, or what else it is.
    ns
        What is added to all times.
    clock
        The clock of the sums, as Perfetto numbers them.
    """

    what: str
    ns: int
    clock: int


@dataclass(frozen=True, slots=True)
class PerfettoOptions(chrome.ChromeOptions):
    """What to write besides names and times.

    Attributes
    ----------
    args
        Which of :data:`ARGS` every slice carries.
    roles, group_by, lanes
        As in :class:`~mgpu_trace.export.chrome.ChromeOptions`.
    base
        What the launch's first event is shown at: ``"host"``, the host's time where it is known
        (:func:`zero_of`), ``"zero"``, or a time that somebody else found.
    counters
        Resident blocks and active units: of the whole device, or of each SM as well.
    """

    base: Base | Zero = "host"
    counters: Counters = "none"


# Perfetto's BUILTIN_CLOCK_REALTIME is the UNIX epoch; without any other, BOOTTIME is taken as it is.
REALTIME: Final = 1
BOOTTIME: Final = 6


def zero_of(spec: TraceSpec, base: Base | Zero) -> Zero:
    """Host time (UNIX epoch) at which the first event is shown, where it is known and wanted.

    The time at which the launch had not yet been made is the earliest at which it can have begun, so
    launches of a device, one after the other, are shown one after the other. Where only the time at
    which it was over is known, that is the latest.
    """
    if isinstance(base, Zero):
        return base
    for what in ("host_time_before_ns", "host_time_ns"):
        ns = getattr(spec, what)
        if base == "host" and ns is not None:
            return Zero(what, ns, REALTIME)
    return Zero("first event", 0, BOOTTIME)
