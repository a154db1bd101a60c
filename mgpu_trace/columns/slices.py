"""The slices of one launch as columns: each is made when it is asked for, of one run or of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.columns import EXTRA, Source
from mgpu_trace.columns.fields import INDEX, REMOVED, SLICES, Field
from mgpu_trace.columns.regions import Regions, Texts
from mgpu_trace.extras import needs
from mgpu_trace.model import Slices, TrackFlag, occurrence

# Columns that a slice has from its track, and those that its row of the slices holds as they are.
_OF_TRACK: Final = ("block", "block_x", "block_y", "block_z", "unit", "sm")
_AS_THEY_ARE: Final = {"track": "track", "name_id": "name"} | {
    name: name for name in ("depth", "lane", "start_cyc", "dur_cyc", "closed")
}


def slice_fields(slices: Slices, roles: Mapping[int, str]) -> tuple[Field, ...]:
    """The columns of these slices: without those that nobody asked for."""
    absent = {
        "role": not roles,
        INDEX.name: slices.index is None,
        REMOVED.name: slices.removed_cyc is None,
    }
    return tuple(field for field in SLICES if not absent.get(field.name))


class SliceColumns:
    """Makes the columns of slices of one launch, by their names in :data:`~.fields.SLICES`.

    Parameters
    ----------
    source
        The launch.
    roles
        Names for units.
    texts
        Where names of regions are held; one for all launches of a table.
    """

    def __init__(self, source: Source, roles: Mapping[int, str], texts: Texts | None = None) -> None:
        self._source = source
        self.regions = Regions(source.spec.name_of, len(source.spec.names or ()), texts or Texts())
        self._tracks = TrackColumns(source, roles)

    def column(self, name: str, slices: Slices) -> Any:
        """``(n_slices,)``: the column ``name`` of these slices, as pyarrow has it."""
        pa = needs("pyarrow", EXTRA, "a table")
        if name == "region":
            return self.regions.texts.column(self.regions.numbers(slices.name))
        if name == "role":
            return self._tracks.role(slices.track)
        if name.endswith("_ns") and self._source.clock.rate_mhz is None:
            return pa.nulls(len(slices), pa.float64() if name == "dur_ns" else pa.int64())
        return pa.array(self.values(name, slices))

    def values(self, name: str, slices: Slices) -> NDArray[Any]:
        """``(n_slices,)``: a column of numbers."""
        values: NDArray[Any]
        if name in _AS_THEY_ARE:
            values = getattr(slices, _AS_THEY_ARE[name])
        elif name in _OF_TRACK:
            values = self._tracks.values(name)[slices.track]
        elif name == INDEX.name:
            values = occurrence(slices.track, slices.name) if slices.index is None else slices.index
        elif name == REMOVED.name:
            removed = slices.removed_cyc
            values = np.zeros(len(slices), np.int64) if removed is None else removed
        elif name == "truncated":
            values = ~slices.closed & self._tracks.values("lost_tail")[slices.track]
        else:
            values = self._times(name, slices)
        return values

    def _times(self, name: str, slices: Slices) -> NDArray[Any]:
        clock = self._source.clock
        if name == "dur_ns":
            return slices.dur_cyc * clock.ns_per_cyc
        until = slices.start_cyc if name == "begin_ns" else slices.start_cyc + slices.dur_cyc
        return clock.to_ns(slices.track, until)

    def batch(self, slices: Slices, schema: Any) -> Any:
        """These slices as a record batch with the columns of ``schema``."""
        pa = needs("pyarrow", EXTRA, "a table")
        columns = [self.column(name, slices) for name in schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


class TrackColumns:
    """What the rows of a launch's tracks have in the tables, each made when it is first asked for."""

    def __init__(self, source: Source, roles: Mapping[int, str]) -> None:
        self._source = source
        self._made: dict[str, NDArray[Any]] = {}
        self._roles = Texts()
        numbers = {unit: self._roles.number_of(name) for unit, name in roles.items()}
        units = range(source.spec.tracks_per_block)
        self._number_of_unit = np.array([numbers.get(unit, -1) for unit in units], np.int32)

    def values(self, name: str) -> NDArray[Any]:
        """``(n_tracks,)``: a column of numbers."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def role(self, track: NDArray[Any]) -> Any:
        """``(n,)`` tracks' roles as a column of pyarrow; null where a unit has none."""
        numbers = self._number_of_unit[self.values("unit")[track]]
        return self._roles.column(numbers, numbers < 0)

    def _make(self, name: str) -> NDArray[Any]:
        tracks, (_, gy, gz) = self._source.tracks, self._source.spec.grid
        if name == "sm":
            return tracks.sm.astype(np.int64)
        if name == "lost_tail":
            lost: NDArray[Any] = tracks.flags & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL) != 0
            return lost
        if name == "unit":
            return tracks.unit.astype(np.int32)
        block = tracks.block
        parts = {"block": block, "block_x": block // (gy * gz), "block_y": block // gz % gy}
        parts["block_z"] = block % gz
        values: NDArray[Any] = parts[name].astype(np.int32)
        return values


def batches(columns: SliceColumns, runs: Iterator[Slices], schema: Any, rows: int) -> Iterator[Sequence[Any]]:
    """The runs as record batches, in lists of about ``rows`` rows."""
    gathered: list[Any] = []
    n = 0
    for run in runs:
        for first in range(0, len(run), rows):
            part = run if len(run) <= rows else run.where(slice(first, first + rows))
            gathered.append(columns.batch(part, schema))
            n += len(part)
            if n >= rows:
                yield gathered
                gathered, n = [], 0
    if gathered:
        yield gathered
