"""The tree of tracks: device, kernel launch, SM, and a line for each unit of a block.

All of them are plain tracks with a parent: below the tracks of processes and threads nothing nests
on the screen. They are ordered by rank, and tracks of one name stay apart. Descriptors are made with
the classes of the package ``perfetto``, which is imported here and only when a trace is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb  # type: ignore[import-untyped]

from mgpu_trace.export.jsontext import is_altered
from mgpu_trace.export.perfetto_options import Counters
from mgpu_trace.export.perfetto_rows import SEQUENCE, Words
from mgpu_trace.model import I32, I64, Bool, TrackFlag, Tracks, distinct
from mgpu_trace.spec import TraceSpec

# Rooms of ids: a launch's own tracks, its SMs, its lines, and lines of tracks with several.
_SMS: Final = 1 << 33
_LINES: Final = 2 << 33
_MORE_LINES: Final = 3 << 33
_COUNTERS: Final = 4 << 33
# Ranks of lines leave room for this many of one track.
_LINES_PER_TRACK: Final = 16
# After the summary and counters.
_FIRST_RANK: Final = 3
_MAX_RANK: Final = (1 << 31) - 1
DEVICE: Final = -1  # in place of an SM
_MAX_ID: Final = 1 << 62


class Tree:
    """Ids and descriptors of a launch's tracks.

    Parameters
    ----------
    spec, tracks
        The launch.
    keep
        ``(n_tracks,)`` which tracks are wanted; those without events are left out as well.
    roles
        Names for units, such as ``{0: "tma"}``.
    counters
        Which counters there are.

    Attributes
    ----------
    shown
        ``(n_tracks,)`` which tracks have a line.
    launch_uuid
        Id of the launch's own track.
    sms
        SMs with a track, ascending.
    """

    def __init__(
        self, spec: TraceSpec, tracks: Tracks, keep: Bool, roles: Mapping[int, str], counters: Counters
    ) -> None:
        self.spec = spec
        self.tracks = tracks
        self.roles = roles
        self.counters = counters
        self.shown: Bool = keep & tracks.has_events & (tracks.flags & TrackFlag.UNREADABLE == 0)
        self.sms: I64 = distinct(tracks.sm[self.shown].astype(np.int64))
        self.launch_uuid = _launch_id(spec, tracks)
        self._rank = _rank_on_sm(tracks, self.shown)
        self._lead: I64 = np.arange(len(tracks))
        self._lane: I64 | None = None
        self._more: dict[tuple[int, int, int], int] = {}
        self._n_more: dict[int, int] = {}

    def pack(self, lane: I64, lead: I64, active: Bool) -> None:
        """Put the active tracks with one ``lead`` on one line, named after their lane."""
        self._lane, self._lead = lane, lead
        self.shown = self.shown & active
        self.sms = distinct(self.tracks.sm[self.shown].astype(np.int64))
        self._rank = lane * self.spec.tracks_per_block + self.tracks.unit

    def descriptors(self) -> Iterator[Any]:
        """The tracks of every launch, SM and unit that has events, parents first."""
        spec = self.spec
        device_uuid = _id_of("device", spec.device, spec.device_id, spec.process)
        yield descriptor(device_uuid, 0, device_name(spec), spec.device_id or 0)
        yield descriptor(self.launch_uuid, device_uuid, launch_name(spec), spec.launch or 0)
        yield descriptor(self.summary_uuid, self.launch_uuid, "summary", 0)
        if self.counters != "none":
            yield from self._counters(DEVICE, self.launch_uuid)
        for rank, sm in enumerate(self.sms.tolist()):
            yield descriptor(self.sm_uuid(sm), self.launch_uuid, f"SM {sm}", rank + _FIRST_RANK)
            if self.counters == "sm":
                yield from self._counters(sm, self.sm_uuid(sm))
        leads = self.shown & (self._lead == np.arange(len(self.tracks)))
        for track in np.flatnonzero(leads).tolist():
            yield self._line(track, self.line_uuid(track), 0, "")

    @property
    def summary_uuid(self) -> int:
        return self.launch_uuid + 1

    def sm_uuid(self, sm: int) -> int:
        return self.launch_uuid + _SMS + sm

    def line_uuid(self, track: int) -> int:
        """The id of a track's first line."""
        return self.launch_uuid + _LINES + int(self._lead[track])

    def counter_uuid(self, which: int, sm: int) -> int:
        """The id of the counter of blocks (0) or of units (1), of an SM or of the :data:`DEVICE`."""
        return self.launch_uuid + _COUNTERS + 2 * (sm - DEVICE) + which

    def _counters(self, sm: int, parent: int) -> Iterator[Any]:
        for which, name in enumerate(("resident blocks", f"active {self.spec.scope.label}s")):
            packet = descriptor(self.counter_uuid(which, sm), parent, name, which + 1)
            packet.track_descriptor.counter.SetInParent()
            yield packet

    def line_uuids(self, track: I32, lane: I32, floor: I64) -> tuple[Words, list[Any]]:
        """Ids of lines ``(n,)``, and descriptors of those that are new."""
        lead = self._lead[track]
        uuid = lead + (self.launch_uuid + _LINES)
        new: list[Any] = []
        for row in np.flatnonzero((lane > 0) | (floor > 0)).tolist():
            key = (int(lead[row]), int(lane[row]), int(floor[row]))
            uuid[row] = self._uuid_of_more(key, new)
        return uuid.astype(np.uint64), new

    def _uuid_of_more(self, key: tuple[int, int, int], new: list[Any]) -> int:
        """The id of a further line of a track: a lane of crossing regions, or a floor of deep ones."""
        if key not in self._more:
            track, lane, floor = key
            self._more[key] = self.launch_uuid + _MORE_LINES + len(self._more)
            line = self._n_more[track] = self._n_more.get(track, 0) + 1
            label = (f" · overlap {lane + 1}" if lane else "") + (f" · deep {floor + 1}" if floor else "")
            new.append(self._line(track, self._more[key], line, label))
        return self._more[key]

    def _line(self, track: int, uuid: int, line: int, label: str) -> Any:
        block, unit = divmod(track, self.spec.tracks_per_block)
        where = block_name(self.spec, block) if self._lane is None else f"lane {self._lane[track] + 1}"
        name = f"{where} · {self._unit_name(unit)}{label}"
        rank = _FIRST_RANK + int(self._rank[track]) * _LINES_PER_TRACK + min(line, _LINES_PER_TRACK - 1)
        return descriptor(uuid, self.sm_uuid(int(self.tracks.sm[track])), name, rank)

    def _unit_name(self, unit: int) -> str:
        return self.roles.get(unit) or f"{self.spec.scope.label} {unit}"


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


