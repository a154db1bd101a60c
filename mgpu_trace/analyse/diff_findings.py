"""What is to be heeded in a comparison, and whether it is a regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mgpu_trace.analyse.diff_table import SLOWER
from mgpu_trace.analyse.table import Table
from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import clipped

_SAID: Final = 3
_MAX_RATE_RATIO: Final = 1.001  # of two SM clocks that count as one


def findings(table: Table) -> list[Diagnostic]:
    """What makes the two sides hard to compare, and what the answer cannot tell."""
    facts = table.facts
    launches = [*facts["old"], *facts["new"]]
    found = [_shapes(launches), _names(facts), _clocks(launches, facts), _no_interval(table)]
    if facts["is_rounded"]:
        message = "too many different lengths to keep: medians are made from lengths rounded to 11 bits"
        found.append(Diagnostic(catalogue.LENGTHS_ROUNDED, message, hint="ask for a part (--select)"))
    return [finding for finding in found if finding is not None]


def regressions(table: Table, share: float) -> Diagnostic | None:
    """MGT652: the rows whose mean or total grew by more than ``share``, and beyond the noise, if any."""
    worst: dict[str, float] = {}
    for row in table.rows():
        grown = [
            row[f"{of}_change"]
            for of, verdict in (("mean", row["verdict"]), ("total", row["total_verdict"]))
            if verdict == SLOWER and row[f"{of}_change"] > share
        ]
        if grown:
            worst[row["region"]] = max(grown)
    if not worst:
        return None
    ranked = sorted(worst.items(), key=lambda grown: -grown[1])
    said = ", ".join(f"{clipped(region)} {change:+.1%}" for region, change in ranked[:_SAID])
    more = f" and {len(ranked) - _SAID} more" if len(ranked) > _SAID else ""
    message = f"slower by more than {100 * share:g}%, and beyond the noise: {said}{more}"
    return Diagnostic(catalogue.REGRESSION, message, count=len(ranked), hint="the table has their intervals")


def _shapes(launches: Sequence[dict[str, Any]]) -> Diagnostic | None:
    shapes = [
        f"grid {_sizes(a['grid'])} of {_sizes(a['block'])} threads, tracks of a {a['scope']}"
        for a in launches
    ]
    if len({*shapes}) < 2:
        return None
    other = next(shape for shape in shapes if shape != shapes[0])
    message = f"the launches differ in shape: {shapes[0]}, and {other}"
    hint = "compare means; totals are not judged"
    return Diagnostic(catalogue.SHAPES_DIFFER, message, hint=hint)


def _sizes(dims: Sequence[int]) -> str:
    return "x".join(map(str, dims))


def _names(facts: Any) -> Diagnostic | None:
    old, new = facts["names_only_old"], facts["names_only_new"]
    if not old and not new:
        return None
    said = [f"only {side} has {_some(names)}" for side, names in (("old", old), ("new", new)) if names]
    message = f"the tables of names differ: {'; '.join(said)}"
    hint = "a region that was renamed shows as one that went and one that appeared"
    return Diagnostic(catalogue.NAMES_DIFFER, message, count=len(old) + len(new), hint=hint)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SAID} more" if len(names) > _SAID else ""
    return ", ".join(map(clipped, names[:_SAID])) + more


def _clocks(launches: Sequence[dict[str, Any]], facts: Any) -> Diagnostic | None:
    clocks = [launch["clock"] for launch in launches]
    said: list[str] = []
    rates = [clock["sm_clock_mhz"] for clock in clocks if clock["sm_clock_mhz"] is not None]
    if rates and max(rates) > _MAX_RATE_RATIO * min(rates):
        said.append(f"SM clocks from {min(rates):.6g} to {max(rates):.6g} MHz")
    if facts["unit"] == "ns":
        sources = list(dict.fromkeys(clock["sm_clock_source"] for clock in clocks))
        if len(sources) > 1:
            said.append(f"rates whose sources are {' and '.join(sources)}")
    overheads = sorted({clock["overhead_cyc_per_event"] for clock in clocks})
    if len(overheads) > 1:
        said.append(f"{overheads[0]} to {overheads[-1]} cycles of probe cost taken off")
    devices = list(dict.fromkeys(launch["device"] for launch in launches if launch["device"]))
    if len(devices) > 1:
        said.append(f"devices {clipped(devices[0])} and {clipped(devices[1])}")
    if not said:
        return None
    in_ns = facts["unit"] == "ns"
    hint = "--unit cyc leaves the clock's rate out of it" if in_ns else "cycles do not show a slower clock"
    return Diagnostic(catalogue.CLOCKS_DIFFER, f"the launches differ in {'; '.join(said)}", hint=hint)


def _no_interval(table: Table) -> Diagnostic | None:
    rows = [
        row["region"]
        for row in table.rows()
        if row["kind"] != "launch" and row["status"] == "both" and row["mean_low"] is None
    ]
    if not rows:
        return None
    units = table.facts["resampled"]
    message = f"nothing tells noise from change, because too few {units} have them: {_some(rows)}"
    hint = "give several captures of each side: --old FILE... --new FILE..."
    return Diagnostic(catalogue.NO_INTERVAL, message, count=len(rows), hint=hint)
