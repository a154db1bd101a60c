"""Bytes or a memory map as a file that can seek, without a copy: what ``zipfile`` reads from."""

from __future__ import annotations

import io
import mmap
import os
from typing import Any


class MemoryFile(io.RawIOBase):
    """A read-only file over ``data``."""

    def __init__(self, data: mmap.mmap | bytes) -> None:
        super().__init__()
        self._data = data
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: len(self._data)}[whence]
        if base + offset < 0:
            raise OSError("seek before the start")
        self._at = base + offset
        return self._at

    def readinto(self, into: Any) -> int:
        part = self._data[self._at : self._at + len(into)]
        into[: len(part)] = part
        self._at += len(part)
        return len(part)
