"""The launch itself: what it was, how its clocks are read, what was lost and what was assumed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from mgpu_trace.analyse.source import Source
from mgpu_trace.analyse.units import TimeUnit
from mgpu_trace.diagnostics.clip import clipped, counted
from mgpu_trace.model import TrackFlag
from mgpu_trace.report.markup import Markup, Part, rows_of, tag
from mgpu_trace.report.plots import duration
from mgpu_trace.spec import by

if TYPE_CHECKING:
    from mgpu_trace.clock import ClockModel

_FLAGS: Final = {
    "overfull": TrackFlag.OVERFULL,
    "overwritten": TrackFlag.OVERWRITTEN,
    "broken": TrackFlag.BROKEN,
    "full": TrackFlag.FULL,
    "truncated": TrackFlag.TRUNCATED,
}
# Of what the spec holds besides the shape: name in the spec, and what a person calls it.
_TOLD: Final = {
    "kernel": "kernel",
    "device": "device",
    "device_id": "device id",
    "n_sms": "SMs of the device",
    "process": "process",
    "partition": "partition",
    "launch": "launch",
    "jax_version": "JAX",
    "jaxlib_version": "jaxlib",
}
_LAST_YEAR_NS: Final = 253_402_300_800 * 10**9  # the year 10000


class Reported(Source, Protocol):
    """What a page is made of: a Timeline, or a Launch."""

    def more_facts(self) -> dict[str, Any]: ...


def name_of(source: Reported) -> str:
    """What a person calls the launch: its kernel, or its file."""
    return clipped(source.spec.kernel or str(source.more_facts().get("source") or "a launch"))


def facts_list(source: Reported, stats: Mapping[str, Any] | None, unit: TimeUnit) -> Markup:
    """Everything about one launch that is not a statistic.

    Parameters
    ----------
    stats
        The facts of its statistics; None where none were made.
    """
    spec, tracks, more = source.spec, source.tracks, source.more_facts()
    rows: list[tuple[str, Part]] = [("file", str(more["source"]))] if more.get("source") else []
    rows += [(said, str(getattr(spec, key))) for key, said in _TOLD.items() if getattr(spec, key) is not None]
    if spec.host_time_ns is not None:
        rows.append(("over at", _host_time(spec.host_time_ns)))
    events = tracks.n_events
    sms = np.unique(tracks.sm[tracks.has_events])
    units = counted(spec.tracks_per_block, spec.scope.label)
    rows += [
        ("grid", f"{by(spec.grid)}: {counted(spec.n_blocks, 'block')}"),
        ("block", f"{by(spec.block)} threads: {units}"),
        ("track", f"{spec.words_per_track} words: room for {counted(spec.capacity_events, 'event')}"),
        ("tracks", f"{len(tracks)}, {np.count_nonzero(tracks.has_events)} with events"),
        ("SMs", f"{len(sms)} with events"),
        ("events", f"{events.min()} to {events.max()} a track, {np.median(events):g} in the median"),
        ("clock", clock_said(source.clock)),
        ("losses", _losses(source, more)),
    ]
    if stats is not None:
        rows.append(("duration", duration(stats[f"launch_{unit.suffix}"], unit.suffix)))
    rows += [("selected", _selected(more["selection"]))] if "selection" in more else []
    rows += [("assumed", sentence) for sentence in assumed(source)]
    return rows_of(rows)


def clock_said(clock: ClockModel) -> str:
    """The clock model in a sentence; answers are in cycles where it has no rate."""
    said = clock.describe()
    if clock.rate_mhz is not None:
        return said
    return "; ".join(["SM clock rate unknown: times are in cycles", *said.split("; ")[1:]])


def assumed(source: Reported) -> list[str]:
    """Everything that was not told and had to be taken for granted."""
    found = list(source.spec.assumed)
    if source.clock.rate_source == "nominal":
        found.append("the SM clock is the device's published one, not one that was measured")
    if source.clock.rate_source == "data":
        found.append("the SM clock's rate is estimated from the launch's own start times")
    return found


def tiles(source: Reported, stats: Mapping[str, Any], unit: TimeUnit) -> Markup:
    """The few numbers at the top."""
    of = stats[f"tracks_{unit.suffix}"]
    inside = f"{100 * stats[f'in_regions_{unit.suffix}'] / of:.1f}%" if of else "–"  # noqa: RUF001
    shown = {
        "duration": duration(stats[f"launch_{unit.suffix}"], unit.suffix),
        "in regions": inside,
        "slices": f"{stats['n_slices']:,}",
        "tracks": f"{stats['n_tracks']:,}",
        "blocks": f"{source.spec.n_blocks:,}",
        "SMs": f"{len(np.unique(source.tracks.sm[source.tracks.has_events])):,}",
    }
    return tag(
        "div", *(tag("div", tag("b", what), tag("span", key)) for key, what in shown.items()), class_="tiles"
    )


def _losses(source: Reported, more: Mapping[str, Any]) -> str:
    flags = {name: int(np.count_nonzero(source.tracks.flags & flag)) for name, flag in _FLAGS.items()}
    spoilt = ", ".join(f"{n} {name}" for name, n in flags.items() if n)
    tracks = f"tracks: {spoilt}" if spoilt else "no track is full, overfull or broken"
    lost = more.get("n_lost_events")
    return tracks if lost is None else f"{counted(lost, 'event')} dropped; {tracks}"


def _selected(selection: Mapping[str, Any]) -> str:
    return "only a part: " + "; ".join(f"{key} {value}" for key, value in selection.items())


def _host_time(ns: int) -> str:
    if not 0 <= ns < _LAST_YEAR_NS:
        return f"{ns} ns since 1970"
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
