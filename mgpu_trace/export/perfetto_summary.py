"""What a trace says about its launch: a track of its own at the top, and marks where events were lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb  # type: ignore[import-untyped]

from mgpu_trace.diagnostics import Diagnostic
from mgpu_trace.export import Source
from mgpu_trace.export.marks import CATEGORY, LOST, marks
from mgpu_trace.export.perfetto_options import Zero
from mgpu_trace.export.perfetto_rows import MAX_TIME_NS
from mgpu_trace.export.perfetto_tree import Tree, new_packet, shown_text
from mgpu_trace.export.picture import launch_name

_DEPENDS: Final = pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE


def mark_packets(source: Source, tree: Tree, zero: Zero, *, before: bool) -> Iterator[Any]:
    """Marks on the lines of tracks that lost events; what could not be written as a time has none.

    Parameters
    ----------
    source, tree, zero
        The launch, its lines, and what times count from.
    before
        Whether to give those that belong before the regions, or the others.
    """
    begin, end = pb.TrackEvent.TYPE_SLICE_BEGIN, pb.TrackEvent.TYPE_SLICE_END
    for mark in marks(source, tree.picture):
        if (mark.name != LOST) == before and mark.ns <= MAX_TIME_NS - zero.ns:
            # A slice of no length, drawn as an instant is: of two instants at one time one lies in the other.
            uuid = tree.line_uuid(mark.track)
            packet = event(uuid, zero, mark.ns, mark.name, begin, mark.args)
            packet.track_event.categories.append(CATEGORY)
            yield packet
            yield event(uuid, zero, mark.ns, "", end, {})


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


def summary(source: Source, found: Sequence[Diagnostic], tree: Tree, zero: Zero) -> Iterator[Any]:
    """The launch as one slice that carries what is known of it, and below it a slice for each finding.

    Parameters
    ----------
    source
        The launch, its runs read to their end.
    found
        What the writer could not write as it is.
    tree, zero
        The launch's tracks, and what times count from.
    """
    begin, end = (min(ns, MAX_TIME_NS - zero.ns) for ns in tree.picture.presence.span())
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
