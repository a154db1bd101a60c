"""``mgpu-trace timeline``: chosen tracks as lines of characters above an axis, with a legend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics.clip import counted
from mgpu_trace_cli.asking import Question, answer, fill
from mgpu_trace_cli.legend import LOST, Legend, Piece
from mgpu_trace_cli.picture import axis, picture_columns, scale_of
from mgpu_trace_cli.render import columns_of, drawable, in_columns, print_painted

if TYPE_CHECKING:
    from mgpu_trace.analyse.table import Table
    from mgpu_trace.analyse.timeline import Segments
    from mgpu_trace.analyse.units import TimeUnit

_INDENT: Final = 2
_EDGES: Final = 3  # a blank and two edges of each line of cells
_MOST_LABEL: Final = 30


def show_timeline(file: str, question: Question, rows: int, longest: bool, width: int | None) -> int:
    """Ask for the segments of some tracks and draw them; the exit status."""
    from mgpu_trace.analyse.timeline import find_segments, segments_table
    from mgpu_trace.analyse.units import time_unit

    columns = picture_columns(width)
    launch = question.open(file)
    unit = time_unit(launch.clock, question.unit)
    seen: list[Segments] = []

    def ask() -> Table:
        seen.append(find_segments(launch, rows, longest))
        return segments_table(seen[0], unit, question.roles)

    def show(table: Table) -> None:
        click.echo(fill(launch.clock.describe()))
        tracks = table.facts["tracks"]
        if not tracks:
            click.echo("no slices")
            return
        click.echo(fill(_heading(seen[0], table.facts, unit)))
        print_painted(drawn(seen[0], tracks, question.roles, unit, columns))

    return answer(launch, ask, question, show)


def _heading(found: Segments, facts: Mapping[str, Any], unit: TimeUnit) -> str:
    begin, end = facts[f"begin_{unit.suffix}"], facts[f"end_{unit.suffix}"]
    scale, times = scale_of(begin, end, unit.suffix)
    begin, end = begin / times, end / times
    digits = next((i for i in range(3) if end - begin >= 10 ** (3 - i)), 3)
    shown = counted(len(found.tracks), "track")
    more = f"; {found.n_more} more {'are' if found.n_more > 1 else 'is'} not shown" if found.n_more else ""
    return f"{shown}, {begin:.{digits}f} to {end:.{digits}f} {scale} since the first event{more}"


def drawn(
    found: Segments,
    tracks: Sequence[Mapping[str, Any]],
    roles: Mapping[int, str],
    unit: TimeUnit,
    columns: int,
) -> Iterator[list[Piece]]:
    """Lines of pieces of text and their styles: blocks, their tracks, the axis and the legend.

    Parameters
    ----------
    tracks
        What the table's facts say of the tracks of ``found``.
    """
    from mgpu_trace.analyse.timeline_cells import cells_of

    names, label = _labels(tracks, roles, min(_MOST_LABEL, columns // 3))
    n_columns = columns - _INDENT - label - _EDGES
    cells = cells_of(found, n_columns).tolist()
    legend = Legend.of(found, cells)
    place = None
    for row, name, line in zip(tracks, names, cells, strict=True):
        if place != (row["sm"], row["block"]):
            place = row["sm"], row["block"]
            yield [(in_columns(f"SM {row['sm']} block ({row['block']})", columns), "bold")]
        begin = f"{'':{_INDENT}}{in_columns(name, label)} "
        yield [(begin, ""), _edge(row["lost_start"]), *_painted(line, legend), _edge(row["lost_end"])]
    first, last = found.window_cyc
    begins, ends = unit.of(first).item(), unit.of(max(last, first + 1)).item()
    ticks = axis(begins, ends, n_columns, scale_of(begins, ends, unit.suffix)[1])
    yield [(" " * (_INDENT + label + _EDGES - 1) + ticks, "")]
    yield from legend.lines(columns)


def _labels(
    tracks: Sequence[Mapping[str, Any]], roles: Mapping[int, str], most: int
) -> tuple[list[str], int]:
    """What is said of each track beside its block, and for how many columns."""
    whole = [f"{row['unit']} {row['role']}" if row["unit"] in roles else row["role"] for row in tracks]
    if max(map(columns_of, whole)) <= most:
        return whole, max(map(columns_of, whole))
    # What is cut is the end: the number, which tells two units of one role apart, goes first.
    return [f"{row['unit']} {row['role']}" for row in tracks], most


def _painted(line: Sequence[int], legend: Legend) -> list[Piece]:
    """Cells as pieces of one style."""
    pieces = []
    for state, same in groupby(line):
        char, style = legend.marks[state]
        pieces.append((char * len(list(same)), style))
    return pieces


def _edge(is_lost: bool) -> Piece:
    return LOST if is_lost else (drawable("│", "|"), "dim")
