"""``mgpu-trace explain``: what is known about a code, or about an error that somebody pasted."""

from __future__ import annotations

import json
from typing import Final

import click

from mgpu_trace.diagnostics import catalogue
from mgpu_trace_cli.options import json_option
from mgpu_trace_cli.render import print_table

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace explain MGT301
  mgpu-trace explain "Block size is not a multiple of 128"
"""


@click.command(epilog=EXAMPLE)
@click.argument("words", metavar="[CODE | TEXT]...", nargs=-1)
@click.option("--list", "list_all", is_flag=True, help="List every code.")
@json_option
def explain(words: tuple[str, ...], list_all: bool, as_json: bool) -> int:
    """Explain a code: what it means, why it matters, what to do.

    CODE is an id such as MGT301, or a name such as overfull-track. TEXT is an error as JAX,
    interpret mode or mgpu-trace has printed it, with its traceback and all; - reads it from
    standard input, and so does no TEXT in a pipe. The best match is shown whole, others in a line.
    The exit status is 1 where nothing matches.
    """
    from mgpu_trace.diagnostics.match import Match, matches
    from mgpu_trace_cli.explaining import codes_called, data, entry, others, text_of

    if list_all and words:
        raise click.UsageError("--list shows every code; give it, or a CODE or TEXT")
    codes = list(catalogue.ALL) if list_all else codes_called(words) if words else None
    found = matches(text_of(words)) if codes is None else tuple(Match(c, 1.0, None, c.id) for c in codes)
    if as_json:
        click.echo(json.dumps(data(found), indent=2))
    elif list_all:
        rows = [[c.id, c.severity.label, c.slug, c.summary] for c in catalogue.ALL]
        print_table(["code", "severity", "name", "summary"], rows)
    elif found:
        shown = [match.code for match in (found if codes else found[:1])]
        click.echo("\n\n".join(map(entry, shown)))
        if codes is None and (more := others(found)):
            click.echo(f"\n{more}")
    if not found:
        click.echo("nothing known is like this text; mgpu-trace explain --list shows every code", err=True)
    return int(not found)
