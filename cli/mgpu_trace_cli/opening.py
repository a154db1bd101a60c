"""Files to pages in the browser, and what is said about them."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace_cli.options import Told, count
from mgpu_trace_cli.render import progress
from mgpu_trace_cli.report import accepted, say

if TYPE_CHECKING:
    from mgpu_trace.pipeline import Launch
    from mgpu_trace.view.page import Page
    from mgpu_trace.view.server import TraceServer

STDIN: Final = "-"
STDIN_NAME: Final = "<stdin>"
PERFETTO_PORT: Final = 9001
MOST_FILES: Final = 16  # a page of the browser each
DEFAULT_TIMEOUT_S: Final = 300
DECODED: Final = ".trace.json.gz"

PORT: Final = Told("PORT", "a port from 0 to 65535", lambda text: count(text, 0, 65535))
SECONDS: Final = Told("SECONDS", "a whole number of seconds, at most 604800", lambda t: count(t, 1, 604800))

OpenFile = Callable[[str], "Launch"]


@dataclass(frozen=True, slots=True)
class Manner:
    """How to show, the same for every file."""

    offline: bool
    print_url: bool
    keep: bool
    port: int
    timeout_s: int | None
    allow_empty: bool

    @property
    def idle_s(self) -> int | None:
        """How long to wait while nobody asks for anything; None for ever."""
        return self.timeout_s or (None if self.keep else DEFAULT_TIMEOUT_S)


def open_all(files: Sequence[str], open_file: OpenFile, manner: Manner) -> int:
    """Serve every file until it was fetched; the exit status.

    Raises
    ------
    ExceptionGroup
        Where a file cannot be shown; then none is.
    """
    from mgpu_trace.view.offline import offline_ui
    from mgpu_trace.view.server import TraceServer

    if len(files) > MOST_FILES:
        raise click.UsageError(f"{len(files)} files would be as many pages; give at most {MOST_FILES}")
    ui = offline_ui() if manner.offline else None
    # The port first: what cannot be served need not be decoded.
    with TraceServer(manner.port, ui) as server, contextlib.ExitStack() as held:
        pages, clean = _pages(files, open_file, manner, held)
        server.start(pages)
        fetched = _show(server, pages, manner)
    return int(not (clean and fetched))


def _pages(
    files: Sequence[str], open_file: OpenFile, manner: Manner, held: contextlib.ExitStack
) -> tuple[list[Page], bool]:
    """A page for each file, and whether no error was found in any."""
    from mgpu_trace.view.page import Page, page_name

    pages: list[Page] = []
    clean, failed = True, []
    for file in files:
        try:
            trace, suffix, is_clean = _trace_of(file, open_file, manner, held)
        except MgpuTraceError as error:
            failed.append(error)
            continue
        clean &= is_clean
        name = page_name(file, suffix, [page.name for page in pages])
        pages.append(Page(name, trace))
    if failed:
        raise ExceptionGroup("some files", failed)
    return pages, clean


def _trace_of(
    file: str, open_file: OpenFile, manner: Manner, held: contextlib.ExitStack
) -> tuple[BinaryIO, str, bool]:
    """What is served for ``file``: its own bytes where it is a trace, else the trace made of it.

    With it the suffix of its name, and whether no error was found.
    """
    from mgpu_trace.view.hold import hold, nameless_file
    from mgpu_trace.view.made import trace_suffix

    name = STDIN_NAME if file == STDIN else file
    source = hold(file)
    if source is not None:
        held.enter_context(source.file)
        suffix = trace_suffix(source.file, name)
        if suffix is not None:
            return source.file, suffix, True
        source.file.seek(0)
    trace = held.enter_context(nameless_file())
    if source is None or not source.was_stream:
        return trace, DECODED, _decode(open_file(file), trace, manner)
    with _as_stdin(source.file):
        return trace, DECODED, _decode(open_file(STDIN), trace, manner)


def _decode(launch: Launch, trace: BinaryIO, manner: Manner) -> bool:
    """Write ``launch`` as a compressed trace and say what was found; whether there was no error."""
    from mgpu_trace.export.chrome import write_chrome
    from mgpu_trace.export.output import gzipped
    from mgpu_trace.view.hold import room_for

    with progress(launch, "decoding"), room_for(trace), gzipped(trace) as sink:
        more = write_chrome(launch, sink)
    found = [finding.in_file(launch.source or "") for finding in more]
    report = accepted(launch.report + found, manner.allow_empty)
    say(report)
    click.echo(launch.summary(), err=True)
    return not report.has_errors


@contextlib.contextmanager
def _as_stdin(file: BinaryIO) -> Iterator[None]:
    """Inside, ``file`` is standard input: what was read to be looked at can be read again."""
    before, sys.stdin = sys.stdin, io.TextIOWrapper(file)
    try:
        yield
    finally:
        sys.stdin.detach()
        sys.stdin = before


def _show(server: TraceServer, pages: Sequence[Page], manner: Manner) -> bool:
    """Open or print the URLs and wait; whether every page was fetched, or need not be."""
    from mgpu_trace.view.browser import open_browser

    if server.port != PERFETTO_PORT and not manner.offline:
        message = f"ui.perfetto.dev reads from port {PERFETTO_PORT} only, and this is port {server.port}"
        say([Diagnostic(catalogue.OTHER_PORT, message, hint="leave --port away, or add --offline")])
    for page in pages:
        url = server.url_of(page)
        if manner.print_url:
            click.echo(url)
        else:
            click.echo(f"opening {url}", err=True)
            open_browser(url, lambda failure: say([failure]))
    if manner.print_url and sys.stdout is not None:
        sys.stdout.flush()
    try:
        missing = server.wait(manner.idle_s, manner.keep)
    except KeyboardInterrupt:
        if manner.keep:  # the way to end it
            return True
        raise
    if missing and not manner.keep:
        names = ", ".join(page.name for page in missing)
        message = f"nobody has fetched {names} in {manner.idle_s} s"
        say(
            [
                Diagnostic(
                    catalogue.NOT_FETCHED, message, hint="open the URL in time, or give --timeout or --keep"
                )
            ]
        )
    return manner.keep or not missing
