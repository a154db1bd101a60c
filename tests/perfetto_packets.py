"""Reads a TrackEvent trace as a viewer does, slowly: packets by time, a stack for each track."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

Event = pb.TrackEvent
BLOCK, LOSS = ("category", "block"), ("category", "loss")


class Drawn(NamedTuple):
    """A slice; ``path`` are the names of its tracks, from the root. A category is among the arguments."""

    path: tuple[str, ...]
    ts: int
    dur: int
    depth: int
    name: str
    args: tuple[tuple[str, Any], ...]


@dataclass
class Read:
    """What a trace holds: descriptors by uuid, slices, counters by path, packets in their order."""

    tracks: dict[int, Any] = field(default_factory=dict)
    drawn: list[Drawn] = field(default_factory=list)
    counters: dict[tuple[str, ...], list[tuple[int, int]]] = field(default_factory=dict)
    packets: list[Any] = field(default_factory=list)

    @property
    def slices(self) -> list[Drawn]:
        """What was drawn on lines of units, without marks."""
        return [d for d in self.drawn if len(d.path) == 4 and LOSS not in d.args]

    @property
    def marks(self) -> list[Drawn]:
        """Marks on lines of units."""
        return [d for d in self.drawn if len(d.path) == 4 and LOSS in d.args]

    def path(self, uuid: int) -> tuple[str, ...]:
        """Names of a track and those above it."""
        track = self.tracks[uuid]
        above = self.path(track.parent_uuid) if track.HasField("parent_uuid") else ()
        return (*above, track.name)

    def children(self, uuid: int | None) -> list[int]:
        """Tracks below one (None: those without a parent), in the order of their ranks."""
        below = [
            t for t in self.tracks.values() if (t.parent_uuid if t.HasField("parent_uuid") else None) == uuid
        ]
        return [t.uuid for t in sorted(below, key=lambda t: t.sibling_order_rank)]

    def lines(self, uuid: int | None = None) -> list[tuple[str, ...]]:
        """Paths of all tracks from the top of the picture to its end."""
        return [path for child in self.children(uuid) for path in (self.path(child), *self.lines(child))]


def read(data: bytes) -> Read:
    """Everything in a trace; an assertion fails where a viewer would lose something."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    found = Read(packets=list(pb.Trace.FromString(data).packet))
    events = []
    defaults: Any = None
    names: dict[str, dict[int, Any]] = {}
    cleared = False
    for packet in found.packets:
        assert packet.trusted_packet_sequence_id == 1
        assert not len(UnknownFieldSet(packet))
        assert not len(UnknownFieldSet(packet.track_event))
        if packet.sequence_flags & 1:
            names, cleared = {}, True
        if packet.sequence_flags & 2:
            assert cleared
        for kind, entries in packet.interned_data.ListFields():
            known = names.setdefault(kind.name, {})
            for entry in entries:
                assert known.setdefault(entry.iid, entry) == entry
        if packet.HasField("trace_packet_defaults"):
            defaults = packet.trace_packet_defaults
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in found.tracks
            assert not track.HasField("parent_uuid") or track.parent_uuid in found.tracks
            found.tracks[track.uuid] = track
        if packet.HasField("track_event"):
            events.append((packet.timestamp, _resolved(packet.track_event, defaults, names)))
    _replay(found, sorted(events, key=lambda e: e[0]))
    return found


def _resolved(event: Any, defaults: Any, names: dict[str, dict[int, Any]]) -> tuple[Any, ...]:
    """Kind, track, name, arguments and value of an event."""
    uuid = event.track_uuid if event.HasField("track_uuid") else defaults.track_event_defaults.track_uuid
    name = names["event_names"][event.name_iid].name if event.name_iid else event.name
    args = dict(pair for one in event.debug_annotations for pair in _flat(one, "", names))
    categories = [names["event_categories"][iid].name for iid in event.category_iids]
    if categories or event.categories:
        (args["category"],) = (*categories, *event.categories)
    return event.type, uuid, name, tuple(sorted(args.items())), event.counter_value


def _flat(annotation: Any, above: str, names: dict[str, dict[int, Any]]) -> Iterator[tuple[str, Any]]:
    """Keys and values of an annotation, as the engine calls those inside others."""
    key = above + annotation.name
    if annotation.name_iid:
        key = above + names["debug_annotation_names"][annotation.name_iid].name
    for inner in annotation.dict_entries:
        yield from _flat(inner, f"{key}.", names)
    for i, inner in enumerate(annotation.array_values):
        assert not inner.name
        yield from _flat(inner, f"{key}[{i}]", names)
    if annotation.HasField("string_value_iid"):
        yield key, names["debug_annotation_string_values"][annotation.string_value_iid].str.decode()
    elif annotation.WhichOneof("value"):
        yield key, getattr(annotation, annotation.WhichOneof("value"))


def _replay(found: Read, events: list[tuple[int, tuple[Any, ...]]]) -> None:
    stacks: dict[int, list[Any]] = {}
    for ts, (kind, uuid, name, args, value) in events:
        stack = stacks.setdefault(uuid, [])
        path = found.path(uuid)
        if kind == Event.TYPE_SLICE_BEGIN:
            stack.append((ts, name, args))
        elif kind == Event.TYPE_SLICE_END:
            begun, of, had = stack.pop()
            assert not name or name == of
            found.drawn.append(Drawn(path, begun, ts - begun, len(stack), of, had))
        else:
            assert kind == Event.TYPE_COUNTER
            found.counters.setdefault(path, []).append((ts, value))
    assert not any(stacks.values())
