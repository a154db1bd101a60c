"""``mgpu-trace explain``: the catalogue's words on one code."""

from __future__ import annotations

import textwrap
from typing import Final

import click

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.diagnostics.explain import explanation_of
from mgpu_trace_cli.render import print_table

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace explain MGT301
"""


@click.command(epilog=EXAMPLE)
@click.argument("code", required=False)
@click.option("--list", "list_all", is_flag=True, help="List every code.")
def explain(code: str | None, list_all: bool) -> None:
    """Explain a code: what it means, why it matters, what to do.

    CODE is an id such as MGT301, or a name such as overfull-track.
    """
    if list_all:
        rows = [[c.id, c.severity.label, c.slug, c.summary] for c in catalogue.ALL]
        print_table(["code", "severity", "name", "summary"], rows)
        return
    if code is None:
        raise click.UsageError("give a CODE, or --list for all of them")
    found = catalogue.find(code)
    if found is None:
        raise click.UsageError(f"no code is called {code!r}; {_nearest(code)}")
    click.echo(explanation(found))


def explanation(code: Code) -> str:
    """What the catalogue says about ``code``, as text of at most 88 columns."""
    told = explanation_of(code)
    lines = [f"{code.id} {code.slug} ({code.severity.label})", code.summary]
    parts = (("What it means", told.means), ("Why it matters", told.matters), ("What to do", told.todo))
    for heading, text in parts:
        body = textwrap.fill(text, 88, initial_indent="    ", subsequent_indent="    ")
        lines += ["", heading, body]
    return "\n".join(lines)


def _nearest(code: str) -> str:
    from difflib import get_close_matches

    known = [name for c in catalogue.ALL for name in (c.id.lower(), c.slug)]
    near = get_close_matches(code.strip().lower(), known, cutoff=0.5)
    names = [n.upper() if n.startswith("mgt") else n for n in near]
    return f"nearest: {', '.join(names)}" if names else "mgpu-trace explain --list shows them all"
