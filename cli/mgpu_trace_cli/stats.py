"""``mgpu-trace stats``: the statistics and histograms, for people."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace_cli.asking import Question, answer, print_rows

if TYPE_CHECKING:
    from mgpu_trace.analyse.table import Table
    from mgpu_trace.pipeline import Launch

# What a table for people leaves out unless it is asked for.
_SPLIT: Final = ("prologue_mean", "steady_mean", "epilogue_mean")
_BARS: Final = 40  # characters of the longest bar of a histogram


def known_keys(text: str) -> tuple[str, ...]:
    """The keys of ``--by``; ValueError for one that there is not, or that comes twice."""
    from mgpu_trace.analyse.groups import KEYS

    keys = tuple(key.strip() for key in text.split(","))
    if not {*keys} <= {*KEYS} or len({*keys}) < len(keys):
        raise ValueError
    return keys


def show_stats(
    file: str,
    question: Question,
    by: tuple[str, ...],
    steady: bool,
    sort: str | None,
    hist: str | None,
    wide: bool,
) -> int:
    """Ask for the statistics of a file and print them; the exit status."""
    from mgpu_trace.analyse.stats import stats

    launch = question.open(file)
    if hist is not None:
        return _histogram(launch, question, hist, steady)
    ask = partial(stats, launch, by=by, steady=steady, unit=question.unit, roles=question.roles)
    return answer(launch, _sorted(ask, sort), question, partial(_show, launch, wide), _rounded)


def _sorted(ask: Callable[[], Table], column: str | None) -> Callable[[], Table]:
    def asked() -> Table:
        table = ask()
        return table if column is None else by_column(table, column)

    return asked


def by_column(table: Table, column: str) -> Table:
    """The table with the largest value of a column first; names ascending, and what is not there last."""
    import numpy as np

    known = [name for name in table.columns if column in (name, name.rpartition("_")[0])]
    if not known:
        raise click.UsageError(f"--sort takes a column of the answer: {', '.join(table.columns)}")
    values = np.asarray(table[known[0]])
    order = np.argsort(values if values.dtype.kind in "US" else -values.astype(np.float64), kind="stable")
    return table.take(order)


def _rounded(table: Table) -> list[Diagnostic]:
    if not table.facts["is_rounded"]:
        return []
    return [
        Diagnostic(
            catalogue.LENGTHS_ROUNDED,
            "too many different lengths to keep: percentiles and cv are made from lengths rounded to 11 bits",
            hint="ask for a part (--select), or by fewer keys",
        )
    ]


def _show(launch: Launch, wide: bool, table: Table) -> None:
    facts, unit = table.facts, table.facts["unit"]
    click.echo(_heading(launch, facts))
    if not len(table):
        click.echo("no slices")
        return
    hidden = () if wide else tuple(f"{name}_{unit}" for name in _SPLIT)
    if not (wide or any(table["n_unclosed"])):
        hidden += ("n_unclosed",)
    print_rows(table, [name for name in table.columns if name not in hidden])


def _heading(launch: Launch, facts: Any) -> str:
    """The clock, and what the shares are of."""
    unit = facts["unit"]
    of = facts[f"tracks_{unit}"]
    inside = 100 * facts[f"in_regions_{unit}"] / of if of else 0.0
    kept = "steady occurrences only; " if facts["steady"] else ""
    return (
        f"{launch.clock.describe()}\n"
        f"{kept}shares are of {facts['n_tracks']} tracks' time, {of:.10g} {unit}, of which {inside:.1f}% "
        f"is in a region; launch {facts[f'launch_{unit}']:.10g} {unit}"
    )


def _histogram(launch: Launch, question: Question, pattern: str, steady: bool) -> int:
    from mgpu_trace.analyse.histogram import histogram

    ask = partial(histogram, launch, pattern, steady=steady, unit=question.unit)
    return answer(launch, ask, question, partial(_show_histogram, launch), _rounded)


def _show_histogram(launch: Launch, table: Table) -> None:
    from mgpu_trace_cli.render import bar

    facts, unit = table.facts, table.facts["unit"]
    click.echo(launch.clock.describe())
    click.echo(f"{', '.join(facts['regions'])}: {facts['n_slices']} slices, by duration in {unit}")
    rows = table.rows()
    most = max((row["count"] for row in rows), default=0)
    edges = [f"{row[f'from_{unit}']:.6g}" for row in rows]
    width = max(map(len, edges), default=0)
    count = max((len(str(row["count"])) for row in rows), default=0)
    for edge, row in zip(edges, rows, strict=True):
        click.echo(f"{edge:>{width}}  {row['count']:>{count}}  {bar(row['count'], most, _BARS)}".rstrip())
    if rows:
        click.echo(f"{rows[-1][f'to_{unit}']:>{width}.6g}")
