"""What hands a Timeline to other libraries' tables: methods that import them when they are called."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, cast

from mgpu_trace.diagnostics import one_line
from mgpu_trace.diagnostics.clip import clipped, counted

if TYPE_CHECKING:
    from mgpu_trace.model import Timeline


class Interchange:
    """The methods of a Timeline that give its slices as a table (docs/tables.md has the columns).

    Each raises :class:`~mgpu_trace.diagnostics.MgpuTraceError`, MGT631, where the library is missing.
    """

    __slots__ = ()

    def to_arrow(self) -> Any:
        """The slices as a ``pyarrow.Table``, with units and the launch in its schema's metadata."""
        from mgpu_trace.columns.frames import to_arrow

        return to_arrow(cast("Timeline", self))

    def to_pandas(self) -> Any:
        """The slices as a ``pandas.DataFrame``."""
        from mgpu_trace.columns.frames import to_pandas

        return to_pandas(cast("Timeline", self))

    def to_polars(self) -> Any:
        """The slices as a ``polars.DataFrame``."""
        from mgpu_trace.columns.frames import to_polars

        return to_polars(cast("Timeline", self))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The slices for any library that speaks Arrow's C stream interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """The launch in a notebook: a small table of what it is, and one of where its time goes."""
        from mgpu_trace.analyse.notebook import regions_html

        timeline = cast("Timeline", self)
        cells = ((escape(what), escape(one_line(clipped(said)))) for what, said in _about(timeline))
        body = "".join(f"<tr><th>{what}</th><td>{said}</td></tr>" for what, said in cells)
        return f"<table><tbody>{body}</tbody></table>{regions_html(timeline)}"


def _about(timeline: Timeline) -> list[tuple[str, str]]:
    """What a person asks first about a launch."""
    spec, tracks, report = timeline.spec, timeline.tracks, timeline.report
    told = [(key, getattr(spec, key)) for key in ("kernel", "device", "jax_version")]
    found = [f"{finding.severity.label} {finding.code.id}" for finding in report]
    return [
        *((key.replace("_", " "), said) for key, said in told if said is not None),
        ("grid", "x".join(map(str, spec.grid))),
        (
            "block",
            f"{'x'.join(map(str, spec.block))} threads: {counted(spec.tracks_per_block, spec.scope.label)}",
        ),
        ("tracks", f"{len(tracks)}, {int(tracks.has_events.sum())} with events"),
        ("slices", str(len(timeline.slices))),
        ("clock", timeline.clock.describe()),
        ("findings", ", ".join(found) or "none"),
    ]
