"""Balance: which SM or block is late, and what that costs the launch."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from mgpu_trace.analyse.source import Source
from mgpu_trace.analyse.table import Table, Values
from mgpu_trace.analyse.units import Asked, TimeUnit, time_unit
from mgpu_trace.analyse.weigh import Weighed, weigh
from mgpu_trace.model import F64, I64, distinct

# A block is a straggler where it takes longer than this times the median.
STRAGGLER: Final = 1.5
# Stragglers that are listed; all are counted.
MOST_LISTED: Final = 100


def balance(source: Source, *, straggler: float = STRAGGLER, unit: Asked = "auto") -> Table:
    """What each SM did: blocks, waves, busy and idle time, first start, last end; one row for each.

    Parameters
    ----------
    source
        A Timeline or a Launch.
    straggler
        A block is one where it stays longer than this times the median.
    unit
        ``"ns"``, ``"cyc"``, or ``"auto"``: nanoseconds where a rate is known.

    Returns
    -------
    Table
        See docs/analysis.md for the columns and the facts.

    Raises
    ------
    MgpuTraceError
        MGT640 for nanoseconds without a rate.
    """
    in_unit = time_unit(source.clock, unit)
    return balance_table(weigh(source, 1, 1), straggler, in_unit)

    in_unit = time_unit(source.clock, unit)
    return balance_table(weigh(source, 1, 1), straggler, in_unit)


def balance_table(found: Weighed, straggler: float, unit: TimeUnit) -> Table:
    """The SMs as rows, and what holds for the launch."""
    sms = found.sms
    begin, end = sms.span()
    late, p50_cyc = _stragglers(found.stays.dur_cyc, straggler)
    columns: dict[str, Values] = {
        "sm": sms.sm,
        "blocks": sms.n_blocks,
        "resident": sms.resident,
        "waves": -(-sms.n_blocks // sms.resident),
    }
    columns |= unit.named(
        first_start=sms.first_start_cyc,
        last_end=sms.last_end_cyc,
        busy=sms.busy_cyc,
        idle=end - begin - sms.busy_cyc,
        tail=end - sms.last_end_cyc,
    )
    columns["busy_share"] = _divided(sms.busy_cyc, end - begin)
    columns["active"] = _divided(found.active_cyc, end - begin)
    on = np.searchsorted(sms.sm, found.stays.sm[late])
    columns["stragglers"] = np.bincount(on, minlength=len(sms)).astype(np.int64)
    facts = {"unit": unit.suffix, **_counts(found), **_times(found, unit)}
    facts |= {"straggler": straggler, "n_stragglers": len(late)}
    if len(found.stays):
        times = unit.named(block_p50=p50_cyc, block_max=found.stays.dur_cyc.max())
        facts |= {name: value.item() for name, value in times.items()}
    facts["stragglers"] = _listed(found, late[:MOST_LISTED], p50_cyc, unit)
    return Table("balance", columns, facts)


def _counts(found: Weighed) -> dict[str, Any]:
    """How many SMs and blocks there are, and of how many nothing is known."""
    spec, tracks, sms, n_stays = found.source.spec, found.source.tracks, found.sms, len(found.stays)
    recorded = tracks.sm[tracks.has_events]
    silent = None if spec.n_sms is None else max(0, spec.n_sms - len(distinct(recorded)))
    resident = int(sms.resident.max(initial=0))
    return {
        "n_sms": len(sms),
        "n_sms_device": spec.n_sms,
        "n_sms_silent": silent,
        "n_blocks": len(distinct(found.stays.block)),
        "n_blocks_silent": found.n_blocks_silent,
        "n_blocks_cut": found.n_blocks_cut,
        "resident": resident,
        "waves": n_stays / (len(sms) * resident) if n_stays else None,
    }


def _times(found: Weighed, unit: TimeUnit) -> dict[str, Any]:
    """How long the launch was, and what of the SMs' time is lost where."""
    sms = found.sms
    begin, end = sms.span()
    first, last = sms.first_start_cyc, sms.last_end_cyc
    launch_cyc, skew_cyc = end - begin, int(first.max(initial=begin)) - begin
    tail_cyc = end - int(last.min(initial=end))
    times = unit.named(launch=launch_cyc, begin=begin, skew=skew_cyc, tail=tail_cyc)
    facts: dict[str, Any] = {name: value.item() for name, value in times.items()}
    # Summed in float64: garbage readings may add up to more than 64 bits hold.
    of = float(launch_cyc) * len(sms)
    facts["tail_share"] = float((end - last).sum(dtype=np.float64)) / of if of else None
    facts["idle_share"] = 1.0 - float(sms.busy_cyc.sum(dtype=np.float64)) / of if of else None
    facts["skew_is_known"] = _is_known(found, skew_cyc)
    return facts


def _is_known(found: Weighed, cyc: int) -> bool | None:
    """Whether a difference between SMs is more than how well they are placed; None for one SM."""
    clock = found.source.clock
    if len(found.sms) < 2:
        return None
    if clock.rate_mhz is None or clock.alignment_ns is None:
        return False
    return cyc * clock.ns_per_cyc > clock.alignment_ns


def _stragglers(dur_cyc: I64, times: float) -> tuple[I64, float]:
    """Rows of the blocks beyond so many times the median, the longest first, and the median."""
    if not len(dur_cyc):
        return np.zeros(0, np.int64), 0.0
    p50_cyc = float(np.median(dur_cyc))
    late = np.flatnonzero(dur_cyc > times * p50_cyc)
    return late[np.argsort(-dur_cyc[late], kind="stable")], p50_cyc


def _listed(found: Weighed, late: I64, p50_cyc: float, unit: TimeUnit) -> list[dict[str, Any]]:
    """Stragglers as objects: who, where, when, how long, and in how many medians."""
    stays, spec = found.stays, found.source.spec
    times = unit.named(start=stays.begin_cyc[late], dur=stays.dur_cyc[late])
    columns: dict[str, Values] = {
        "block": ["{},{},{}".format(*spec.block_xyz(i)) for i in stays.block[late].tolist()],
        "sm": stays.sm[late],
        **times,
        "of_p50": _divided(stays.dur_cyc[late], p50_cyc),
    }
    return Table("stragglers", columns).rows()


def _divided(a: I64, b: float) -> F64:
    """``a / b``; NaN where there is nothing to divide by."""
    return a / b if b else np.full(len(a), np.nan)
