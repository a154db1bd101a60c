"""``mgpu-trace diff``: its two sides, and the comparison for people and for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report
from mgpu_trace_cli.asking import VERSION, Question, print_csv
from mgpu_trace_cli.changes import show_changes
from mgpu_trace_cli.options import Told, count, unfolded
from mgpu_trace_cli.outputs import STDOUT

if TYPE_CHECKING:
    from mgpu_trace.analyse.table import Table
    from mgpu_trace.pipeline import Launch

_LISTS: Final = ("--old", "--new")
_MAX_RESAMPLES: Final = 100_000


def _per_cent(text: str) -> float:
    number = float(text.strip())  # which also takes 1_0, inf, and the digits of other scripts
    if not math.isfinite(number) or "_" in text or not text.isascii():
        raise ValueError
    return number / 100


def _share(text: str) -> float:
    share = _per_cent(text.strip().removesuffix("%"))
    if not text.strip().endswith("%") or share < 0:
        raise ValueError
    return share


def _confidence(text: str) -> float:
    share = _per_cent(text.strip().removesuffix("%"))
    if not 0.5 <= share <= 0.9999:
        raise ValueError
    return share


SHARE: Final = Told("SHARE", "a share in per cent, such as 5% or 0.5%", _share)
CONFIDENCE: Final = Told("PERCENT", "a number from 50 to 99.99", _confidence)
RESAMPLES: Final = Told(
    "N", f"a whole number from 100 to {_MAX_RESAMPLES}", lambda text: count(text, 100, _MAX_RESAMPLES)
)
SEED: Final = Told("N", "a whole number from 0 on", lambda text: count(text, 0))


class Sides(click.Command):
    """A command whose --old and --new take all the words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_one_by_one(ctx, args)))


def _one_by_one(ctx: click.Context, args: Sequence[str]) -> Iterator[str]:
    """The words of a command line, with the option said again before each word of its list."""
    current, n_files = None, 0
    for word in args:
        if current is not None and (word == STDOUT or not word.startswith("-")):
            yield from (current, word)
            n_files += 1
            continue
        _refuse_nothing(ctx, current, n_files)
        current, n_files = (word if word in _LISTS else None), 0
        if current is None:
            yield word
    _refuse_nothing(ctx, current, n_files)


def _refuse_nothing(ctx: click.Context, option: str | None, n_files: int) -> None:
    if option is not None and not n_files:
        raise click.UsageError(f"{option} takes at least one FILE", ctx)


def two_sides(
    files: Sequence[str], old: Sequence[str], new: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files of both sides, from either way to say them.

    Raises
    ------
    click.UsageError
        Where a side is missing, or said twice.
    """
    if files and (old or new):
        raise click.UsageError("give OLD NEW, or --old FILE... --new FILE..., and not both")
    if not (old or new):
        if len(files) != 2:
            hint = "several captures of a side are given with --old FILE... --new FILE..."
            raise click.UsageError(f"give two FILEs: OLD NEW; {hint}")
        old, new = files[:1], files[1:]
    if not (old and new):
        raise click.UsageError(f"give the other side as well: {'--new' if old else '--old'} FILE...")
    if [*old, *new].count(STDOUT) > 1:
        raise click.UsageError("only one file can be standard input")
    return unfolded(old), unfolded(new)


@dataclass(frozen=True, slots=True)
class Terms:
    """How to compare. Shares are numbers from 0 to 1; ``fail_over`` is None where nothing is to fail."""

    confidence: float
    resamples: int
    seed: int
    fail_over: float | None


class Captures(Sequence["Launch"]):
    """Files that are opened one after the other, so that many fit into memory; their findings stay."""

    def __init__(self, files: Sequence[str], question: Question) -> None:
        self._files, self._question = files, question
        self._reports: list[Report] = []
        self._open: Launch | None = None
        self._shown = ExitStack()

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, i: Any) -> Any:
        return self._question.open(self._files[i])

    def __iter__(self) -> Iterator[Launch]:
        from mgpu_trace_cli.render import progress

        for file in self._files:
            self._settle()
            self._open = self._question.open(file)
            self._shown.enter_context(progress(self._open, "reading"))
            yield self._open

    def findings(self) -> list[Diagnostic]:
        """What was found in the files; complete once all were read."""
        self._settle()
        return [finding for report in self._reports for finding in report]

    def _settle(self) -> None:
        self._shown.close()
        if self._open is not None:
            self._reports.append(self._open.report)
            self._open = None


def show_diff(old: Sequence[str], new: Sequence[str], question: Question, terms: Terms) -> int:
    """Compare the files of two sides and print the comparison; the exit status."""
    from mgpu_trace.analyse.diff import diff
    from mgpu_trace.analyse.diff_findings import findings, regressions
    from mgpu_trace_cli.report import accepted, say

    sides = Captures(old, question), Captures(new, question)
    try:
        table = diff(
            *sides,
            unit=question.unit,
            confidence=terms.confidence,
            resamples=terms.resamples,
            seed=terms.seed,
        )
    except MgpuTraceError as error:  # what was found in the files often says why
        found = [*sides[0].findings(), *sides[1].findings(), error.diagnostic]
        say(accepted(Report.of(found), question.allow_empty))
        return 1
    regression = None if terms.fail_over is None else regressions(table, terms.fail_over)
    found = [*sides[0].findings(), *sides[1].findings(), *findings(table)]
    report = accepted(Report.of(found if regression is None else [*found, regression]), question.allow_empty)
    if question.as_json:
        click.echo(json.dumps(_json_of(table, terms, [finding.to_dict() for finding in report])))
    elif question.as_csv:
        print_csv(table)
    else:
        show_changes(table)
    say(report)
    return int(report.has_errors)


def _json_of(table: Table, terms: Terms, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The one object that ``--json`` prints (docs/analysis.md)."""
    return {
        "schema": f"mgpu-trace/{table.title}",
        "version": VERSION,
        **table.facts,
        "fail_over": terms.fail_over,
        "rows": table.rows(),
        "diagnostics": found,
    }
