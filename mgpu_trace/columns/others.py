"""The tracks, the launch and its names as tables: what a query has beside the slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgpu_trace.columns import EXTRA, Source
from mgpu_trace.columns.fields import LAUNCH, NAMES, TRACKS, schema_of
from mgpu_trace.columns.regions import as_text
from mgpu_trace.columns.slices import TrackColumns
from mgpu_trace.diagnostics import Report, Severity
from mgpu_trace.extras import needs
from mgpu_trace.model import I64, Slices, TrackFlag

_FLAGS = ("overfull", "overwritten", "broken", "full", "truncated", "unreadable")
_OF_SPEC = (
    *("kernel", "device", "jax_version", "process", "device_id", "launch", "host_time_ns"),
    *("words_per_track", "n_blocks", "tracks_per_block"),
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """One launch, read to its end.

    Attributes
    ----------
    source
        The Launch or Timeline itself.
    slices
        All of its slices that are selected.
    report
        Every finding.
    origin_cyc
        ``(n_tracks,)`` when each track's first event was, since the launch's first.
    """

    source: Source
    slices: Slices
    report: Report
    origin_cyc: I64


def tracks_table(launch: Decoded, roles: Mapping[int, str]) -> Any:
    """The selected tracks, one row each."""
    pa = needs("pyarrow", EXTRA, "a table")
    source, tracks, of_track = launch.source, launch.source.tracks, TrackColumns(launch.source, roles)
    kept = np.flatnonzero(source.kept_tracks)
    unknown = ~tracks.has_events[kept]
    columns = {name: of_track.values(name)[kept] for name in ("block", "unit", "sm")}
    columns |= {f"block_{axis}": of_track.values(f"block_{axis}")[kept] for axis in "xyz"}
    columns["track"] = kept.astype(np.int32)
    columns |= {name: getattr(tracks, name)[kept].astype(np.int64) for name in ("start_ns", "n_events")}
    columns["n_skipped"] = tracks.n_skipped[kept].astype(np.int64)
    columns["n_slices"] = np.bincount(launch.slices.track, minlength=len(tracks))[kept]
    columns |= {flag: tracks.flags[kept] & getattr(TrackFlag, flag.upper()) != 0 for flag in _FLAGS}
    first_ns = source.clock.to_ns(columns["track"], np.zeros(len(kept), np.int64))
    no_rate = np.full(len(kept), source.clock.rate_mhz is None)
    arrays = {name: pa.array(values) for name, values in columns.items()}
    arrays["role"] = of_track.role(kept)
    arrays["first_ns"] = pa.array(first_ns, mask=unknown | no_rate)
    arrays["origin_cyc"] = pa.array(launch.origin_cyc[kept], mask=unknown)
    schema = schema_of(TRACKS)
    return pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)


def launch_table(launch: Decoded) -> Any:
    """The launch: one row."""
    spec, clock, slices = launch.source.spec, launch.source.clock, launch.slices
    row: dict[str, Any] = {name: getattr(spec, name) for name in _OF_SPEC}
    row |= {f"grid_{axis}": n for axis, n in zip("xyz", spec.grid, strict=True)}
    row |= {f"threads_{axis}": n for axis, n in zip("xyz", spec.block, strict=True)}
    row |= {"scope": spec.scope.label, "n_tracks": spec.n_tracks, "n_slices": len(slices)}
    row["n_lost_events"] = launch.source.more_facts().get("n_lost_events")
    row["n_errors"] = sum(d.severity is Severity.ERROR for d in launch.report)
    row["n_warnings"] = sum(d.severity is Severity.WARNING for d in launch.report)
    row |= {"sm_clock_mhz": clock.rate_mhz, "sm_clock_source": clock.rate_source}
    row |= {"sm_clock_uncertainty_ppm": clock.rate_uncertainty_ppm, "globaltimer_step_ns": clock.step_ns}
    row |= {"sm_alignment_ns": clock.alignment_ns, "overhead_cyc": clock.overhead_cyc}
    row["duration_ns"] = None
    if clock.rate_mhz is not None:
        row["duration_ns"] = _duration_ns(launch)
    return _of_rows(LAUNCH, [row])


def _duration_ns(launch: Decoded) -> int:
    """The end of the last slice: each track's last one is enough, in the order of its cycles."""
    slices = launch.slices
    if not len(slices):
        return 0
    first = np.flatnonzero(np.diff(slices.track, prepend=-1))
    ends_cyc = np.maximum.reduceat(slices.start_cyc + slices.dur_cyc, first)
    return int(launch.source.clock.to_ns(slices.track[first], ends_cyc).max())


def names_table(launch: Decoded) -> Any:
    """The names that the launch is said to have, and those that occur."""
    spec = launch.source.spec
    counts = np.bincount(launch.slices.name, minlength=len(spec.names or ()))
    known = np.arange(len(counts)) < len(spec.names or ())
    ids = np.flatnonzero(known | (counts > 0)).tolist()
    rows = [{"name_id": i, "region": as_text(spec.name_of(i)), "n_slices": int(counts[i])} for i in ids]
    return _of_rows(NAMES, rows)


def _of_rows(fields: Sequence[Any], rows: Sequence[Mapping[str, Any]]) -> Any:
    pa = needs("pyarrow", EXTRA, "a table")
    cleaned = [{k: as_text(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]
    return pa.Table.from_pylist(cleaned, schema=schema_of(fields))
