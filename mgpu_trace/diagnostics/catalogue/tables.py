"""MGT630 to MGT639: tables and SQL, and the packages that they need."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = ["MISSING_EXTRA", "SQL_ERROR", "SQL_REFUSED"]

SQL_ERROR: Final = Code("MGT630", "sql-error", Severity.ERROR, "the SQL cannot be run")

MISSING_EXTRA: Final = Code(
    "MGT631", "missing-extra", Severity.ERROR, "a package that this needs is not installed"
)

SQL_REFUSED: Final = Code("MGT632", "sql-refused", Severity.ERROR, "the SQL is more than one question")

CODES: Final[tuple[Code, ...]] = (SQL_ERROR, MISSING_EXTRA, SQL_REFUSED)
