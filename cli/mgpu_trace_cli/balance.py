"""``mgpu-trace balance``: the SMs of a launch and a picture of them, for people."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics.clip import counted
from mgpu_trace_cli.asking import Question, answer, digits_of, fill, print_rows
from mgpu_trace_cli.options import Told
from mgpu_trace_cli.picture import axis, picture_columns, scale_of, shaded, shades
from mgpu_trace_cli.render import drawable, in_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mgpu_trace.analyse.raster import Cells
    from mgpu_trace.analyse.table import Table
    from mgpu_trace.analyse.units import TimeUnit
    from mgpu_trace.analyse.weigh import Weighed
    from mgpu_trace.pipeline import Launch

_ROWS: Final = 40  # lines of the picture; with more SMs several share one
_EDGES: Final = 3  # columns of a line that are neither name nor cell
_NAMED: Final = 3  # stragglers that are named
# What a narrow terminal does without.
_DROP: Final = (
    *("resident", "busy_share", "stragglers", "busy", "active", "first_start", "waves", "tail"),
    *("last_end", "blocks"),
)
_COLUMNS: Final = (
    *("sm", "blocks", "resident", "waves", "first_start", "last_end", "busy", "idle", "tail", "busy_share"),
    *("active", "stragglers"),
)


def _times(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text.strip()) or float(text) <= 0:
        raise ValueError
    return float(text)


TIMES: Final = Told("TIMES", "a number above 0, such as 1.5", _times)


def show_balance(file: str, question: Question, straggler: float, sort: str | None, width: int | None) -> int:
    """Ask for the balance of a launch and print it; the exit status."""
    from mgpu_trace.analyse.balance import balance_table
    from mgpu_trace.analyse.units import time_unit
    from mgpu_trace.analyse.weigh import weigh
    from mgpu_trace_cli.stats import by_column

    column = None if sort is None else _column(sort)
    columns = picture_columns(width)
    launch = question.open(file)
    unit = time_unit(launch.clock, question.unit)
    label = label_columns(launch, columns)
    seen: list[Weighed] = []

    def ask() -> Table:
        seen.append(weigh(launch, _ROWS, max(1, columns - label - _EDGES)))
        table = balance_table(seen[0], straggler, unit)
        return table if column is None else by_column(table, column)

    def show(table: Table) -> None:
        _show(launch, table, unit, list(picture(seen[0].cells, unit, columns, label)))

    return answer(launch, ask, question, show)


def _column(name: str) -> str:
    """The column that --sort means, without its unit."""
    stem = name.removesuffix("_ns").removesuffix("_cyc")
    if stem not in _COLUMNS:
        raise click.UsageError(f"--sort takes a column of the answer: {', '.join(_COLUMNS)}")
    return stem


def _show(launch: Launch, table: Table, unit: TimeUnit, lines: Sequence[str]) -> None:
    click.echo(fill(launch.clock.describe()))
    if not len(table):
        click.echo("no slices")
        return
    said = partial(_said, unit=unit.suffix)
    for line in (_blocks(table.facts, said), _losses(launch, table.facts, said), _late(table.facts, said)):
        click.echo(fill(line))
    click.echo()
    for line in lines:
        click.echo(line)
    click.echo()
    drop = [name if name in table.columns else f"{name}_{unit.suffix}" for name in _DROP]
    print_rows(table, drop=drop)


def _said(facts: Any, name: str, unit: str) -> str:
    value = facts[f"{name}_{unit}"]
    return f"{value:.{digits_of([value])}f} {unit}" if isinstance(value, float) else f"{value} {unit}"


def _blocks(facts: Any, said: Any) -> str:
    """How many blocks were where, and what is not known about them."""
    sms = counted(facts["n_sms"], "SM")
    at_once = counted(facts["resident"], "block")
    text = f"{counted(facts['n_blocks'], 'block')} on {sms}, in {said(facts, 'launch')}; "
    text += f"at most {at_once} at once on an SM: {facts['waves']:.2f} waves"
    if facts["n_blocks_silent"]:
        text += f"; {counted(facts['n_blocks_silent'], 'block')} without slices"
    if facts["n_blocks_cut"]:
        text += f"; {counted(facts['n_blocks_cut'], 'block')} lost events, whose times are lower bounds"
    if facts["n_sms_device"] is None:
        return f"{text}; how many SMs recorded nothing is not known"
    return f"{text}; {facts['n_sms_silent']} of the device's {facts['n_sms_device']} SMs recorded nothing"


def _losses(launch: Launch, facts: Any, said: Any) -> str:
    """Skew and tail, and how well they are known."""
    if facts["tail_share"] is None:
        return "nothing took any time"
    lost = f"idle {100 * facts['idle_share']:.1f}% of the SMs' time"
    if facts["skew_is_known"] is None:
        return lost
    skew = f"first blocks begin within {said(facts, 'skew')}"
    if not facts["skew_is_known"]:
        to = launch.clock.alignment_ns
        if launch.clock.rate_mhz is None or to is None:
            skew += " (how well SMs are aligned is not known)"
        else:
            skew += f", not more than the {to:.0f} ns to which SMs are aligned"
    tail = f"tail of {said(facts, 'tail')}, {100 * facts['tail_share']:.1f}% of the SMs' time"
    return f"{skew}; {tail}; {lost}"


def _late(facts: Any, said: Any) -> str:
    """The stragglers, or how far the longest block is from being one."""
    p50, times = said(facts, "block_p50"), facts["straggler"]
    if not facts["n_stragglers"]:
        longest = said(facts, "block_max")
        return f"no straggler beyond {times:g} times the median block, {p50}; the longest is {longest}"
    named = [
        f"block ({row['block']}) on SM {row['sm']} {said(row, 'dur')}"
        + (f", {row['of_p50']:.1f} times" if row["of_p50"] is not None else "")
        for row in facts["stragglers"][:_NAMED]
    ]
    rest = facts["n_stragglers"] - len(named)
    more = f"; and {rest} more" if rest else ""
    return (
        f"{counted(facts['n_stragglers'], 'straggler')} beyond {times:g} times the median block, {p50}: "
        f"{'; '.join(named)}{more}"
    )


def label_columns(launch: Launch, columns: int) -> int:
    """How many columns the names of the picture's lines get: what they may need, or half of all."""
    import numpy as np

    from mgpu_trace.model import distinct

    sms = distinct(launch.tracks.sm[launch.tracks.has_events & launch.kept_tracks])
    digits = len(str(int(np.max(sms, initial=0))))
    return min(3 + (digits if len(sms) <= _ROWS else 2 * digits + 1), columns // 2)


def picture(cells: Cells, unit: TimeUnit, columns: int, label: int) -> Iterator[str]:
    """SMs by time: how many tracks were in regions, as shades, above an axis."""
    active, ramp, edge = cells.active, shades(), drawable("│", "|")
    n_columns = active.shape[1]
    # A launch of few cycles has fewer columns than there is room for.
    times = max(1, (columns - label - _EDGES) // n_columns)
    begin = unit.of(cells.left_cyc).item()
    end = unit.of(cells.left_cyc + n_columns * cells.column_cyc).item()
    scale, of = scale_of(begin, end, unit.suffix)
    most = float(active.max(initial=0.0))
    if not most:
        yield fill("no selected region takes any time")
        return
    column = unit.of(cells.column_cyc).item() / times
    each = f"{column:g} cycles" if unit.suffix == "cyc" else f"{column / of:.3g} {scale}"
    yield fill(
        f"tracks in regions at once on an SM: {ramp[-1]} is {most:.3g}; "
        f"a column is {each}; time in {scale} since the first event"
    )
    sms = zip(cells.first_sm.tolist(), cells.last_sm.tolist(), active.tolist(), strict=True)
    for low, high, values in sms:
        name = f"SM {low}" if low == high else f"SM {low}-{high}"
        cells_of = "".join(char * times for char in shaded(values, most, ramp))
        yield f"{in_columns(name, label)} {edge}{cells_of}{edge}"
    yield " " * (label + _EDGES - 1) + axis(begin, end, n_columns * times, of)
