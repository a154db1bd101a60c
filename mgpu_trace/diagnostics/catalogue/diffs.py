"""MGT650 to MGT659: launches that are compared."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "CLOCKS_DIFFER",
    "NAMES_DIFFER",
    "NO_COMMON_REGION",
    "NO_INTERVAL",
    "REGRESSION",
    "SHAPES_DIFFER",
    "UNITS_DIFFER",
]

UNITS_DIFFER: Final = Code(
    "MGT650",
    "units-differ",
    Severity.ERROR,
    "of launches that are compared some have a clock rate, others none",
)

NO_COMMON_REGION: Final = Code(
    "MGT651", "no-common-region", Severity.ERROR, "launches that are compared share no region"
)

REGRESSION: Final = Code(
    "MGT652", "regression", Severity.ERROR, "something became slower by more than --fail-over allows"
)

SHAPES_DIFFER: Final = Code(
    "MGT653", "shapes-differ", Severity.WARNING, "launches that are compared differ in grid, block or scope"
)

NAMES_DIFFER: Final = Code(
    "MGT654", "names-differ", Severity.WARNING, "launches that are compared have different tables of names"
)

CLOCKS_DIFFER: Final = Code(
    "MGT655", "clocks-differ", Severity.WARNING, "launches that are compared differ in clock or device"
)

NO_INTERVAL: Final = Code(
    "MGT656", "no-interval", Severity.WARNING, "a change of which nothing tells how far it is noise"
)

CODES: Final[tuple[Code, ...]] = (
    UNITS_DIFFER,
    NO_COMMON_REGION,
    REGRESSION,
    SHAPES_DIFFER,
    NAMES_DIFFER,
    CLOCKS_DIFFER,
    NO_INTERVAL,
)
