"""What ``mgpu-trace explain`` is asked, and how it says what is known."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from typing import IO, TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics import Code, Diagnostic, MgpuTraceError, catalogue, one_line
from mgpu_trace.diagnostics.clip import clipped
from mgpu_trace_cli.render import is_terminal, terminal_columns

if TYPE_CHECKING:
    from mgpu_trace.diagnostics.explain import Place, Upstream
    from mgpu_trace.diagnostics.match import Match

WIDTH: Final = 88  # of an entry, at most
MAX_TEXT_BYTES: Final = 1 << 24  # of a text on standard input, from its end
MAX_READ_BYTES: Final = 1 << 30  # of a pipe, which may have no end
_BLOCK_BYTES: Final = 1 << 20
_MANY: Final = "--list shows every code"
_ONE_WORD: Final = re.compile(r"[\w-]+")
_KEY: Final = re.compile(r"mgt\w*|[a-z0-9]+(?:-[a-z0-9]+)+", re.IGNORECASE)


def codes_called(words: tuple[str, ...]) -> list[Code] | None:
    """The codes that ``words`` are ids or slugs of, each once; None where they are a text.

    Raises
    ------
    click.UsageError
        They are empty; or they look like ids and slugs, as a single word does, and one is unknown.
    """
    if words == ("-",):
        return None
    if not any(word.strip() for word in words):
        raise click.UsageError(f"give a CODE or a TEXT; {_MANY}")
    found = {word: catalogue.find(word) for word in words}
    unknown = [word for word, code in found.items() if code is None]
    if not unknown:
        return list(dict.fromkeys(code for code in found.values() if code))
    is_one_word = len(words) == 1 and bool(_ONE_WORD.fullmatch(unknown[0].strip()))
    if is_one_word or all(_KEY.fullmatch(word) for word in unknown):
        raise click.UsageError(f"no code is called {clipped(unknown[0])!r}; {_nearest(unknown[0])}")
    return None


def text_of(words: tuple[str, ...]) -> str:
    """The text to look at: ``words``, or what comes on standard input."""
    if words not in ((), ("-",)):
        return " ".join(words)
    if not words and (sys.stdin is None or is_terminal(sys.stdin)):
        raise click.UsageError(f"give a CODE or a TEXT, or pipe one in; {_MANY}")
    text = _tail_of_stdin().decode("utf-8", "surrogateescape")
    if not words and not text.strip():
        raise click.UsageError(f"give a CODE or a TEXT: standard input is empty; {_MANY}")
    return text


def entry(code: Code) -> str:
    """What the catalogue says about ``code``, as text that fits the terminal (examples as they are)."""
    from mgpu_trace.diagnostics.explain import explanation_of

    told = explanation_of(code)
    parts = {
        "What it means": _filled(told.means),
        "When it happens": _filled(told.when),
        "Common situations": "\n".join(_filled(text, "  - ", "    ") for text in told.situations),
        "Why it matters": _filled(told.matters),
        "What to do": _filled(told.todo),
        "Before": textwrap.indent(told.before, "    "),
        "After": textwrap.indent(told.after, "    "),
        "What JAX or Python says": "\n".join(map(_said, told.upstream)),
        "Related": "\n".join(f"    {_called(key)}" for key in told.related),
    }
    lines = [
        click.style(f"{code.id} {code.slug} ({code.severity.label})", bold=True),
        _filled(code.summary, "", ""),
    ]
    for heading, body in parts.items():
        if body:
            lines += ["", click.style(heading, bold=True), body]
    return "\n".join(lines)


def others(matches: tuple[Match, ...]) -> str:
    """The best match if it is not whole, and one line for each of the others."""
    best, *rest = matches
    lines = [f"also: {_called(m.code.id)}: {m.code.summary}" for m in rest]
    if best.score < 0.8:
        lines.insert(0, f"nearest to: {one_line(best.excerpt)} (score {best.score})")
    return "\n".join(lines)


def data(matches: tuple[Match, ...]) -> dict[str, Any]:
    """The matches as JSON-ready data (the schema is in docs/cli.md)."""
    from mgpu_trace.diagnostics.explain import entry_of

    found = [
        entry_of(m.code) | {"score": m.score, "sentence": m.sentence, "matched": m.excerpt} for m in matches
    ]
    return {"schema": "mgpu-trace/explain", "version": 1, "matches": found}


def _filled(text: str, first: str = "    ", rest: str = "    ") -> str:
    return textwrap.fill(
        text,
        int(min(WIDTH, terminal_columns())),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _said(said: Upstream) -> str:
    places = [_filled(_place(place), "      ", "        ") for place in said.where]
    return "\n".join([_filled(f"{said.raises}: {said.sentence}"), *places])


def _place(place: Place) -> str:
    from mgpu_trace.diagnostics.sentences import versions_of

    versions = versions_of(place)
    return f"{place.module}, {place.function}" + (f" ({versions})" if versions else "")


def _called(key: str) -> str:
    code = catalogue.find(key)
    return f"{code.id} {code.slug}" if code else key


def _tail_of_stdin() -> bytes:
    """The end of standard input; what was left out is said on standard error."""
    try:
        tail, is_all = _tail(sys.stdin.buffer)
    except (OSError, ValueError, AttributeError) as error:  # unreadable; closed; not there at all
        why = getattr(error, "strerror", None) or "it cannot be read"
        raise MgpuTraceError(
            Diagnostic(catalogue.FILE_UNREADABLE, why, hint="pipe a text in", file="standard input")
        ) from error
    if not is_all:
        click.echo(f"note: a long text; its last {MAX_TEXT_BYTES >> 20} MiB are looked at", err=True)
    return tail


def _tail(stream: IO[bytes]) -> tuple[bytes, bool]:
    """The last bytes of ``stream``, and whether they are all; an endless stream is left after a while."""
    skipped = 0
    if stream.seekable():
        here, end = stream.tell(), stream.seek(0, os.SEEK_END)
        skipped = max(0, end - here - MAX_TEXT_BYTES)
        stream.seek(here + skipped)
    kept, n_read = bytearray(), 0
    while n_read < MAX_READ_BYTES and (block := stream.read(_BLOCK_BYTES)):
        kept += block
        n_read += len(block)
        if len(kept) > 2 * MAX_TEXT_BYTES:
            del kept[:-MAX_TEXT_BYTES]
    return bytes(kept[-MAX_TEXT_BYTES:]), skipped == 0 and n_read <= MAX_TEXT_BYTES


def _nearest(key: str) -> str:
    from difflib import get_close_matches

    known = [name for c in catalogue.ALL for name in (c.id.lower(), c.slug)]
    near = get_close_matches(key.strip().lower()[:99], known, cutoff=0.5)
    names = [n.upper() if n.startswith("mgt") else n for n in near]
    return f"nearest: {', '.join(names)}" if names else f"mgpu-trace explain {_MANY}"
