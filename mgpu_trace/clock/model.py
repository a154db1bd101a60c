"""The clock model of one launch: what it is, where it came from, how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.model import F64, I32, I64

_RATE_WORDS: Final = {
    "flag": "stated by --sm-clock-mhz",
    "metadata": "from the spec",
    "data": "estimated from the data",
    "nominal": "assumed, the device's highest published clock",
}


@dataclass(frozen=True, slots=True)
class ClockModel:
    """Turns a track's cycles into nanoseconds since the launch's first event.

    Attributes
    ----------
    rate_mhz
        SM clock; None when it is not known, and then one cycle is shown as one nanosecond.
    rate_source
        ``"flag"``, ``"metadata"``, ``"data"`` (estimated), ``"nominal"`` (assumed) or ``"none"``.
    rate_uncertainty_ppm
        Two standard deviations of an estimated rate, in parts per million; else None.
    step_ns
        Step of the global timer found in the start times; None when too few differ to tell.
    base_ns
        Reading of the 32-bit global timer at the time that is shown as zero.
    alignment_ns
        How far two SMs may be off against each other; None when it cannot be told.
    overhead_cyc
        Cycles taken off per event on request; 0: times are raw.
    overhead_source
        ``"none"``, ``"flag"`` or ``"auto"``.
    origin_ns
        ``(n_tracks,)`` time of each track's first event.
    """

    rate_mhz: float | None
    rate_source: str
    rate_uncertainty_ppm: float | None
    step_ns: int | None
    base_ns: int
    alignment_ns: float | None
    origin_ns: F64
    overhead_cyc: int = 0
    overhead_source: str = "none"

    @property
    def ns_per_cyc(self) -> float:
        return 1.0 if self.rate_mhz is None else 1000.0 / self.rate_mhz

    def to_ns(self, track: I32, cyc: I64) -> I64:
        """Nanoseconds since the launch's first event, rounded (halves up).

        Rounding keeps the order of times of one track, so nested slices stay nested.

        Parameters
        ----------
        track, cyc
            ``(n,)`` tracks, and cycles since each track's first event.
        """
        return _whole(self._half_up(cyc, self._rounding_origin_ns(track)))

    def begin_end_ns(self, track: I32, start_cyc: I64, dur_cyc: I64) -> tuple[I64, I64]:
        """Begin and end of slices in nanoseconds, ``(n_slices,)`` each."""
        begin, end = self._begin_end(track, start_cyc, dur_cyc)
        return _whole(begin), _whole(end)

    def narrow_begin_end_ns(
        self, track: I32 | I64, start_cyc: I64, dur_cyc: I64
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The same in 32 bits where all fit: half the work for a writer of many."""
        begin, end = self._begin_end(track, start_cyc, dur_cyc)
        if end.max(initial=0.0) >= 2**31:
            return _whole(begin), _whole(end)
        return begin.astype(np.int32), end.astype(np.int32)

    def _begin_end(self, track: I32 | I64, start_cyc: I64, dur_cyc: I64) -> tuple[F64, F64]:
        origin = self._rounding_origin_ns(track)
        # An end must be rounded as a time of its own, not as begin plus duration: a child's end is then
        # never after its parent's.
        return self._half_up(start_cyc, origin), self._half_up(start_cyc + dur_cyc, origin)

    def _rounding_origin_ns(self, track: I32 | I64) -> F64:
        """Each row's track's origin and half a nanosecond: what is cut to whole ones is then rounded."""
        # An index of another type than NumPy's own is converted first, at three times the cost.
        origin: F64 = self.origin_ns[track.astype(np.intp, copy=False)]
        origin += 0.5
        return origin

    def _half_up(self, cyc: I64, rounding_origin_ns: F64) -> F64:
        ns = cyc.astype(np.float64)
        ns *= self.ns_per_cyc
        ns += rounding_origin_ns
        return ns

    def describe(self) -> str:
        """The model in one sentence, for people."""
        if self.rate_mhz is None:
            rate = "SM clock rate unknown: a trace shows 1 cycle as 1 ns"
        else:
            about = "" if self.rate_uncertainty_ppm is None else f" +- {self.rate_uncertainty_ppm:.0f} ppm"
            rate = f"SM clock {self.rate_mhz:.6g} MHz{about}, {_RATE_WORDS[self.rate_source]}"
        if self.step_ns is not None:
            rate += f"; start times quantised to {self.step_ns} ns"
        if self.alignment_ns is not None:
            rate += f"; SMs aligned to {self.alignment_ns:.0f} ns"
        if self.overhead_cyc:
            rate += f"; {self.overhead_cyc} cycles of probe cost taken off per event ({self.overhead_source})"
        return rate

    def to_dict(self) -> dict[str, Any]:
        """The model as JSON-ready data, for the outputs' metadata."""
        return {
            "description": self.describe(),
            "unit": "cycles shown as ns" if self.rate_mhz is None else "ns",
            "sm_clock_mhz": self.rate_mhz,
            "sm_clock_source": self.rate_source,
            "sm_clock_uncertainty_ppm": self.rate_uncertainty_ppm,
            "globaltimer_step_ns": self.step_ns,
            "base_globaltimer_ns": self.base_ns,
            "sm_alignment_ns": self.alignment_ns,
            "overhead_cyc_per_event": self.overhead_cyc,
            "overhead_source": self.overhead_source,
        }


def _whole(ns: F64) -> I64:
    """Whole nanoseconds; garbage readings at a low rate can lie beyond 64 bits, and stop at 2**62."""
    return np.minimum(ns, 2.0**62).astype(np.int64)
