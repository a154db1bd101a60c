"""The tree of tracks: device, kernel launch, group, and a line.

All of them are plain tracks with a parent: below the tracks of processes and threads nothing nests
on the screen. They are ordered by rank, and tracks of one name stay apart. Descriptors are made with
the classes of the package ``perfetto``, which is imported here and only when a trace is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb  # type: ignore[import-untyped]

from mgpu_trace.export.jsontext import is_altered
from mgpu_trace.export.perfetto_options import Counters
from mgpu_trace.export.perfetto_rows import SEQUENCE, Words
from mgpu_trace.export.picture import Picture, device_name, launch_name, line_label
from mgpu_trace.model import I32, I64, Tracks, distinct
from mgpu_trace.spec import TraceSpec

# Rooms of ids: a launch's own tracks, its groups, its lines, further lines, counters, SMs of counters.
_GROUPS: Final = 1 << 33
_LINES: Final = 2 << 33
_MORE_LINES: Final = 3 << 33
_COUNTERS: Final = 4 << 33
_COUNTER_SMS: Final = 5 << 33
# Ranks of lines leave room for this many of one line.
_PER_LINE: Final = 16
# After the summary and counters.
_FIRST_RANK: Final = 3
_MAX_RANK: Final = (1 << 31) - 1
DEVICE: Final = -1  # in place of an SM
_MAX_ID: Final = 1 << 62


class Tree:
    """Ids and descriptors of a launch's tracks.

    Parameters
    ----------
    picture
        The launch's lines.
    tracks
        Its tracks.
    counters
        Which counters there are.

    Attributes
    ----------
    launch_uuid
        Id of the launch's own track.
    """

    def __init__(self, picture: Picture, tracks: Tracks, counters: Counters) -> None:
        self.picture = picture
        self.spec = picture.spec
        self.counters = counters
        self.launch_uuid = _launch_id(picture.spec, tracks)
        self._sms: I64 = distinct(tracks.sm[picture.shown].astype(np.int64))
        self._more: dict[tuple[int, int, int], int] = {}
        self._n_more: dict[int, int] = {}

    def descriptors(self) -> Iterator[Any]:
        """The tracks of the launch, its groups and lines, parents first."""
        spec, picture = self.spec, self.picture
        device_uuid = _id_of("device", spec.device, spec.device_id, spec.process)
        yield descriptor(device_uuid, 0, device_name(spec), spec.device_id or 0)
        yield descriptor(self.launch_uuid, device_uuid, launch_name(spec), spec.launch or 0)
        yield descriptor(self.summary_uuid, self.launch_uuid, "summary", 0)
        if self.counters != "none":
            yield from self._counters(DEVICE, self.launch_uuid)
        rank = _FIRST_RANK
        if self.counters == "sm":
            # Where groups are SMs, their counters are in them; else beside them, in tracks of their own.
            for sm in self._sms.tolist() if picture.how.group_by != "sm" else ():
                yield descriptor(self._counter_parent(sm), self.launch_uuid, f"SM {sm}", rank)
                rank += 1
        for place, group in enumerate(picture.groups.tolist()):
            name = picture.group_name(group)
            yield descriptor(self.group_uuid(group), self.launch_uuid, name, rank + place)
        if self.counters == "sm":
            for sm in self._sms.tolist():
                yield from self._counters(sm, self._counter_parent(sm))
        for line in range(len(picture.group)):
            yield self._line(line, self.launch_uuid + _LINES + line, 0, "")

    @property
    def summary_uuid(self) -> int:
        return self.launch_uuid + 1

    def group_uuid(self, group: int) -> int:
        return self.launch_uuid + _GROUPS + group

    def line_uuid(self, track: int) -> int:
        """The id of a track's first line."""
        return self.launch_uuid + _LINES + int(self.picture.line[track])

    def line_uuids(self, tracks: I64 | I32) -> I64:
        """The same for many."""
        return self.picture.line[tracks] + (self.launch_uuid + _LINES)

    def counter_uuid(self, which: int, sm: int) -> int:
        """The id of the counter of blocks (0) or of units (1), of an SM or of the :data:`DEVICE`."""
        return self.launch_uuid + _COUNTERS + 2 * (sm - DEVICE) + which

    def _counter_parent(self, sm: int) -> int:
        if self.picture.how.group_by == "sm":
            return self.group_uuid(sm)
        return self.launch_uuid + _COUNTER_SMS + sm

    def _counters(self, sm: int, parent: int) -> Iterator[Any]:
        for which, name in enumerate(("resident blocks", f"active {self.spec.scope.label}s")):
            packet = descriptor(self.counter_uuid(which, sm), parent, name, which + 1)
            packet.track_descriptor.counter.SetInParent()
            yield packet

    def further_uuids(self, track: I32, lane: I32, floor: I64) -> tuple[Words, list[Any]]:
        """Ids of lines ``(n,)``, further ones among them, and descriptors of those that are new."""
        uuid = self.line_uuids(track)
        line = self.picture.line[track]
        new: list[Any] = []
        for row in np.flatnonzero((lane > 0) | (floor > 0)).tolist():
            key = (int(line[row]), int(lane[row]), int(floor[row]))
            uuid[row] = self._uuid_of_more(key, new)
        return uuid.astype(np.uint64), new

    def _uuid_of_more(self, key: tuple[int, int, int], new: list[Any]) -> int:
        """The id of a further line: of crossing regions, or a floor of deep ones."""
        if key not in self._more:
            line, lane, floor = key
            self._more[key] = self.launch_uuid + _MORE_LINES + len(self._more)
            place = self._n_more[line] = self._n_more.get(line, 0) + 1
            new.append(self._line(line, self._more[key], place, line_label(lane, floor)))
        return self._more[key]

    def _line(self, line: int, uuid: int, place: int, label: str) -> Any:
        picture = self.picture
        rank = _FIRST_RANK + int(picture.rank[line]) * _PER_LINE + min(place, _PER_LINE - 1)
        parent = self.group_uuid(int(picture.group[line]))
        return descriptor(uuid, parent, picture.line_name(line) + label, rank)


def new_packet(**fields: Any) -> Any:
    """A packet of the file's one sequence."""
    return pb.TracePacket(trusted_packet_sequence_id=SEQUENCE, **fields)


def descriptor(uuid: int, parent: int, name: str, rank: int) -> Any:
    """The packet of a plain track; parent 0 is none."""
    packet = new_packet()
    track = packet.track_descriptor
    track.uuid = uuid
    if parent:
        track.parent_uuid = parent
    track.name = shown_text(name)
    track.child_ordering = pb.TrackDescriptor.EXPLICIT
    track.sibling_order_rank = min(rank, _MAX_RANK)
    track.sibling_merge_behavior = pb.TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
    return packet


def shown_text(text: str) -> str:
    """What can be written of a text: lone surrogates become U+FFFD, and so do NULs, where the viewer cuts."""
    if "\0" not in text and not is_altered(text):
        return text
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" or c == "\0" else c for c in text)


def _id_of(*parts: Any) -> int:
    """An id from what is known, the same in every file: 62 bits, and room below 2**63 for more."""
    text = json.dumps(parts).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") % _MAX_ID + 1


def _launch_id(spec: TraceSpec, tracks: Tracks) -> int:
    """Launches whose files are put together keep apart: no two start at the same times."""
    digest = hashlib.blake2b(tracks.start_ns.tobytes(), digest_size=16)
    digest.update(tracks.first_clock.tobytes())
    return _id_of("launch", spec.to_dict(), digest.hexdigest())
