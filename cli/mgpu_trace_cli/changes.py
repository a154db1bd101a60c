"""A comparison of launches for people: what changed, how sure that is, and what it does to the launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics import one_line
from mgpu_trace_cli.asking import fill
from mgpu_trace_cli.render import print_fitted

if TYPE_CHECKING:
    from mgpu_trace.analyse.table import Table

_RIGHT: Final = ("change", "interval", "total", "effect")


def show_changes(table: Table) -> None:
    """Print what is compared, how, and the table; counts and totals only where they changed."""
    facts, rows = table.facts, table.rows()
    for side in ("old", "new"):
        click.echo(fill(_side(side, facts[side])))
    click.echo(fill(_noise(facts)))
    unit = facts["unit"]
    counted = any(row["count_old"] != row["count_new"] for row in rows)
    cells = [_cells(row, unit, counted) for row in rows]
    columns = list(cells[0])
    right = [name for name in columns if name in _RIGHT or "old" in name or "new" in name]
    drop = [f"mean_old_{unit}", "count_old", "count_new", "total", f"mean_new_{unit}", "effect"]
    missing = print_fitted(columns, [list(row.values()) for row in cells], right=right, drop=drop)
    if missing:
        click.echo(fill(f"no room for {', '.join(missing)}; --csv and --json have all columns"))


def _side(side: str, launches: Sequence[Mapping[str, Any]]) -> str:
    """The files of a side, and their clocks."""
    clocks = list(dict.fromkeys(launch["clock"]["description"] for launch in launches))
    clock = clocks[0] if len(clocks) == 1 else f"{len(clocks)} clocks, the first: {clocks[0]}"
    files = [launch["file"] or "in memory" for launch in launches]
    what = files[0] if len(files) == 1 else f"{len(files)} launches, {PurePath(files[0]).name} ..."
    return one_line(f"{side}  {what}: {clock}")


def _noise(facts: Mapping[str, Any]) -> str:
    """What the intervals are of, and what is not in them."""
    n = f"{facts['n_units_old']} and {facts['n_units_new']} {facts['resampled']}"
    said = f"{100 * facts['confidence']:g}% intervals from {n}"
    if facts["resampled"] == "launches":
        return said
    paired = ", the same ones compared" if facts["is_paired"] else ""
    return f"{said}{paired}; noise from launch to launch is not in them: one launch a side"


def _cells(row: Mapping[str, Any], unit: str, counted: bool) -> dict[str, str]:
    from mgpu_trace.diagnostics.clip import clipped

    there = row["status"] == "both"
    found = {"region": clipped(row["region"])}
    if counted:
        found |= {"count_old": _number(row["count_old"]), "count_new": _number(row["count_new"])}
    for side in ("old", "new"):
        found[f"mean_{side}_{unit}"] = _number(row[f"mean_{side}_{unit}"])
    found["change"] = share_of(row["mean_change"]) if there else row["status"]
    found["interval"] = _interval(row["mean_low"], row["mean_high"])
    if counted:
        found["total"] = share_of(row["total_change"])
    verdicts = [row["verdict"] or "-"]
    if counted and row["total_verdict"] not in (None, row["verdict"]):
        verdicts.append(f"total {row['total_verdict']}")
    return found | {"effect": share_of(row["effect"], 2), "verdict": ", ".join(verdicts)}


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def share_of(value: float | None, digits: int = 1) -> str:
    """A relative change in per cent, with its sign."""
    return "-" if value is None else f"{100 * value:+.{digits}f}%"


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{100 * low:+.1f} to {100 * high:+.1f}%"
