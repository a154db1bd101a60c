"""Answers: named columns of one length, and what holds for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.diagnostics import one_line
from mgpu_trace.diagnostics.clip import clipped

# What a notebook shows of a long answer; a page of a hundred thousand rows would stop a browser.
HTML_ROWS: Final = 100

Values = NDArray[Any] | Sequence[str] | Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Table:
    """One answer.

    Attributes
    ----------
    title
        What it answers, such as ``"stats"``.
    columns
        Values by name, in order; all of one length. Quantities end in their unit. What does not exist
        (the spread of a single value) is NaN or None.
    facts
        JSON-ready, about the whole table: its unit, what shares are of, what was left out.
    """

    title: str
    columns: Mapping[str, Values]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, column: str) -> Values:
        return self.columns[column]

    def rows(self) -> list[dict[str, Any]]:
        """One JSON-ready object per row; NaN becomes None."""
        columns = [plain(values) for values in self.columns.values()]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True)]

    def in_parts(self, n: int) -> Iterator[list[dict[str, Any]]]:
        """:meth:`rows`, at most ``n`` of them at a time."""
        for first in range(0, len(self), n):
            yield self.take(np.arange(first, min(first + n, len(self)))).rows()

    def take(self, rows: NDArray[Any]) -> Table:
        """The rows of an index array, in its order."""
        picked: dict[str, Values] = {}
        for name, values in self.columns.items():
            if isinstance(values, np.ndarray):
                picked[name] = values[rows]
            else:
                picked[name] = [values[i] for i in rows.tolist()]
        return Table(self.title, picked, self.facts)

    def _repr_html_(self) -> str:
        """The first rows in a notebook."""
        shown = self.take(np.arange(min(len(self), HTML_ROWS)))
        head = "".join(f"<th>{escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_shown(value))}</td>" for value in row.values()) + "</tr>"
            for row in shown.rows()
        )
        rest = f"<p>the first {len(shown)} of {len(self)} rows</p>" if len(shown) < len(self) else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def plain(values: Values) -> list[Any]:
    """A column as Python's own values: NaN and infinities, which JSON lacks, become None."""
    found: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return [value if math.isfinite(value) else None for value in found]
    return found


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else one_line(clipped(str(value)))
