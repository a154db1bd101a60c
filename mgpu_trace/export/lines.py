"""Which line of the picture a track goes to: process and thread ids, names, order.

A process is an SM (pid = SM id, named "SM": viewers append the pid). A thread is one unit of one
block; a track whose regions cross, or nest too deep for the viewer, has further threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from mgpu_trace.export.jsontext import json_string
from mgpu_trace.export.records import n_groups, put_integer
from mgpu_trace.model import I64, U32, Bool, Slices, TrackFlag, Tracks, distinct
from mgpu_trace.spec import TraceSpec

# Perfetto shows 512 levels; what is deeper loses its place without a word (docs/perfetto.md).
MAX_DEPTH = 512
# thread_sort_index leaves room for this many lines of one track.
_LINES_PER_TRACK = 16


ExtraTids = tuple[I64, U32, list[bytes]]
"""Indices of slices, their tids as text, and records that introduce new threads."""


class Lines:
    """Threads of a launch: their ids as ready-made text, and the records that introduce them.

    Parameters
    ----------
    spec, tracks
        The launch.
    keep
        ``(n_tracks,)`` which tracks are wanted; those without events are left out as well.
    roles
        Names for units, such as ``{0: "tma"}``.

    Attributes
    ----------
    pid_text, tid_text
        ``(n_tracks, columns)`` ids as right-aligned text.
    """

    def __init__(self, spec: TraceSpec, tracks: Tracks, keep: Bool, roles: Mapping[int, str]) -> None:
        self.spec = spec
        self.tracks = tracks
        self.roles = roles
        self._shown = keep & tracks.has_events & (tracks.flags & TrackFlag.UNREADABLE == 0)
        sm = tracks.sm.astype(np.int64)
        self.sms = distinct(sm[self._shown])
        n = len(tracks)
        self._first_tid = _free_ids(self.sms, n)
        self._next_tid = self._first_tid + n
        self._tracks_per_block = spec.tracks_per_block
        self._unit_text: dict[int, bytes] = {}
        self._extra: dict[tuple[int, int, int], int] = {}
        self._n_extra: dict[int, int] = {}
        self.pid_text = _id_text(sm, n_groups(int(self.sms.max(initial=0))), self._shown)
        # Extra lines follow the others: leave room for as many again. More are rare (extra_tids).
        self._set_tid_columns(n_groups(self._first_tid + 2 * n))

    def introductions(self) -> Iterator[bytes]:
        """Records that name and order every process, then every thread that has events."""
        for rank, sm in enumerate(self.sms.tolist()):
            yield _PROCESS % (sm, sm, rank)
        for track in np.flatnonzero(self._shown).tolist():
            yield self._introduce(track, self._first_tid + track, 0, "")

    def _set_tid_columns(self, columns: int) -> None:
        self._tid_columns = columns
        self.tid_text = _id_text(self._first_tid + np.arange(len(self.tracks)), columns, self._shown)

    def extra_tids(self, slices: Slices) -> ExtraTids | None:
        """Slices that do not go to their track's own line, or None when all do.

        May widen :attr:`tid_text`, where there are more lines than it has digits for.

        Returns
        -------
        ExtraTids or None
        """
        if not slices.lane.any() and slices.depth.max(initial=0) < MAX_DEPTH:
            return None
        extra = np.flatnonzero((slices.lane > 0) | (slices.depth >= MAX_DEPTH))
        keys = np.stack((slices.track[extra], slices.lane[extra], slices.depth[extra] // MAX_DEPTH), axis=1)
        unique, inverse = np.unique(keys.astype(np.int64), axis=0, return_inverse=True)
        new: list[bytes] = []
        tids = [self._extra_tid((track, lane, floor), new) for track, lane, floor in unique.tolist()]
        columns = n_groups(max(tids))
        if columns > self._tid_columns:
            self._set_tid_columns(columns)
        return extra, _id_text(np.array(tids), self._tid_columns)[inverse.reshape(-1)], new

    def _extra_tid(self, key: tuple[int, int, int], new: list[bytes]) -> int:
        """The tid of a further line of a track: a lane of crossing regions, or a floor of deep ones."""
        if key not in self._extra:
            track, lane, floor = key
            self._extra[key] = self._new_tid()
            line = self._n_extra[track] = self._n_extra.get(track, 0) + 1
            label = (f" · overlap {lane + 1}" if lane else "") + (f" · deep {floor + 1}" if floor else "")
            new.append(self._introduce(track, self._extra[key], line, label))
        return self._extra[key]

    def _new_tid(self) -> int:
        tid = self._next_tid
        while tid in self.sms:
            tid += 1
        self._next_tid = tid + 1
        return tid

    def _introduce(self, track: int, tid: int, line: int, label: str) -> bytes:
        """The two records of a thread: its name and its place among its process's."""
        block, unit = divmod(track, self._tracks_per_block)
        if unit not in self._unit_text:
            self._unit_text[unit] = json_string(" · " + self._unit_name(unit))[1:-1]
        order = track * _LINES_PER_TRACK + min(line, _LINES_PER_TRACK - 1)
        who = (int(self.tracks.sm[track]), tid)
        where = self.spec.block_xyz(block)
        return _THREAD % (*who, *where, self._unit_text[unit], label.encode(), *who, order)

    def _unit_name(self, unit: int) -> str:
        """A unit's role, or what it is: ``warpgroup 1``."""
        return self.roles.get(unit) or f"{self.spec.scope.label} {unit}"


_PROCESS: Final = (
    b'{"ph":"M","name":"process_name","pid":%d,"args":{"name":"SM"}},\n'
    b'{"ph":"M","name":"process_sort_index","pid":%d,"args":{"sort_index":%d}}'
)
_THREAD: Final = (
    b'{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":"block (%d,%d,%d)%b%b"}},\n'
    b'{"ph":"M","name":"thread_sort_index","pid":%d,"tid":%d,"args":{"sort_index":%d}}'
)


def _free_ids(taken: I64, n: int) -> int:
    """The first of ``2 * n`` ids in a row that no process has, and that are not 0.

    A thread whose tid is its pid is taken for the main thread, and tid 0 for the pid; tids must also
    fit 32 bits. They are shown after each name, so small round ones come first.
    """
    edges = np.concatenate(([0], taken, [2**32]))
    room = np.diff(edges) - 1
    at = int(np.argmax(room > 2 * n + 200))
    start = int(edges[at]) + 1
    return -(-start // 100) * 100


def _id_text(ids: I64, columns: int, where: Bool | None = None) -> U32:
    """Ids as right-aligned text, ``(n, columns)``; only those of ``where`` matter."""
    text = np.empty((len(ids), columns), np.uint32)
    put_integer(text, 0, columns, ids if where is None else np.where(where, ids, 0))
    return text