def block_name(spec: TraceSpec, block: int) -> str:
    """Such as ``block (3,0,0)``."""
    return "block ({},{},{})".format(*spec.block_xyz(block))


def device_name(spec: TraceSpec) -> str:
    """Such as ``NVIDIA H100 80GB HBM3 · device 3``."""
    return (spec.device or "GPU") + ("" if spec.device_id is None else f" · device {spec.device_id}")


def launch_name(spec: TraceSpec) -> str:
    """Such as ``gemm · launch 12``."""
    name = spec.kernel or "kernel"
    name += "" if spec.launch is None else f" · launch {spec.launch}"
    several = spec.n_partitions or 1
    return name + (f" · partition {spec.partition} of {several}" if several > 1 else "")


def _id_of(*parts: Any) -> int:
    """An id from what is known, the same in every file: 62 bits, and room below 2**63 for more."""
    text = json.dumps(parts).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") % _MAX_ID + 1


def _launch_id(spec: TraceSpec, tracks: Tracks) -> int:
    """Launches whose files are put together keep apart: no two start at the same times."""
    digest = hashlib.blake2b(tracks.start_ns.tobytes(), digest_size=16)
    digest.update(tracks.first_clock.tobytes())
    return _id_of("launch", spec.to_dict(), digest.hexdigest())


def _rank_on_sm(tracks: Tracks, shown: Bool) -> I64:
    """``(n_tracks,)``: how many shown tracks of its SM come before each shown track."""
    rank = np.zeros(len(tracks), np.int64)
    rows = np.flatnonzero(shown)
    if rows.size:
        order = rows[np.argsort(tracks.sm[rows], kind="stable")]
        first = np.flatnonzero(np.diff(tracks.sm[order].astype(np.int64), prepend=-1))
        counts = np.diff(first, append=len(order))
        rank[order] = np.arange(len(order)) - np.repeat(first, counts)
    return rank
