"""Answers as HTML tables that scroll inside their own box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from mgpu_trace.analyse.table import Table
from mgpu_trace.report.columns import COLUMNS
from mgpu_trace.report.markup import Markup, joined, name_said, rows_of, tag

# Rows of one table: what a person reads, and what keeps the page small whatever the launch.
MAX_ROWS: Final = 200
# Columns of changes, which have a sign, and how they end; of verdicts, what class their words are of.
_CHANGES: Final = ("_change", "_low", "_high", "effect")
_CLASSES: Final = {"slower": "worse", "faster": "better"}
_UNITS: Final = ("ns", "cyc")


def table(
    answer: Table,
    caption: str,
    columns: Sequence[str] | None = None,
    *,
    key: str | None = None,
    bars: Sequence[str] = (),
) -> Markup:
    """The first :data:`MAX_ROWS` rows, and what the columns mean.

    Parameters
    ----------
    columns
        Which, in that order, each without the unit in its name or with it; those that the answer lacks are
        left out, and so are those without a value. None: all.
    key
        The id of the table; by default the title of the answer.
    bars
        Columns of shares, drawn as bars too.
    """
    names = list(answer.columns) if columns is None else _present(answer, columns)
    rows = answer.take(np.arange(min(MAX_ROWS, len(answer)))).rows()
    names = [name for name in names if not rows or any(row[name] is not None for row in rows)]
    return listed(rows, names, _counted(caption, len(rows), len(answer)), key or answer.title, bars)


def listed(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], caption: str, key: str, bars: Sequence[str] = ()
) -> Markup:
    """Rows by column as a table with a caption, and the meaning of its columns below it."""
    label = f"{key}-caption"
    head = tag("tr", *(tag("th", *_heading(name), scope="col") for name in names))
    body = joined((_row(row, names, bars) for row in rows), "\n")
    whole = tag("table", tag("thead", head), tag("tbody", body), aria_labelledby=label, data_sortable=True)
    # Focusable, so that it scrolls by keys too. What it is about stays beside it when it scrolls.
    box = tag("div", whole, class_="scroll", role="region", aria_labelledby=label, tabindex="0")
    return joined([tag("p", caption, id=label, class_="muted"), box, _meanings(names, key)])


def _present(answer: Table, columns: Sequence[str]) -> list[str]:
    by_base = {base_of(name): name for name in answer.columns}
    found = [wanted if wanted in answer.columns else by_base.get(wanted) for wanted in columns]
    return [name for name in found if name is not None]


def base_of(name: str) -> str:
    """A column's name without its unit."""
    stem, _, unit = name.rpartition("_")
    return stem if unit in _UNITS else name


def _counted(caption: str, shown: int, of: int) -> str:
    return caption if shown == of else f"{caption} The first {shown} of {of} rows."


def _heading(name: str) -> list[Markup | str]:
    base = base_of(name)
    unit = name[len(base) + 1 :]
    return [base.replace("_", " "), *([" ", tag("small", unit)] if unit else [])]


def _row(row: Mapping[str, Any], names: Sequence[str], bars: Sequence[str]) -> Markup:
    cells = [_cell(name, row[name], name in bars, is_head=i == 0) for i, name in enumerate(names)]
    return tag("tr", *cells)


def _cell(name: str, value: Any, is_bar: bool, is_head: bool) -> Markup:
    shown: Markup | str = cell(name, value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    kind = "number" if is_number or value is None else _CLASSES.get(str(value)) if "verdict" in name else None
    sort = f"{value:.17g}" if is_number else None
    if is_bar and value is not None:
        width = f"width:{100 * min(max(value, 0.0), 1.0):.1f}%"
        shown = joined([tag("span", class_="bar", style=width), shown])
    if is_head:
        return tag("th", shown, scope="row", class_=kind, data_value=sort)
    return tag("td", shown, class_=kind, data_value=sort)


def cell(name: str, value: Any) -> str:
    """A value as people read it: shares in per cent, times to a tenth."""
    if value is None:
        return "–"  # noqa: RUF001 - a dash
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return name_said(value)
    if isinstance(value, float):
        if name.endswith("share"):
            return f"{100 * value:.1f}%"
        if name.endswith(_CHANGES):
            return f"{value:+,.1%}"
        return f"{value:,.3f}" if name in ("cv", "waves") else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _meanings(names: Sequence[str], key: str) -> Markup:
    bases = dict.fromkeys(map(base_of, names))
    meant = ((base, COLUMNS.get(f"{key}.{base}") or COLUMNS.get(base)) for base in bases)
    known = [(base.replace("_", " "), meaning) for base, meaning in meant if meaning]
    if not known:
        return Markup("")
    return tag("details", tag("summary", "What the columns mean"), rows_of(known), class_="columns")
