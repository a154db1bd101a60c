"""MGT609 to MGT619: a trace that cannot be shown in the browser."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "BROWSER_NOT_STARTED",
    "NOT_A_TRACE",
    "NOT_FETCHED",
    "NO_OFFLINE_UI",
    "OTHER_PORT",
    "PORT_REFUSED",
    "PORT_TAKEN",
]

PORT_TAKEN: Final = Code("MGT609", "port-taken", Severity.ERROR, "the port is taken by another program")

NO_OFFLINE_UI: Final = Code(
    "MGT610", "no-offline-ui", Severity.ERROR, "the viewer for machines without a network is not installed"
)

BROWSER_NOT_STARTED: Final = Code(
    "MGT611", "browser-not-started", Severity.WARNING, "no browser could be started"
)

NOT_A_TRACE: Final = Code(
    "MGT612", "not-a-trace", Severity.ERROR, "the file is not a trace that the viewer opens"
)

NOT_FETCHED: Final = Code("MGT613", "not-fetched", Severity.ERROR, "nobody has fetched the trace")

PORT_REFUSED: Final = Code("MGT614", "port-refused", Severity.ERROR, "the system does not give the port")

OTHER_PORT: Final = Code(
    "MGT615", "other-port", Severity.WARNING, "ui.perfetto.dev does not read from this port"
)

CODES: Final[tuple[Code, ...]] = (
    PORT_TAKEN,
    NO_OFFLINE_UI,
    BROWSER_NOT_STARTED,
    NOT_A_TRACE,
    NOT_FETCHED,
    PORT_REFUSED,
    OTHER_PORT,
)
