"""Writers: the formats by name, and :func:`~mgpu_trace.export.output.write_trace` for all of them.

A writer takes anything with ``spec``, ``tracks``, ``clock``, ``report`` and ``runs()``: a whole
Timeline, or a Launch that decodes while it is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mgpu_trace.clock import ClockModel
    from mgpu_trace.diagnostics import Diagnostic, Report
    from mgpu_trace.model import I64, Bool, Slices, Tracks
    from mgpu_trace.spec import TraceSpec


class Source(Protocol):
    """What a writer reads from. ``report`` and ``more_facts()`` are complete once ``runs()`` was read
    to its end; the latter is JSON-ready and goes into the output's metadata.

    ``kept_tracks`` is ``(n_tracks,)``: the tracks whose slices ``runs()`` may give. ``track_extents()``
    is ``(n_tracks,)``: cycles from each track's first event to its last, selected or not, and -1 where
    it has none. ``touches()`` is ``(n,)``: which spans of time are in what was selected.
    """

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
    def track_extents(self) -> I64: ...
    def touches(self, begin_ns: I64, end_ns: I64) -> Bool: ...
    def runs(self) -> Iterator[Slices]: ...
    def more_facts(self) -> dict[str, Any]: ...


class Writer(Protocol):
    """Writes a source; returns what could not be written as it is. The options are the format's own."""

    def __call__(self, source: Source, sink: BinaryIO, options: Any = None) -> list[Diagnostic]: ...


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Attributes
    ----------
    suffixes
        What the names of its files end in; ``.gz`` stands for compressed.
    heads
        How its files begin, by which an earlier trace is known.
    module, function
        Where its writer is: a module of this package, imported when it is asked for.
    is_table
        Whether it is a table of slices and no trace to look at.
    """

    suffixes: tuple[str, ...]
    heads: tuple[bytes, ...]
    module: str
    function: str
    is_table: bool = False

    def writer(self) -> Writer:
        """The writer, imported now."""
        return cast(Writer, getattr(import_module(f"{__name__}.{self.module}"), self.function))


FORMATS: Final[dict[str, Format]] = {
    "json": Format(
        (".json", ".json.gz"), (b'{"traceEvents"', b'{"displayTimeUnit"'), "chrome", "write_chrome"
    ),
    "perfetto": Format(
        (".pftrace", ".pftrace.gz"), (b"\n\x07P\x01h\x01\xb8\x05\x01",), "perfetto", "write_perfetto"
    ),
    "parquet": Format((".parquet",), (b"PAR1",), "columns", "write_parquet", True),
    "arrow": Format((".arrow",), (b"ARROW1",), "columns", "write_arrow", True),
    "csv": Format((".csv", ".csv.gz"), (b"track,block,",), "columns", "write_csv", True),
}
