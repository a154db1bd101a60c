"""``mgpu-trace stats``: the statistics and histograms, for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics import Diagnostic, catalogue, one_line
from mgpu_trace.diagnostics.clip import clipped, counted
from mgpu_trace_cli.asking import Question, answer, digits_of, fill, print_rows

if TYPE_CHECKING:
    from mgpu_trace.analyse.table import Table
    from mgpu_trace.pipeline import Launch

# What a table for people leaves out unless it is asked for, and what a narrow terminal does without.
_SPLIT: Final = ("prologue_mean", "steady_mean", "epilogue_mean")
_DROP: Final = ("probe", "min", "p90", "share", "cv", "max", "total", "p50", "p99", "mean")
_BARS: Final = 40  # characters of the longest bar of a histogram


def known_keys(text: str) -> tuple[str, ...]:
    """The keys of ``--by``; ValueError for one that there is not, or that comes twice."""
    from mgpu_trace.analyse.groups import KEYS

    keys = tuple(key.strip() for key in text.split(","))
    if not {*keys} <= {*KEYS, "launch"} or len({*keys}) < len(keys):
        raise ValueError
    return keys


def show_stats(
    files: Sequence[str],
    question: Question,
    by: tuple[str, ...] | None,
    steady: bool,
    sort: str | None,
    hist: str | None,
    wide: bool,
    jobs: int | None,
) -> int:
    """Ask for the statistics of the files and print them; the exit status."""
    from mgpu_trace.analyse.stats import stats

    if len(files) > 1 or "launch" in (by or ()):
        if hist or sort or wide or "launch" not in (by or ("launch",)):
            raise click.UsageError(
                "several launches: with --by launch,..., without --hist, --sort and --wide"
            )
        from mgpu_trace_cli.by_launch import show_launches
        from mgpu_trace_cli.many import jobs_for

        return show_launches(files, question, by or ("launch",), steady, jobs_for(files, jobs))
    file = files[0]
    if hist is not None:
        if by or sort or wide:
            raise click.UsageError("--hist shows one distribution: not with --by, --sort or --wide")
        return _histogram(question.open(file), question, hist, steady)
    by = by or ("region",)
    column = None if sort is None else _column(sort, by)
    launch = question.open(file)
    ask = partial(stats, launch, by=by, steady=steady, unit=question.unit, roles=question.roles)
    return answer(launch, _sorted(ask, column), question, partial(_show, launch, wide), _rounded)


def _column(name: str, by: Sequence[str]) -> str:
    """The column that --sort means, without its unit: the order is the same in any."""
    from mgpu_trace.analyse.stats import COLUMNS

    stem = name.removesuffix("_ns").removesuffix("_cyc")
    if stem not in (*by, *COLUMNS):
        raise click.UsageError(f"--sort takes a column of the answer: {', '.join((*by, *COLUMNS))}")
    return stem


def _sorted(ask: Callable[[], Table], column: str | None) -> Callable[[], Table]:
    def asked() -> Table:
        table = ask()
        return table if column is None else by_column(table, column)

    return asked


def by_column(table: Table, column: str) -> Table:
    """The table with the largest value of a column first and what is not there last; keys ascending."""
    import numpy as np

    from mgpu_trace.analyse.groups import KEYS, PHASES

    if column not in KEYS:
        name = column if column in table.columns else f"{column}_{table.facts['unit']}"
        return table.take(np.argsort(-np.asarray(table[name], np.float64), kind="stable"))
    values: list[Any] = list(table[column])
    if column == "block":  # as text, 10,0,0 would come before 2,0,0
        values = [tuple(map(int, value.split(","))) for value in values]
    elif column == "phase":
        values = [PHASES.index(value) for value in values]
    return table.take(np.array(sorted(range(len(values)), key=values.__getitem__), np.int64))


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
    for line in _heading(launch, facts):
        click.echo(fill(line))
    if not len(table):
        click.echo("no slices")
        return
    hidden = () if wide else tuple(f"{name}_{unit}" for name in _SPLIT)
    if not (wide or any(table["n_unclosed"])):
        hidden += ("n_unclosed",)
    drop = None if wide else [name if name in table.columns else f"{name}_{unit}" for name in _DROP]
    print_rows(table, [name for name in table.columns if name not in hidden], drop=drop)


def _heading(launch: Launch, facts: Any) -> list[str]:
    """The clock, what the shares are of, and what a probe costs."""
    unit, gap = facts["unit"], facts["smallest_gap_cyc"]
    of, inside = facts[f"tracks_{unit}"], facts[f"in_regions_{unit}"]
    slices = counted(facts["n_slices"], "slice")
    if facts["steady"]:
        slices = f"{slices} in the steady state, {facts['n_left_out']} left out"
    said = f"{counted(facts['n_tracks'], 'track')}, {slices}"
    launch_time = facts[f"launch_{unit}"]  # None where SMs cannot be compared
    said += "" if launch_time is None else f", in {_time(launch_time)} {unit}"
    share = f"shares are of the tracks' {_time(of)} {unit}"
    if of:
        share += f", {100 * inside / of:.1f}% of it in regions"
    probe = "" if gap is None else f"; smallest gap of two events {gap} cycles"
    return [launch.clock.describe(), f"{said}; {share}{probe}"]


def _time(value: float) -> str:
    return f"{value:.{digits_of([value])}f}" if isinstance(value, float) else str(value)


def _histogram(launch: Launch, question: Question, pattern: str, steady: bool) -> int:
    from mgpu_trace.analyse.histogram import histogram

    ask = partial(histogram, launch, pattern, steady=steady, unit=question.unit)
    return answer(launch, ask, question, partial(_show_histogram, launch), _rounded)


def _show_histogram(launch: Launch, table: Table) -> None:
    from mgpu_trace_cli.render import bar

    facts, unit = table.facts, table.facts["unit"]
    click.echo(fill(launch.clock.describe()))
    regions = one_line(clipped(", ".join(facts["regions"])))
    click.echo(fill(f"{regions}: {counted(facts['n_slices'], 'slice')}, by duration in {unit}"))
    rows = table.rows()
    most = max(row["count"] for row in rows)
    edges = [_time(row[f"from_{unit}"]) for row in rows] + [_time(row[f"to_{unit}"]) for row in rows[-1:]]
    width, count = max(map(len, edges)), len(str(most))
    for edge, row in zip(edges, rows, strict=False):
        click.echo(f"{edge:>{width}}  {row['count']:>{count}}  {bar(row['count'], most, _BARS)}".rstrip())
    click.echo(f"{edges[-1]:>{width}}")
