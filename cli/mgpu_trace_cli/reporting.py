"""Where a report goes, and what is said about it."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import Final

import click

from mgpu_trace.diagnostics import catalogue, one_line
from mgpu_trace_cli.asking import Question
from mgpu_trace_cli.options import shown
from mgpu_trace_cli.outputs import STDOUT

_SUFFIXES: Final = (".html", ".htm")


def one_or_two(ctx: click.Context, param: click.Parameter, files: tuple[str, ...]) -> tuple[str, ...]:
    """One file, or two to compare."""
    if not 1 <= len(files) <= 2:
        raise click.UsageError("give one FILE, or two to compare: OLD FILE")
    if files == (STDOUT, STDOUT):
        raise click.UsageError("only one of two files can be standard input")
    return files


def write_page(files: tuple[str, ...], output: str | None, question: Question, plots: bool) -> int:
    """Write the page of one file, or of two; the exit status."""
    from mgpu_trace.report.compose import compose
    from mgpu_trace_cli.render import progress
    from mgpu_trace_cli.report import say

    path = _destination(files[-1], output)
    *before, launch = [question.open(file) for file in files]
    with progress(launch, "reading"):
        page = compose(
            launch,
            before=before[0] if before else None,
            unit=question.unit,
            roles=question.roles,
            plots=plots,
            accepted=[catalogue.NO_EVENTS] if question.allow_empty else [],
        )
    _write(page.content, path)
    say(page.findings)
    if path != STDOUT:
        click.echo(f"wrote {one_line(path)}", err=True)
    return int(page.findings.has_errors)


def _destination(file: str, output: str | None) -> str:
    """The path to write to; only what is called a page may be replaced by one.

    Raises
    ------
    click.UsageError
        For another name: it may be the buffer.
    """
    from mgpu_trace.files import is_special

    if output is None:
        return f"{'stdin' if file == STDOUT else PurePath(file).stem}.report.html"
    if output != STDOUT and not output.lower().endswith(_SUFFIXES) and not is_special(output):
        raise click.UsageError(f"-o takes a NAME.html, or - for standard output; {shown(output)} is neither")
    return output


def _write(page: bytes, path: str) -> None:
    from mgpu_trace.files import whole_file

    if path != STDOUT:
        with whole_file(path) as sink:
            sink.write(page)
        return
    if sys.stdout is None:
        raise click.UsageError("standard output is closed; give -o FILE")
    sys.stdout.buffer.write(page)
    sys.stdout.buffer.flush()
