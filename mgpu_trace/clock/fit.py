"""Fit one clock model to a launch: rate, then the offset of each SM's counter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from mgpu_trace import layout
from mgpu_trace.clock.model import ClockModel
from mgpu_trace.clock.rate import SETUP_NS, UNKNOWN_STEP_NS, estimate_rate
from mgpu_trace.clock.sms import FirstEvents, first_events, residual_ns
from mgpu_trace.clock.starts import find_step, unwrap_starts
from mgpu_trace.diagnostics import Code, Diagnostic, catalogue
from mgpu_trace.model import F64, I64, TrackFlag, Tracks
from mgpu_trace.spec import TraceSpec

# Highest published SM clock by what the device's name contains; the first match counts.
NOMINAL_SM_CLOCK_MHZ: Final[tuple[tuple[str, float], ...]] = (
    ("H100 PCIe", 1755.0),
    ("H100", 1980.0),
    ("H200", 1980.0),
    ("A100", 1410.0),
    ("B200", 1965.0),
)


@dataclass(slots=True)
class _Found:
    """The rate in use, where it came from, and what there is to say about the clocks."""

    rate_mhz: float | None = None
    source: str = "none"
    uncertainty_ppm: float | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def say(self, code: Code, message: str, hint: str = "", count: int = 1) -> None:
        self.diagnostics.append(Diagnostic(code, message, count, hint=hint))


def fit_clock(spec: TraceSpec, tracks: Tracks) -> tuple[ClockModel, tuple[Diagnostic, ...]]:
    """The clock model of a launch, and what it had to assume.

    Never raises about data: where readings contradict each other the model says by how much.

    Parameters
    ----------
    spec
        Gives a stated rate or a device's name.
    tracks
        Start times, SM ids and first clocks.
    """
    live = np.flatnonzero(tracks.has_events & (tracks.flags & TrackFlag.UNREADABLE == 0))
    origin_ns = np.zeros(len(tracks))
    if live.size == 0:
        return ClockModel(spec.sm_clock_mhz, _stated(spec), None, None, 0, None, origin_ns), ()

    found = _Found()
    since_ns, first_ns, sure = unwrap_starts(tracks.start_ns[live])
    if not sure:
        found.say(
            catalogue.LAUNCH_TOO_LONG,
            "start times cover more than half of the global timer's 4.29 s; their order may be wrong",
            "record shorter launches",
        )
    step_ns = find_step(since_ns)
    first = _unwrap_and_find_rate(spec, tracks, live, since_ns, step_ns, found)
    alignment_ns = None
    if tracks.sm[live].any() or tracks.start_ns[live].any():  # else JAX did not write them
        origin_ns[first.track], alignment_ns = _place(first, step_ns, found)
    zero = float(origin_ns[live].min())
    origin_ns -= zero
    base_ns = (first_ns + int(np.floor(zero))) % layout.WORD_RANGE
    model = ClockModel(
        found.rate_mhz, found.source, found.uncertainty_ppm, step_ns, base_ns, alignment_ns, origin_ns
    )
    return model, tuple(found.diagnostics)


def _unwrap_and_find_rate(
    spec: TraceSpec, tracks: Tracks, live: I64, since_ns: I64, step_ns: int | None, found: _Found
) -> FirstEvents:
    """The first events of the live tracks; the rate goes into ``found``.

    They are unwrapped twice: without a rate to find it, and with it to be sure of long gaps.
    """
    columns = (
        live,
        tracks.sm[live].astype(np.int64),
        since_ns,
        tracks.first_clock[live].astype(np.int64),
        tracks.n_skipped[live] == 0,
    )
    first, n_unsure = first_events(*columns, None)
    _find_rate(spec, first, step_ns, found)
    if found.rate_mhz is not None:
        first, n_unsure = first_events(*columns, found.rate_mhz / 1000.0)
    if n_unsure:
        found.say(
            catalogue.WRAP_AMBIGUOUS,
            f"starts on one SM lie so far apart ({n_unsure} times) that its counter may have turned unseen",
            "give --sm-clock-mhz",
            n_unsure,
        )
    return first


def _stated(spec: TraceSpec) -> str:
    return "none" if spec.sm_clock_mhz is None else spec.sm_clock_source


def _find_rate(spec: TraceSpec, first: FirstEvents, step_ns: int | None, found: _Found) -> None:
    """Flag or metadata, else the data, else the device's nominal clock, else none."""
    if spec.sm_clock_mhz is not None:
        found.rate_mhz, found.source = spec.sm_clock_mhz, spec.sm_clock_source
        return
    estimate = estimate_rate(first, step_ns)
    if estimate is not None:
        found.rate_mhz, found.source = estimate.cyc_per_ns * 1000.0, "data"
        found.uncertainty_ppm = estimate.uncertainty_ppm
        found.say(
            catalogue.RATE_ESTIMATED,
            f"SM clock estimated from the data: {found.rate_mhz:.6g} MHz "
            f"+- {estimate.uncertainty_ppm:.0f} ppm",
        )
        return
    nominal = next((mhz for part, mhz in NOMINAL_SM_CLOCK_MHZ if part in (spec.device or "")), None)
    if nominal is not None:
        found.rate_mhz, found.source = nominal, "nominal"
        found.say(
            catalogue.RATE_ASSUMED,
            f"SM clock assumed: {nominal:g} MHz, the highest published for {spec.device}",
            "give --sm-clock-mhz",
        )
        return
    message = (
        "SM clock rate unknown (no flag, no metadata, starts on one SM too few or too close together to "
        "estimate it): a trace shows 1 cycle as 1 ns"
    )
    if len(first.group_starts) > 1:
        message += (
            "; SMs are placed by ns as if those were cycles, so a time from one SM to another is neither"
        )
    found.say(catalogue.RATE_UNKNOWN, message, "give --sm-clock-mhz")


