"""What hands a Timeline to other libraries' tables: methods that import them when they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

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
