"""Answers of SQL: columns with names and types of their own, and their values as JSON and CSV have them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from mgpu_trace.columns import EXTRA
from mgpu_trace.extras import needs

_MOST_INT64: Final = 2**63 - 1


def tidied(table: Any) -> Any:
    """An answer as other programs take it.

    Names that occur twice get numbers. A sum of 64-bit numbers, to DuckDB one of 128 bits, is one of 64
    bits where all its values fit.
    """
    narrow = [_narrowed(column) for column in table.columns]
    pa = needs("pyarrow", EXTRA, "query")
    return pa.table(narrow, names=_different(table.column_names))


def _different(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        free, n = name, 0
        while free in found:
            n += 1
            free = f"{name}_{n}"
        found.append(free)
    return found


def _narrowed(column: Any) -> Any:
    pa, pc = needs("pyarrow", EXTRA, "query"), needs("pyarrow.compute", EXTRA, "query")
    kind = column.type
    if not (pa.types.is_decimal(kind) and kind.scale == 0):
        return column
    span = pc.min_max(column).as_py()
    least, most = span["min"] or 0, span["max"] or 0
    fits = least >= -_MOST_INT64 and most <= _MOST_INT64
    return column.cast(pa.int64()) if fits else column


def columns_of(table: Any) -> list[dict[str, str]]:
    """Name and type of each column, JSON-ready."""
    return [{"name": field.name, "type": str(field.type)} for field in table.schema]


def rows_of(table: Any) -> Iterator[list[list[Any]]]:
    """The rows in lists of some thousands; values are JSON-ready: :func:`plain`."""
    for batch in table.to_batches(max_chunksize=8192):
        columns = [list(map(plain, column.to_pylist())) for column in batch.columns]
        yield [list(row) for row in zip(*columns, strict=True)]


def plain(value: Any) -> Any:
    """A value of an answer as JSON has it.

    Integers are exact, whatever their size. NaN and infinities, which JSON lacks, become None; bytes
    become hexadecimal; dates, times and the like the text that Python has for them.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [plain(inner) for inner in value]
    return str(value)


def text_of(value: Any) -> str:
    """A :func:`plain` value in one cell; None is empty."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