def _place(first: FirstEvents, step_ns: int | None, found: _Found) -> tuple[F64, float | None]:
    """Time of each row's first event since the earliest start, and how well SMs are aligned.

    Every track of an SM bounds its offset: the first event comes after the start time was read, and
    the reading is less than one step old. The lowest offset that satisfies all the lower bounds is
    used, so that no event is shown before its track's start time, and a track alone on its SM is
    shown exactly at it.
    """
    if found.rate_mhz is None:
        # Without a rate the bounds mean nothing: each SM hangs on its first track, and what comes later
        # on it is off by as much as a cycle is not a nanosecond.
        starts = first.group_starts
        start_ns = first.start_ns[starts].astype(np.float64)
        return start_ns[first.group] + first.clock_cyc, None

    ns_per_cyc = 1000.0 / found.rate_mhz
    offset = residual_ns(first, ns_per_cyc)
    starts = first.group_starts
    low = np.maximum.reduceat(np.where(first.is_fit, offset, -np.inf), starts)
    high = np.minimum.reduceat(np.where(first.is_fit, offset, np.inf), starts)
    unbound = ~np.isfinite(low)
    low[unbound] = high[unbound] = offset[starts][unbound]

    step = UNKNOWN_STEP_NS if step_ns is None else step_ns
    excess = low - high - (step + SETUP_NS)
    wrong = excess > 0
    if wrong.any():
        # One bad start time must not move a whole SM: take the middle one instead.
        low[wrong] = _median_by_group(first, offset)[wrong]
        found.say(
            catalogue.CLOCKS_DISAGREE,
            f"{np.count_nonzero(wrong)} of {len(starts)} SMs: start times and cycle counters disagree "
            f"by up to {excess.max() + step:.0f} ns at {found.rate_mhz:.6g} MHz ({found.source})",
            "check --sm-clock-mhz",
            int(np.count_nonzero(wrong)),
        )
    spread = (low - high)[~wrong]
    alignment = float(excess.max() + step) if wrong.any() else step - float(spread.min(initial=0.0))
    return low[first.group] + first.clock_cyc * ns_per_cyc, None if step_ns is None else max(alignment, 1.0)


def _median_by_group(first: FirstEvents, offset: F64) -> F64:
    """``(n_sms,)`` median over each SM's tracks of the offset that they see."""
    order = np.lexsort((offset, first.group))
    starts = first.group_starts
    count = np.diff(starts, append=len(offset))
    out: F64 = offset[order][starts + count // 2]
    return out
