"""What a trace says about its launch: a track of its own at the top, and marks where events were lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb  # type: ignore[import-untyped]

from mgpu_trace.diagnostics import Diagnostic
from mgpu_trace.export import Source
from mgpu_trace.export.perfetto_options import Zero
from mgpu_trace.export.perfetto_rows import MAX_TIME_NS
from mgpu_trace.export.perfetto_tree import Tree, new_packet, shown_text
from mgpu_trace.export.picture import launch_name
from mgpu_trace.export.presence import Presence
from mgpu_trace.model import I64, TrackFlag

LOST: Final = "events lost here"
ALL_LOST: Final = "all events lost"
OVERWRITTEN: Final = "events overwritten before here"
_DEPENDS: Final = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE


class Marks:
    """Marks on the lines of tracks that lost events.

    Parameters
    ----------
    source, tree, presence
        The launch, its lines, and its tracks' first and last events.
    zero
        What times count from.
    """

    def __init__(self, source: Source, tree: Tree, presence: Presence, zero: Zero) -> None:
        self._source = source
        self._tree = tree
        self._presence = presence
        self._zero = zero

    def overwritten(self) -> Iterator[Any]:
        """Marks of those whose first events were overwritten, at what is left; and of those with nothing."""
        tracks, shown, presence = self._source.tracks, self._tree.picture.shown, self._presence
        nothing = shown & ~presence.active
        rows = np.flatnonzero(nothing)
        for track, ns in self._in_window(rows, presence.stay_begin[presence.stay[rows]]):
            yield from self._mark(track, ns, ALL_LOST, {"n_events": int(tracks.n_events[track])})
        victims = shown & presence.active & (tracks.flags & TrackFlag.OVERWRITTEN != 0)
        rows = np.flatnonzero(victims)
        for track, ns in self._in_window(rows, presence.begin[rows]):
            yield from self._mark(track, ns, OVERWRITTEN, {"n_events": int(tracks.n_skipped[track])})

    def lost(self) -> Iterator[Any]:
        """Marks of those that lost their tail, at their last event; complete when the runs were read."""
        presence = self._presence
        lossy = self._source.tracks.flags & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL) != 0
        lossy &= self._tree.picture.shown & presence.active
        rows = np.flatnonzero(lossy)
        for track, ns in self._in_window(rows, presence.end[rows]):
            yield from self._mark(track, ns, LOST, {})

    def _in_window(self, tracks: I64, ns: I64) -> Iterator[tuple[int, int]]:
        """Those of the marks that are in what is selected, and can be written."""
        keep = self._source.touches(ns, ns) & (ns <= MAX_TIME_NS - self._zero.ns)
        return zip(tracks[keep].tolist(), ns[keep].tolist(), strict=True)

    def _mark(self, track: int, ns: int, name: str, args: Mapping[str, Any]) -> Iterator[Any]:
        """A slice of no length, drawn as an instant is: of two instants at one time one lies in the other."""
        uuid = self._tree.line_uuid(track)
        yield event(uuid, self._zero, ns, name, pb.TrackEvent.TYPE_SLICE_BEGIN, args)
        yield event(uuid, self._zero, ns, "", pb.TrackEvent.TYPE_SLICE_END, {})


def event(uuid: int, zero: Zero, ns: int, name: str, kind: int, args: Mapping[str, Any]) -> Any:
    """The packet of an event with a name and arguments of its own."""
    packet = new_packet(timestamp=zero.ns + ns, timestamp_clock_id=zero.clock, sequence_flags=_DEPENDS)
    packet.track_event.type = kind
    packet.track_event.track_uuid = uuid
    if name:
        packet.track_event.name = shown_text(name)
    for key, value in args.items():
        _annotate(packet.track_event.debug_annotations, key, value)
    return packet


def _annotate(annotations: Any, name: str, value: Any) -> None:
    """Add a JSON-ready value; what is not known or empty is left out."""
    if value is None or value in ({}, [], (), ""):
        return
    one = annotations.add()
    if name:
        one.name = shown_text(name)
    if isinstance(value, bool):
        one.bool_value = value
    elif isinstance(value, int) and abs(value) < 2**63:
        one.int_value = value
    elif isinstance(value, float):
        one.double_value = value
    elif isinstance(value, str):
        one.string_value = shown_text(value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _annotate(one.dict_entries, str(key), inner)
    elif isinstance(value, int):
        one.string_value = str(value)
    else:
        for inner in value:
            _annotate(one.array_values, "", "none" if inner is None else inner)


def summary(
    source: Source, found: Sequence[Diagnostic], tree: Tree, presence: Presence, zero: Zero
) -> Iterator[Any]:
    """The launch as one slice that carries what is known of it, and below it a slice for each finding.

    Parameters
    ----------
    source
        The launch, its runs read to their end.
    found
        What the writer could not write as it is.
    tree, presence, zero
        The launch's tracks, their first and last events, and what times count from.
    """
    begin, end = (min(ns, MAX_TIME_NS - zero.ns) for ns in presence.span())
    slices: list[tuple[str, Mapping[str, Any]]] = [(launch_name(source.spec), _facts(source, tree, zero))]
    slices += [(f"{d.code.id} {d.code.slug}", d.to_dict()) for d in (*source.report, *found)]
    for name, args in slices:
        yield event(tree.summary_uuid, zero, begin, name, pb.TrackEvent.TYPE_SLICE_BEGIN, args)
    for _ in slices:
        yield event(tree.summary_uuid, zero, end, "", pb.TrackEvent.TYPE_SLICE_END, {})


def _facts(source: Source, tree: Tree, zero: Zero) -> dict[str, Any]:
    # Names are those of the slices, and may be long.
    spec = {key: value for key, value in source.spec.to_dict().items() if key != "names"}
    return {
        "tool": "mgpu-trace",
        "spec": spec,
        "clock": source.clock.to_dict(),
        "zero": zero.what,
        "zero_ns": zero.ns,
        "n_tracks": len(source.tracks),
        "picture": tree.picture.to_dict(),
        **source.more_facts(),
    }
