"""Pictures made of characters: shades, an axis of time, and how wide a line may be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Final

from mgpu_trace_cli.options import Told
from mgpu_trace_cli.options import count as whole_number
from mgpu_trace_cli.render import drawable, terminal_columns

PIPED_COLUMNS: Final = 120
# Narrower, no line has room for a label and a cell; wider, memory is asked for that no picture needs.
LEAST_COLUMNS, MOST_COLUMNS = 20, 10_000
WIDTH: Final = Told(
    "COLUMNS",
    f"a whole number from {LEAST_COLUMNS} to {MOST_COLUMNS}",
    lambda text: whole_number(text, LEAST_COLUMNS, MOST_COLUMNS),
)
_SHADES: Final = (" ░▒▓█", " .:*#")
# How large a time may be to be shown in a unit, what it is called, and how many of the others it is.
_SCALES: Final = {
    "ns": ((1e4, "ns", 1.0), (1e7, "us", 1e3), (1e10, "ms", 1e6), (math.inf, "s", 1e9)),
    "cyc": ((1e6, "cycles", 1.0), (1e9, "thousand cycles", 1e3), (math.inf, "million cycles", 1e6)),
}


def picture_columns(asked: int | None) -> int:
    """How wide a picture is: as asked for, as the terminal, or 120 in a pipe."""
    if asked is not None:
        return asked
    room = terminal_columns()
    return PIPED_COLUMNS if room == math.inf else max(LEAST_COLUMNS, min(int(room), MOST_COLUMNS))


def shades() -> str:
    """Characters from empty to full."""
    return drawable(*_SHADES)


def shaded(values: Iterable[float], most: float, ramp: str) -> str:
    """One character for each value, from the first (0 alone) to the last of the ramp (``most``)."""
    steps = len(ramp) - 1
    return "".join(ramp[math.ceil(steps * value / most) if value > 0 else 0] for value in values)


def scale_of(begin: float, end: float, unit: str) -> tuple[str, float]:
    """What times up to these are shown in: its name, and how many of ``unit`` it is."""
    most = max(abs(begin), abs(end))
    return next((name, times) for limit, name, times in _SCALES[unit] if most < limit)


def axis(begin: float, end: float, columns: int, times: float) -> str:
    """A line of at most so many columns with a bar at round times, each followed by its number.

    Parameters
    ----------
    begin, end
        Time at the left edge of the first column and at the right edge of the last.
    times
        What one of the numbers stands for.
    """
    line = ""
    for at, label in _ticks(begin / times, end / times, columns):
        if at + 1 + len(label) <= columns:
            line = f"{line:<{at}}|{label}"
    return line


def _ticks(begin: float, end: float, columns: int) -> Sequence[tuple[int, str]]:
    """Columns and labels of the closest round times whose labels keep apart."""
    span = end - begin
    if not span > 0:
        return [(0, f"{begin:g}")]
    for step, digits in _steps(span / columns):
        first, last = math.ceil(begin / step), math.floor(end / step)
        room = columns * step / span
        if last - first > columns or (last > first and room < len(f"{last * step:.{digits}f}") + 2):
            continue
        at = [(math.floor((i * step - begin) / span * columns), i * step) for i in range(first, last + 1)]
        return [(max(column, 0), f"{time:.{digits}f}") for column, time in at]
    return []


def _steps(least: float) -> Iterator[tuple[float, int]]:
    """Round numbers from about ``least`` on, and how many digits after the point they need."""
    power = math.floor(math.log10(least))
    for exponent in count(power):
        for digit in (1, 2, 5):
            yield digit * 10.0**exponent, max(0, -exponent)
