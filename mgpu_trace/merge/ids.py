"""Processes and threads of Chrome JSON that the launches of a run share.

Processes are numbered by device, then by SM, so they never collide and stand in that order. The lines
of an SM are shared by all launches of its device, which come one after the other; launches that
overlap in time (of several streams) have lines of their own.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from mgpu_trace.export.lines import Ids
from mgpu_trace.export.picture import Picture
from mgpu_trace.model import I64, Bool

_MAX_ID: Final = 2**32 - 1
# thread_sort_index leaves room for so many lines of an SM, and threads of a line.
_LINES_PER_SLOT: Final = 1 << 20
_PER_LINE: Final = 16


class RunIds:
    """Ids of a whole run.

    Parameters
    ----------
    n_devices
        Devices are numbered below this.
    largest_sm
        No SM id is larger.
    taken
        Ids up to this are somebody else's.
    """

    def __init__(self, n_devices: int, largest_sm: int, taken: int = 0) -> None:
        step = 10 ** len(str(largest_sm + 2))
        first = -(-taken // step) * step
        end = first + (n_devices + 1) * step
        # Readings of broken headers may leave no room for round numbers.
        self._step = step if end < _MAX_ID // 2 else 0
        self._first = first
        self._next_pid = taken + 1
        self._pids: dict[tuple[int, int], int] = {}
        first_tid = end if self._step else max(_MAX_ID // 2, taken)
        self.next_tid = -(-first_tid // 100) * 100
        self.tids: dict[tuple[int, str], int] = {}

    def pid(self, device: int, sm: int) -> tuple[int, bool]:
        """The process of an SM (-1: the device's own), and whether it is new."""
        is_new = (device, sm) not in self._pids
        if is_new:
            own = self._first + (device + 1) * self._step + sm + 1
            self._pids[device, sm] = own if self._step else self._next_pid
            self._next_pid += 1
        return self._pids[device, sm], is_new

    def tid(self, pid: int, name: str) -> tuple[int, bool]:
        """The thread of that name in a process, and whether it is new."""
        is_new = (pid, name) not in self.tids
        if is_new:
            self.tids[pid, name] = self.new_tid()
        return self.tids[pid, name], is_new

    def new_tid(self) -> int:
        self.next_tid += 1
        return self.next_tid - 1


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

    @property
    def expected_tid(self) -> int:  # type: ignore[override]  # it grows
        """No tid that is handed out next is expected to have more digits."""
        return 2 * self._run.next_tid

    def pids(self, picture: Picture) -> tuple[I64, Bool]:
        found = [self._run.pid(self._device, group) for group in picture.groups.tolist()]
        return np.array([pid for pid, _ in found], np.int64), np.array([new for _, new in found], np.bool_)

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
