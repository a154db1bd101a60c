"""Files that appear under a name of their own: whole, and never in place of another.

Several processes, and several captures one after the other, may write into one folder.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from typing import BinaryIO, Final

SUFFIX: Final = ".npz"
_counter: Final = itertools.count()


def part_prefix(pid: int) -> str:
    """How the unfinished files of a process begin."""
    return f".capture-{pid}-"


class Publisher:
    """Gives files of one folder the names ``STEM-NUMBER.npz``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        # The next number of each stem of which one was taken already.
        self._free: dict[str, int] = {}

    def publish(self, stem: str, number: int, write: Callable[[BinaryIO], None]) -> str:
        """Write a file, and give it the first free number from ``number`` on; its path.

        Raises
        ------
        OSError
            Where it cannot be written. Nothing is left behind.
        """
        os.makedirs(self._folder, exist_ok=True)
        temporary = os.path.join(self._folder, f"{part_prefix(os.getpid())}{next(_counter)}.part")
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        try:
            with open(os.open(temporary, flags, 0o666), "wb") as file:
                write(file)
            return self._named(temporary, stem, number)
        finally:
            os.unlink(temporary)

    def _named(self, temporary: str, stem: str, number: int) -> str:
        while True:
            path = os.path.join(self._folder, f"{stem}-{number:06}{SUFFIX}")
            try:
                _take(temporary, path)
            except FileExistsError:
                # Its own number first, for launches may come out of order; then one after all that are there.
                number = max(number + 1, self._free.get(stem) or self._after_all(stem))
                self._free[stem] = number + 1
            else:
                return path

    def _after_all(self, stem: str) -> int:
        """The number after the last that is taken: a folder may hold thousands from before."""
        taken = re.compile(re.escape(stem) + r"-(\d{6,})" + re.escape(SUFFIX))
        found = (taken.fullmatch(name) for name in os.listdir(self._folder))
        return max((int(match[1]) + 1 for match in found if match), default=0)


def _take(temporary: str, path: str) -> None:
    """Give the file the name ``path``; FileExistsError where there is one of that name."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: the name is made first, and then the file of it
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        os.replace(temporary, path)
        open(temporary, "wb").close()  # for the caller, who removes it
