"""Processes and threads of Chrome JSON that the launches of a run share.

Processes are numbered by device, then by SM, so they never collide and stand in that order. The lines
of an SM are shared by all launches of its device, which come one after the other; launches that
overlap in time (of several streams) have lines of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from mgpu_trace.export.jsontext import json_string
from mgpu_trace.export.lines import Ids
from mgpu_trace.export.picture import Picture
from mgpu_trace.model import I64, Bool

_PROCESS: Final = (
    b'{"ph":"M","name":"process_name","pid":%d,"args":{"name":%b}},\n'
    b'{"ph":"M","name":"process_sort_index","pid":%d,"args":{"sort_index":%d}}'
)
_MAX_ID: Final = 2**32 - 1
# thread_sort_index leaves room for so many lines of an SM, and threads of a line.
_LINES_PER_SLOT: Final = 1 << 20
_PER_LINE: Final = 16


def process_record(pid: int, name: str) -> bytes:
    """Names a process and puts it among the others by its pid."""
    return _PROCESS % (pid, json_string(name), pid, pid)


class RunIds:
    """Ids of a whole run.

    Parameters
    ----------
    n_devices
        Devices are numbered below this.
    largest_sm
        No SM id is larger.
    taken
        Ids that are somebody else's.
    """

    def __init__(self, n_devices: int, largest_sm: int, taken: AbstractSet[int] = frozenset()) -> None:
        self._taken = taken
        largest = max((one for one in taken if one < _MAX_ID // 2), default=0)
        step = 10 ** len(str(largest_sm + 2))
        first = -(-largest // step) * step
        end = first + (n_devices + 1) * step
        # Readings of broken headers may leave no room for round numbers.
        self._step = step if end < _MAX_ID // 2 else 0
        self._first = first
        self._next_pid = 1
        self._pids: dict[tuple[int, int], int] = {}
        first_tid = end if self._step else _MAX_ID // 2
        self.next_tid = -(-first_tid // 100) * 100
        self.tids: dict[tuple[int, str], int] = {}

    def pid(self, device: int, sm: int) -> tuple[int, bool]:
        """The process of an SM (-1: the device's own), and whether it is new."""
        is_new = (device, sm) not in self._pids
        if is_new:
            pid = self._first + (device + 1) * self._step + sm + 1
            if not self._step:
                pid = self._free(self._next_pid)
                self._next_pid = pid + 1
            self._pids[device, sm] = pid
        return self._pids[device, sm], is_new

    def tid(self, pid: int, name: str) -> tuple[int, bool]:
        """The thread of that name in a process, and whether it is new."""
        is_new = (pid, name) not in self.tids
        if is_new:
            self.tids[pid, name] = self.new_tid()
        return self.tids[pid, name], is_new

    def new_tid(self) -> int:
        tid = self._free(self.next_tid)
        self.next_tid = tid + 1
        return tid

    def _free(self, one: int) -> int:
        while one in self._taken:
            one += 1
        return one


class LaunchIds(Ids):
    """Ids of one launch among those of its run.

    Parameters
    ----------
    run
        The run's.
    device, label
        Number and name of the launch's device.
    slot
        Which of the launches that overlap it is.
    """

    def __init__(self, run: RunIds, device: int, label: str, slot: int) -> None:
        self._run = run
        self._device = device
        self._label = label
        self._slot = slot
        self._picture: Picture | None = None
        self._new: list[tuple[int, str]] = []

    @property
    def expected_tid(self) -> int:  # type: ignore[override]  # it grows
        """No tid that is handed out next is expected to have more digits."""
        return 2 * self._run.next_tid

    def pids(self, picture: Picture) -> tuple[I64, Bool]:
        """The pids; none is to be introduced as one of a launch alone, for :meth:`processes` does that."""
        pids = []
        for group in picture.groups.tolist():
            pid, is_new = self._run.pid(self._device, group)
            pids.append(pid)
            if is_new:
                self._new.append((pid, self.process_name(picture, group)))
        return np.array(pids, np.int64), np.zeros(len(pids), np.bool_)

    def processes(self) -> Iterator[bytes]:
        """Records that name and order the processes that this launch is the first to use."""
        return (process_record(pid, name) for pid, name in self._new)

    def process_name(self, picture: Picture, group: int) -> str:
        return f"{self._label} · {picture.group_name(group)}"

    def tids(self, picture: Picture) -> tuple[I64, Bool]:
        self._picture = picture
        pids = dict(zip(picture.groups.tolist(), self.pids(picture)[0].tolist(), strict=True))
        found = [
            self._run.tid(pids[group], f"{self._slot} {picture.line_name(line)}")
            for line, group in enumerate(picture.group.tolist())
        ]
        return np.array([tid for tid, _ in found], np.int64), np.array([new for _, new in found], np.bool_)

    def line_label(self) -> str:
        """What is added to the names of lines of launches that overlap others."""
        return f" · stream {self._slot + 1}" if self._slot else ""

    def order(self, line: int, place: int) -> int:
        rank = 0 if self._picture is None else int(self._picture.rank[line])
        return (self._slot * _LINES_PER_SLOT + rank) * _PER_LINE + min(place, _PER_LINE - 1)

    def new_tid(self) -> int:
        return self._run.new_tid()
