"""Files to pages in the browser, and what is said about them."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace_cli.making import Making, making_of
from mgpu_trace_cli.options import Command, Told, count
from mgpu_trace_cli.report import say

if TYPE_CHECKING:
    from mgpu_trace.pipeline import Launch
    from mgpu_trace.view.page import Page
    from mgpu_trace.view.server import TraceServer

STDIN: Final = "-"
STDIN_NAME: Final = "<stdin>"
PERFETTO_PORT: Final = 9001
MOST_FILES: Final = 16  # a page of the browser each
DEFAULT_TIMEOUT_S: Final = 300

PORT: Final = Told("PORT", "a port from 0 to 65535", lambda text: count(text, 0, 65535))
SECONDS: Final = Told("SECONDS", "a whole number of seconds, at most 604800", lambda t: count(t, 1, 604800))


def showing_options(command: Command) -> Command:
    """Give a command what says how to show; the names are those of :class:`Showing`."""
    options = (
        click.option(
            "--offline", is_flag=True, help="Serve Perfetto's UI too, without a network (mgpu-trace[ui])."
        ),
        click.option("--print-url", is_flag=True, help="Print the URL to standard output; start no browser."),
        click.option("--keep", is_flag=True, help="Go on serving when all was fetched, until Ctrl-C."),
        click.option(
            "--port",
            type=PORT,
            default=PERFETTO_PORT,
            help="ui.perfetto.dev reads from 9001 only; 0: any, with --offline.",
        ),
        click.option(
            "--timeout",
            "timeout_s",
            type=SECONDS,
            help="End when nobody has asked for so long. Default: 300, with --keep never.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Showing:
    """How to show, the same for every file."""

    offline: bool
    print_url: bool
    keep: bool
    port: int
    timeout_s: int | None

    @property
    def idle_s(self) -> int | None:
        """How long to wait while nobody asks for anything; None for ever."""
        return self.timeout_s or (None if self.keep else DEFAULT_TIMEOUT_S)


def open_with(open_file: Callable[[str], Launch], files: Sequence[str], asked: dict[str, Any]) -> int:
    """Serve every file until it was fetched; the exit status.

    Parameters
    ----------
    asked
        The values of :func:`showing_options`, and of those about buffers.

    Raises
    ------
    ExceptionGroup
        Where a file cannot be shown; then none is.
    """
    from mgpu_trace.view.offline import offline_ui
    from mgpu_trace.view.server import TraceServer

    names = frozenset(field.name for field in fields(Showing))
    showing = Showing(**{name: asked.pop(name) for name in names})
    making = making_of(open_file, asked, names | {"files"})
    if len(files) > MOST_FILES:
        raise click.UsageError(f"{len(files)} files would be as many pages; give at most {MOST_FILES}")
    if files.count(STDIN) > 1:
        raise click.UsageError("standard input can be read once; give - once")
    if showing.print_url and sys.stdout is None:
        raise click.UsageError("standard output is closed, and --print-url prints to it")
    ui = offline_ui() if showing.offline else None
    # The port first: what cannot be served need not be decoded.
    with TraceServer(showing.port, ui) as server, contextlib.ExitStack() as held:
        pages, clean = _pages(files, making, held)
        server.start(pages)
        fetched = _show(server, pages, showing)
    return int(not (clean and fetched))


def _pages(files: Sequence[str], making: Making, held: contextlib.ExitStack) -> tuple[list[Page], bool]:
    """A page for each file, and whether no error was found in any."""
    from mgpu_trace.view.page import Page, page_name

    pages: list[Page] = []
    traces, failed = [], []
    for file in files:
        try:
            trace = _trace_of(file, making, held)
        except MgpuTraceError as error:
            failed.append(error)
            continue
        traces.append(trace)
        pages.append(Page(page_name(file, trace.suffix, [page.name for page in pages]), trace.file))
    if failed:
        raise ExceptionGroup("some files", failed)
    making.check_use([trace.name for trace in traces if trace.was_made], len(files))
    return pages, all(trace.is_clean for trace in traces)


@dataclass(frozen=True, slots=True)
class _Trace:
    """What is served for a file: its own bytes where it is a trace that was made before."""

    name: str
    file: BinaryIO
    suffix: str
    was_made: bool
    is_clean: bool = True


def _trace_of(file: str, making: Making, held: contextlib.ExitStack) -> _Trace:
    from mgpu_trace.view.hold import hold, nameless_file
    from mgpu_trace.view.made import trace_suffix

    name = STDIN_NAME if file == STDIN else file
    source = hold(file)
    if source is not None:
        held.enter_context(source.file)
        suffix = trace_suffix(source.file, name)
        if suffix is not None:
            return _Trace(name, source.file, suffix, was_made=True)
        source.file.seek(0)
    trace = held.enter_context(nameless_file())
    is_stream = source is not None and source.was_stream
    with _as_stdin(source.file) if source and is_stream else contextlib.nullcontext():
        is_clean = making.write(STDIN if is_stream else file, trace)
    return _Trace(name, trace, making.suffix, was_made=False, is_clean=is_clean)


@contextlib.contextmanager
def _as_stdin(file: BinaryIO) -> Iterator[None]:
    """Inside, ``file`` is standard input: what was read to be looked at can be read again."""
    before, sys.stdin = sys.stdin, io.TextIOWrapper(file)
    try:
        yield
    finally:
        sys.stdin.detach()
        sys.stdin = before


def _show(server: TraceServer, pages: Sequence[Page], showing: Showing) -> bool:
    """Open or print the URLs and wait; whether every page was fetched, or need not be."""
    from mgpu_trace.view.browser import open_browser

    if server.port != PERFETTO_PORT and not showing.offline:
        message = f"ui.perfetto.dev reads from port {PERFETTO_PORT} only, and this is port {server.port}"
        say([Diagnostic(catalogue.OTHER_PORT, message, hint="leave --port away, or add --offline")])
    for page in pages:
        url = server.url_of(page)
        if showing.print_url:
            click.echo(url)
        else:
            click.echo(f"opening {url}", err=True)
            open_browser(url, lambda failure: say([failure]))
    if showing.print_url and sys.stdout is not None:
        sys.stdout.flush()
    try:
        missing = server.wait(showing.idle_s, showing.keep)
    except KeyboardInterrupt:
        if showing.keep or not server.missing:  # the way to end it; or it is all there already
            return True
        raise
    if missing and not showing.keep:
        names = ", ".join(page.name for page in missing)
        message = f"nobody has fetched {names} in {showing.idle_s} s"
        say(
            [
                Diagnostic(
                    catalogue.NOT_FETCHED, message, hint="open the URL in time, or give --timeout or --keep"
                )
            ]
        )
    return showing.keep or not missing
