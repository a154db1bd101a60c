"""Which process listens on a port, as far as Linux tells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

_LISTENING: Final = "0A"
_MOST_CHARS: Final = 80


def holder_of(port: int) -> str | None:
    """The process that listens on ``port``, such as ``process 4711 (python -m http.server 9001)``.

    None where that cannot be found out: on another system, or where the process is another user's.
    """
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    if not sockets:
        return None
    for process in filter(str.isdigit, _entries("/proc")):
        for handle in _entries(f"/proc/{process}/fd"):
            if _target(f"/proc/{process}/fd/{handle}") in sockets:
                return f"process {process}{_command(process)}"
    return None


def _inodes(port: int) -> Iterator[str]:
    """The sockets that listen on ``port``; proc(5) has the columns."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in _read(table).splitlines()[1:]:
            columns = line.split()
            if columns[3] == _LISTENING and int(columns[1].rpartition(":")[2], 16) == port:
                yield columns[9]


def _command(process: str) -> str:
    words = _read(f"/proc/{process}/cmdline").split("\0")
    line = " ".join(words).strip()
    return f" ({line[:_MOST_CHARS]})" if line else ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _entries(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""
