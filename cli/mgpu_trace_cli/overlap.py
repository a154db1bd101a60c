"""``mgpu-trace overlap``: the matrix, busy and waiting times, bubbles and lags, for people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics import Diagnostic, one_line
from mgpu_trace.diagnostics.clip import clipped, counted
from mgpu_trace_cli.asking import Question, answer, cell_of, digits_of, fill, print_rows

if TYPE_CHECKING:
    from mgpu_trace.analyse.table import Table
    from mgpu_trace.pipeline import Launch

TABLES: Final = ("matrix", "tracks", "bubbles", "pairs")
_SHOWN: Final = 12  # regions of the matrix that people see
_HEADING: Final = 10  # letters of the longest part of a name that can head a column
# What a narrow terminal does without; names end in the unit where they are times.
_DROP: Final = {
    "tracks": ("begin", "window", "busy", "waiting", "idle", "unknown", "role"),
    "bubbles": ("role_before", "role_after"),
    "pairs": (
        "n_blocks",
        "worst_at",
        "n_negative",
        "min",
        "mean",
        "n_uneven",
        "unpaired_a",
        "unpaired_b",
        "worst_sm",
        "worst_index",
    ),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a launch; the attributes are the command's options."""

    by: Any
    on: Any
    wait: tuple[str, ...]
    pairs: tuple[str, ...]
    bubbles: int
    top: int
    table: str | None


def a_pair(text: str) -> str:
    """The text of --pair, if there is a colon between two names; else ValueError."""
    if ":" not in text[1:-1]:
        raise ValueError
    return text


def show_overlap(file: str, question: Question, **options: Any) -> int:
    """Ask what ran beside what and print it; the exit status."""
    asked = Asked(**options)
    if asked.table == "pairs" and not asked.pairs:
        raise click.UsageError("--table pairs shows the lags of --pair A:B, which is not given")
    launch = question.open(file)
    lags: list[Table] = []
    ask = partial(_tables, launch, question, asked, lags)
    return answer(launch, ask, question, partial(_show, launch, asked), lambda _: _found(lags))


def _tables(launch: Launch, question: Question, asked: Asked, lags: list[Table]) -> Table:
    """The table that was asked for; by default the matrix, with the rows of the others among its facts."""
    from dataclasses import replace

    from mgpu_trace.analyse.activity import activity_of
    from mgpu_trace.analyse.bubbles import bubbles_of
    from mgpu_trace.analyse.lag import lags_of
    from mgpu_trace.analyse.overlap import overlap_of
    from mgpu_trace.analyse.tracktimes import track_times_of
    from mgpu_trace.analyse.units import time_unit

    how: Any = {"unit": time_unit(launch.clock, question.unit), "roles": question.roles}
    activity = activity_of(launch, asked.wait or None)
    if asked.pairs:
        lags.append(lags_of(activity, asked.pairs, by=asked.by, **how))
    if asked.table == "pairs":
        return lags[0]
    if asked.table == "tracks":
        return track_times_of(activity, per="track", **how)
    bubbles = bubbles_of(activity, on=asked.on, n=asked.bubbles, **how)
    if asked.table == "bubbles":
        return bubbles
    matrix = overlap_of(activity, by=asked.by, on=asked.on, top=asked.top, **how)
    if asked.table == "matrix":
        return matrix
    is_by_role = asked.by == "role" or (question.roles and asked.by != "unit")
    units = track_times_of(activity, per="role" if is_by_role else "unit", **how)
    parts = {"units": units.rows(), "bubbles": bubbles.rows(), "pairs": lags[0].rows() if lags else []}
    facts: dict[str, Any] = {}
    for table in (*lags, units, bubbles, matrix):
        facts |= table.facts
    return replace(matrix, facts=facts | parts)


def _found(lags: Sequence[Table]) -> list[Diagnostic]:
    from mgpu_trace.analyse.lag import findings

    return [diagnostic for table in lags for diagnostic in findings(table)]


def _show(launch: Launch, asked: Asked, table: Table) -> None:
    click.echo(fill(launch.clock.describe()))
    if asked.table == "matrix":
        _show_matrix(table, len(table))
    elif asked.table is not None:
        _show_rows(table, asked.table)
    else:
        _show_all(table)


def _show_all(table: Table) -> None:
    """One below the other, with a line above each that says what it is."""
    facts, unit = table.facts, table.facts["unit"]
    _show_matrix(table)
    if facts["units"]:
        click.echo()
        click.echo(fill(_waiting(facts)))
        shares = [f"{state}_share" for state in ("busy", "waiting", "idle", "unknown")]
        if not any(row["unknown_share"] for row in facts["units"]):
            shares.pop()
        key = "role" if "role" in facts["units"][0] else "unit"
        _show_list(facts["units"], "tracks", unit, [key, "n_tracks", f"window_{unit}", *shares])
    if facts["n_places"]:
        click.echo()
        click.echo(fill(_without_work(facts)))
        _show_list(facts["bubbles"], "bubbles", unit)
    if facts["pairs"]:
        click.echo()
        click.echo(fill("from the n-th end of a to the n-th end of b in each block:"))
        _show_list(facts["pairs"], "pairs", unit)


