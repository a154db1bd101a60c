"""One Timeline as a table of pyarrow, pandas or polars; each is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mgpu_trace.columns import EXTRA
from mgpu_trace.columns.about import KEY, about, altered
from mgpu_trace.columns.fields import schema_of
from mgpu_trace.columns.slices import SliceColumns, slice_fields
from mgpu_trace.extras import needs

if TYPE_CHECKING:
    from mgpu_trace.model import Timeline


def to_arrow(timeline: Timeline) -> Any:
    """The slices as a ``pyarrow.Table``; columns that need no arithmetic share the Timeline's memory."""
    pa = needs("pyarrow", EXTRA, "to_arrow()")
    columns = SliceColumns(timeline, {})
    columns.regions.numbers(timeline.slices.name)  # all names are known before the schema is made
    facts = {KEY: about(timeline, altered(columns.regions))}
    schema = schema_of(slice_fields(timeline.slices, {}), facts)
    return pa.Table.from_batches([columns.batch(timeline.slices, schema)])


def to_pandas(timeline: Timeline) -> Any:
    """The slices as a ``pandas.DataFrame``: names are categories; what is null is missing."""
    needs("pandas", None, "to_pandas()")
    table = to_arrow(timeline)
    frame = table.to_pandas()
    frame.attrs[KEY] = table.schema.metadata[KEY.encode()].decode()
    return frame


def to_polars(timeline: Timeline) -> Any:
    """The slices as a ``polars.DataFrame``: names are categories; what is null is null."""
    return needs("polars", None, "to_polars()").from_arrow(to_arrow(timeline))
