"""``mgpu-trace query``: SQL over launches."""

from __future__ import annotations

from typing import Final

import click

from mgpu_trace_cli.asking import Question, launch_options
from mgpu_trace_cli.options import files_argument
from mgpu_trace_cli.querying import HELP, answer_options, ask

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace query "SELECT region, count(*), sum(dur_cyc) FROM slices GROUP BY ALL" fixtures/golden
"""


@click.command(help=HELP, epilog=EXAMPLE)
@click.argument("sql", metavar="SQL")
@files_argument()
@answer_options
@launch_options
def query(sql: str, files: tuple[str, ...], question: Question, form: str | None, output: str | None) -> int:
    """Answer a question in SQL; the help is made from the list of columns."""
    return ask(sql, files, question, form, output)
