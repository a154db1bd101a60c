"""Writers: the formats by name, and :func:`~mgpu_trace.export.output.write_trace` for all of them.

A writer takes anything with ``spec``, ``tracks``, ``clock``, ``report`` and ``runs()``: a whole
Timeline, or a Launch that decodes while it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mgpu_trace.clock import ClockModel
    from mgpu_trace.diagnostics import Report
    from mgpu_trace.model import Bool, Slices, Tracks
    from mgpu_trace.spec import TraceSpec

# Format name -> suffixes that stand for it. Writers are imported when they are asked for.
FORMATS: Final[dict[str, tuple[str, ...]]] = {
    "json": (".json", ".json.gz"),
}


class Source(Protocol):
    """What a writer reads from. ``report`` and ``more_facts()`` are complete once ``runs()`` was read
    to its end; the latter is JSON-ready and goes into the output's metadata.

    ``kept_tracks`` is ``(n_tracks,)``: the tracks whose slices ``runs()`` may give.
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
    def runs(self) -> Iterator[Slices]: ...
    def more_facts(self) -> dict[str, Any]: ...
