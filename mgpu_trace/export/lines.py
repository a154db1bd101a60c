"""Processes and threads of Chrome JSON: their ids as text, and the records that introduce them.

A process is a group of the picture (pid = SM id, block or unit; viewers append the pid to its name) and
a thread is a line. Regions that cross, or nest too deep for the viewer, have further threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from mgpu_trace.export.jsontext import json_string
from mgpu_trace.export.picture import Picture, line_label
from mgpu_trace.export.records import n_groups, put_integer
from mgpu_trace.model import I64, U32, Bool, Slices

# thread_sort_index leaves room for this many threads of one line.
_PER_LINE: Final = 16


ExtraTids = tuple[I64, U32, list[bytes]]
"""Indices of slices, their tids as text, and records that introduce new threads."""


class Ids:
    """Process and thread ids of one launch: pid = group, and tids from a round number on.

    A trace of several launches has ids of its own (mgpu_trace/merge/ids.py), which all of them share.
    """

    def __init__(self, groups: I64, n_lines: int) -> None:
        self._groups = groups
        self._first_tid = _free_ids(groups, n_lines)
        self._next_tid = self._first_tid + n_lines
        # Extra lines follow the others: leave room for as many again. More are rare.
        self.expected_tid = self._first_tid + 2 * n_lines

    def pids(self, picture: Picture) -> tuple[I64, Bool]:
        """``(n_groups,)`` pids, and which of them nobody has introduced."""
        return picture.groups, np.ones(len(picture.groups), np.bool_)

    def process_name(self, picture: Picture, group: int) -> str:
        """What a process is called; viewers append its pid."""
        return picture.group_name_without_number(group)

    def tids(self, picture: Picture) -> tuple[I64, Bool]:
        """``(n_lines,)`` tids, and which of them nobody has introduced."""
        n = len(picture.group)
        return self._first_tid + np.arange(n), np.ones(n, np.bool_)

    def line_label(self) -> str:
        """What is added to the names of all lines."""
        return ""

    def order(self, line: int, place: int) -> int:
        """Where a thread is among those of its process."""
        return line * _PER_LINE + min(place, _PER_LINE - 1)

    def new_tid(self) -> int:
        """The next one that no process has; from the end of a room that usually holds all of them."""
        tid, groups = self._next_tid, self._groups
        at = int(np.searchsorted(groups, tid))
        while at < len(groups) and groups[at] == tid:
            tid, at = tid + 1, at + 1
        self._next_tid = tid + 1
        return tid


class Lines:
    """Threads of a launch.

    Parameters
    ----------
    picture
        The lines.
    ids
        Where their ids come from, if other launches are in the same trace.

    Attributes
    ----------
    pid_text, tid_text
        ``(n_tracks, columns)`` ids as right-aligned text.
    """

    def __init__(self, picture: Picture, ids: Ids | None = None) -> None:
        self._picture = picture
        n = len(picture.group)
        self._ids = Ids(picture.groups, n) if ids is None else ids
        self._pid_of_group, self._new_groups = self._ids.pids(picture)
        self._pid = self._pid_of_group[np.searchsorted(picture.groups, picture.group)]
        self._tid, self._new_lines = self._ids.tids(picture)
        self._extra: dict[tuple[int, int, int], int] = {}
        self._n_extra: dict[int, int] = {}
        pid = self._pid[picture.line] if n else picture.line
        self.pid_text = _id_text(pid, n_groups(int(self._pid.max(initial=0))), picture.shown)
        self._set_tid_columns(n_groups(self._ids.expected_tid))

    def introductions(self) -> Iterator[bytes]:
        """Records that name and order every process, then every thread."""
        picture = self._picture
        groups, pids = picture.groups.tolist(), self._pid_of_group.tolist()
        for place in np.flatnonzero(self._new_groups).tolist():
            name = json_string(self._ids.process_name(picture, groups[place]))
            yield _PROCESS % (pids[place], name, pids[place], place)
        for line in np.flatnonzero(self._new_lines).tolist():
            yield self._introduce(line, int(self._tid[line]), 0, "")

    def _set_tid_columns(self, columns: int) -> None:
        self._tid_columns = columns
        picture = self._picture
        tid = self._tid[picture.line] if len(self._tid) else picture.line
        self.tid_text = _id_text(tid, columns, picture.shown)

    def ids(self, track: int) -> tuple[int, int]:
        """The pid and the tid of a shown track's own line."""
        line = int(self._picture.line[track])
        return int(self._pid[line]), int(self._tid[line])

    def extra_tids(self, slices: Slices) -> ExtraTids | None:
        """Slices that do not go to their track's own line, or None when all do.

        May widen :attr:`tid_text`, where there are more lines than it has digits for.

        Returns
        -------
        ExtraTids or None
        """
        levels = self._picture.levels
        if not slices.lane.any() and slices.depth.max(initial=0) < levels:
            return None
        extra = np.flatnonzero((slices.lane > 0) | (slices.depth >= levels))
        line = self._picture.line[slices.track[extra]]
        keys = np.stack((line, slices.lane[extra], slices.depth[extra] // levels), axis=1)
        unique, inverse = np.unique(keys.astype(np.int64), axis=0, return_inverse=True)
        new: list[bytes] = []
        tids = [self._extra_tid((line, lane, floor), new) for line, lane, floor in unique.tolist()]
        columns = n_groups(max(tids))
        if columns > self._tid_columns:
            self._set_tid_columns(columns)
        return extra, _id_text(np.array(tids), self._tid_columns)[inverse.reshape(-1)], new

    def _extra_tid(self, key: tuple[int, int, int], new: list[bytes]) -> int:
        """The tid of a further thread of a line: of crossing regions, or a floor of deep ones."""
        if key not in self._extra:
            line, lane, floor = key
            self._extra[key] = self._ids.new_tid()
            place = self._n_extra[line] = self._n_extra.get(line, 0) + 1
            new.append(self._introduce(line, self._extra[key], place, line_label(lane, floor)))
        return self._extra[key]

    def _introduce(self, line: int, tid: int, place: int, label: str) -> bytes:
        """The two records of a thread: its name and its place among its process's."""
        picture = self._picture
        who = (int(self._pid[line]), tid)
        order, label = self._ids.order(line, place), label + self._ids.line_label()
        return _THREAD % (*who, picture.line_name(line).encode(), label.encode(), *who, order)


def spelled(name: str) -> str:
    """A name inside a JSON string."""
    return json_string(name)[1:-1].decode()


_PROCESS: Final = (
    b'{"ph":"M","name":"process_name","pid":%d,"args":{"name":%b}},\n'
    b'{"ph":"M","name":"process_sort_index","pid":%d,"args":{"sort_index":%d}}'
)
_THREAD: Final = (
    b'{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":"%b%b"}},\n'
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