def _show_list(rows: list[dict[str, Any]], which: str, unit: str, columns: Sequence[str] = ()) -> None:
    from mgpu_trace.analyse.table import Table

    if rows:
        columns = columns or list(rows[0])
        _show_rows(
            Table(which, {name: [row[name] for row in rows] for name in columns}, {"unit": unit}), which
        )


def _show_rows(table: Table, which: str) -> None:
    if not len(table):
        click.echo("no slices" if which == "tracks" else "none")
        return
    unit = table.facts["unit"]
    print_rows(table, drop=[n if n in table.columns else f"{n}_{unit}" for n in _DROP[which]])


def _waiting(facts: Any) -> str:
    """The line above the times of units."""
    names = one_line(clipped(", ".join(facts["waiting"])))
    said = f"waiting is time in {names}" if facts["waiting"] else "no region counts as waiting (--wait GLOB)"
    unread = f"; {counted(facts['n_unread'], 'track')} could not be read" if facts["n_unread"] else ""
    return f"the time of tracks while their block ran; {said}{unread}:"


def _without_work(facts: Any) -> str:
    """The line above the bubbles."""
    unit, place = facts["unit"], "block" if facts["on"] == "block" else "SM"
    of, time = facts[f"places_{unit}"], facts[f"bubbles_{unit}"]
    share = f"{100 * time / of:.1f}% of the time of {counted(facts['n_places'], place)}" if of else "no time"
    said = f"no track of a {place} was busy for {share}"
    shown = len(facts["bubbles"])
    return f"{said}, {counted(facts['n_bubbles'], 'bubble')}" + (f"; the longest {shown}:" if shown else "")


def _show_matrix(table: Table, most: int = _SHOWN) -> None:
    """Share of a's time (a row) during which another track was in b (a column), of the first of both."""
    facts, unit = table.facts, table.facts["unit"]
    if not len(table):
        click.echo("no region took any time" if facts["by"] == "region" else "nothing was busy")
        return
    place = "block" if facts["on"] == "block" else "SM"
    if facts["by"] == "region":
        click.echo(fill(f"how much of a's time another track of the same {place} was in b:"))
    else:
        click.echo(fill(f"how much of a's busy time another track of the same {place} was busy as b:"))
    rows, n = table.rows(), facts["n_b"]
    lines = [rows[first : first + min(n, most)] for first in range(0, len(rows), n)]
    _print_matrix(lines[:most], unit)
    hidden = max(len(lines), n) - most
    if hidden > 0 or facts["n_left_out"]:
        more = max(hidden, 0) + facts["n_left_out"]
        click.echo(fill(f"and {more} more, with less time each; --json and --csv have as many as --top says"))


def _print_matrix(lines: list[list[dict[str, Any]]], unit: str) -> None:
    """A line for each a; numbers stand for names that are too long to head a column."""
    from mgpu_trace_cli.render import print_fitted

    beside = [cell_of("b", row["b"], clipped) for row in lines[0]]
    names = [cell_of("a", line[0]["a"], clipped) for line in lines]
    total, overlap = f"total_{unit}", f"overlap_{unit}"
    is_short = all(len(part) <= _HEADING for name in beside for part in one_line(name).split("_"))
    if is_short and len({*beside, "a", total}) == len(beside) + 2:
        heads = beside
    else:
        heads = [str(i + 1) for i in range(len(beside))]
        if not {*beside} <= {*names}:
            click.echo(
                fill("b is " + ", ".join(f"{h} {one_line(b)}" for h, b in zip(heads, beside, strict=True)))
            )
        number = dict(zip(reversed(beside), reversed(heads), strict=True))
        is_square = names == beside
        names = [f"{heads[i] if is_square else number.get(name, '-')} {name}" for i, name in enumerate(names)]
    digits = digits_of(line[0][total] for line in lines)
    cells = []
    for name, line in zip(names, lines, strict=True):
        shares = [cell_of("share", row["share"]) if row[overlap] else "." for row in line]
        cells.append([name, cell_of(total, line[0][total], digits=digits), *shares])
    columns = ["a", total, *heads]
    missing = print_fitted(columns, cells, right=columns[1:], drop=[*heads[:1:-1], total])
    if missing:
        click.echo(fill(f"no room for {', '.join(missing)}; --csv and --json have all"))
