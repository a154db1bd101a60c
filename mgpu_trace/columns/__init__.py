"""A launch as tables with named columns, for Arrow and what reads it.

::

    fields     the four tables: every column's name, type and unit (imports nothing large)
    regions    names of regions as a dictionary column
    slices     the slices, run by run, as record batches
    others     the tracks, the launch and its names
    about      what the schema's metadata says of the launch
    frames     one Timeline as a table of pyarrow, pandas or polars

pyarrow is imported inside the functions that need it. docs/tables.md describes the columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mgpu_trace.clock import ClockModel
    from mgpu_trace.diagnostics import Report
    from mgpu_trace.model import Bool, Slices, Tracks
    from mgpu_trace.spec import TraceSpec

EXTRA: Final = "analysis"


class Source(Protocol):
    """A Timeline or a Launch. ``report`` and ``more_facts()`` are complete once ``runs()`` was read."""

    @property
    def spec(self) -> TraceSpec: ...
    @property
    def tracks(self) -> Tracks: ...
    @property
    def clock(self) -> ClockModel: ...
    @property
    def report(self) -> Report: ...
    @property
    def kept_tracks(self) -> Bool: ...
    def runs(self) -> Iterator[Slices]: ...
    def more_facts(self) -> dict[str, Any]: ...
