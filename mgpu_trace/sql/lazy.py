"""A table of which only those columns are made that are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mgpu_trace.columns import EXTRA
from mgpu_trace.extras import needs


def lazy_table(schema: Any, column: Callable[[str], Any]) -> Any:
    """A dataset of pyarrow whose columns are made by ``column(name)`` when they are first read.

    DuckDB reads a dataset by asking it for a scanner of some of its columns. A slice has more than
    twenty, of which most statements read two or three; and most read the slices alone.

    Parameters
    ----------
    schema
        All the columns.
    column
        Gives a column as a chunked array of pyarrow.
    """
    pa, dataset = needs("pyarrow", EXTRA, "query"), needs("pyarrow.dataset", EXTRA, "query")
    made: dict[str, Any] = {}

    class Lazy(dataset.InMemoryDataset):  # type: ignore[misc,name-defined]  # known when it runs
        def scanner(self, columns: Any = None, filter: Any = None, **how: Any) -> Any:  # noqa: A002 - pyarrow's
            names = read_columns(schema.names, columns, filter)
            made.update({name: column(name) for name in names if name not in made})
            table = pa.table({name: made[name] for name in names})
            return dataset.dataset(table).scanner(columns=columns, filter=filter, **how)

    return Lazy(schema.empty_table())


def read_columns(known: list[str], columns: Any, condition: Any) -> list[str]:
    """Those of the ``known`` columns that a scanner reads: what it gives, and what it filters by.

    An expression does not tell its columns, but it prints them; one that is made without need does no
    harm. Where no column is read the rows still count, so there is always one.
    """
    if columns is None:
        return known
    said = "" if condition is None else str(condition)
    return [name for name in known if name in columns or name in said] or known[:1]
