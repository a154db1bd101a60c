"""Tables and progress: rich on a terminal, plain aligned text in a pipe (the only importer of rich)."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics import one_line

if TYPE_CHECKING:
    from mgpu_trace.pipeline import Launch

PROGRESS_AFTER_S: Final = 1.0
_GAP: Final = 2  # between two columns
_FOLDED: Final = 24  # what a column of text needs at least; longer ones are folded
_STYLES: Final = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Iterable[str] = ()) -> None:
    """Print ``rows`` to standard output; the columns named in ``right`` are aligned to the right.

    Cells are data from files, so they are never read as markup and never hold a control character.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    if is_terminal(sys.stdout):
        _print_rich(columns, cells, frozenset(right))
    else:
        click.echo(plain_table(columns, cells, right=right))


def print_fitted(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Iterable[str] = (),
    drop: Sequence[str] | None = (),
) -> list[str]:
    """Print a table of many columns: on a terminal with its names broken at underscores, and as many as fit.

    Parameters
    ----------
    drop
        Columns to leave out where the terminal is too narrow, in this order; None: leave nothing out, and
        let lines be as long as they are.

    Returns
    -------
    list of str
        The columns that were left out. Columns of text may still be folded.
    """
    if not is_terminal(sys.stdout):
        print_table(columns, rows, right=right)
        return []
    from rich.cells import cell_len

    cells, flush = [[one_line(cell) for cell in row] for row in rows], frozenset(right)
    heads = [one_line(name).replace("_", "\n") for name in columns]
    widths = {}
    for i, name in enumerate(columns):
        texts = [*heads[i].split("\n"), *(row[i] for row in cells)]
        widest = max(map(cell_len, texts))
        widths[name] = widest if name in flush or drop is None else min(widest, _FOLDED)
    shown, room = list(columns), terminal_columns()
    for name in drop or ():
        if _width(widths, shown) > room and name in shown:
            shown.remove(name)
    places = [columns.index(name) for name in shown]
    picked = [[row[i] for i in places] for row in cells]
    right_heads = frozenset(heads[i] for i in places if columns[i] in flush)
    _print_rich([heads[i] for i in places], picked, right_heads, _width(widths, shown))
    return [name for name in columns if name not in shown]


def _width(widths: Mapping[str, int], shown: Sequence[str]) -> int:
    return sum(widths[name] for name in shown) + _GAP * (len(shown) - 1)


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Iterable[str] = ()) -> str:
    """The table as aligned text: two spaces between columns, none at the ends of lines."""
    lines = [list(columns), *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    flush = [name in frozenset(right) for name in columns]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, flush, strict=True)
        ).rstrip()
        for line in lines
    )


def _print_rich(
    columns: Sequence[str], rows: list[list[str]], right: frozenset[str], at_least: int | None = None
) -> None:
    """On the terminal, or on one that is wide enough for numbers to stay whole."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, _GAP - 1, 0, 0), show_edge=False)
    for name in columns:
        side: Any = "right" if name in right else "left"
        whole = name in right and at_least is not None
        table.add_column(Text(name), justify=side, no_wrap=whole, vertical="bottom", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    console = Console()
    console.width = max(console.width, at_least or 0)
    console.print(table)


def print_painted(lines: Iterable[Iterable[tuple[str, str]]]) -> None:
    """Print lines made of pieces of text and their styles, which only a terminal shows; none is broken."""
    if not is_terminal(sys.stdout):
        for line in lines:
            click.echo("".join(text for text, _ in line).rstrip())
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    for line in lines:
        painted = Text.assemble(*line)
        painted.rstrip()
        console.print(painted)


def in_columns(text: str, columns: int) -> str:
    """A name as one line of exactly so many columns: cut with an ellipsis, or filled with blanks."""
    from rich.cells import cell_len, set_cell_size

    # A character may have no width at all: a name that is cut here may be shorter than it could be.
    shown = one_line(text[: 4 * columns])
    if cell_len(shown) > columns or len(text) > 4 * columns:
        shown = set_cell_size(shown, columns - 1) + drawable("…", "~")
    return set_cell_size(shown, columns)


def columns_of(text: str) -> int:
    """How many columns a line takes."""
    from rich.cells import cell_len

    return cell_len(text)


def drawable(text: str, instead: str) -> str:
    """``text`` where standard output can take its characters, else ``instead``."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return instead
    return text


_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def bar(value: float, most: float, columns: int) -> str:
    """A bar of block characters, as many columns long as ``value`` is of ``most``; never empty but for 0."""
    eighths = round(8 * columns * value / most) if most else 0
    if value > 0:
        eighths = max(eighths, 1)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def is_terminal(stream: Any) -> bool:
    """Whether ``stream`` is there and is a terminal."""
    return stream is not None and stream.isatty()


def terminal_columns() -> float:
    """The width of the terminal that standard output is; without bounds where it is none."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else math.inf


@contextmanager
def progress(launch: Launch, label: str) -> Iterator[None]:
    """While ``launch`` is read, and that takes longer than a second on a terminal, show how far it is."""
    with _bar(label) as show:
        launch.on_run = show
        try:
            yield
        finally:
            launch.on_run = None


@contextmanager
def steps(label: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """The same for so many steps: what is given is called with how many are done."""
    with _bar(label) as show:
        yield None if show is None else lambda done: show(done, total)


@contextmanager
def _bar(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """What shows how far something is, on a terminal; there is a bar when it takes long."""
    # In one of several processes the first one shows how far all of them are.
    started_by = sys.modules.get("multiprocessing.process")
    is_worker = started_by is not None and started_by.parent_process() is not None
    if is_worker or not is_terminal(sys.stderr):
        yield None
        return
    started, bar = time.monotonic(), None

    def show(done: int, total: int) -> None:
        nonlocal bar
        if bar is None and time.monotonic() - started > PROGRESS_AFTER_S:
            bar = _start_bar(label, total)
        if bar is not None:
            bar.update(bar.task_ids[0], completed=done)
            if done == total:  # another launch may have a bar of its own next
                bar.stop()

    try:
        yield show
    finally:
        if bar is not None:
            bar.stop()


def _start_bar(label: str, total: int) -> Any:
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    bar.add_task(label, total=total)
    bar.start()
    return bar
