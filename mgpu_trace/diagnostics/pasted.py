"""A text that somebody pasted: a sentence, a traceback, a log, out of a terminal or out of a file.

Terminals wrap at any column, pytest and loggers put something before each line, panels draw boxes.
What is left of all that is the order of letters and digits: sentences are looked for in those alone
(``squeezed``). Every step keeps one byte for each character, so that a place found leads back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Final

__all__ = ["Pasted", "squeeze"]

_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz0123456789"
_REST: Final = bytes(set(range(256)) - set(_LETTERS))
_CHUNK: Final = 512
_NEAR: Final = 200

# Each pattern is bounded or anchored, and nothing in it can match in two ways: the time is linear.
_ESCAPES: Final = re.compile(
    rb"""\x1b\[[0-9;:?]*[A-Za-z]                     # colours and cursor movements
    | \x1b\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)     # links and titles
    """,
    re.VERBOSE,
)
_LINE_STARTS: Final = re.compile(
    rb"""^[ \t]{0,99}(?:
      E(?=\ {3})                                                     # pytest
    | \[(?:rank)?\d{1,6}\]:                                          # one of several processes
    | [IWEF]\d{4}\ \d\d:\d\d:\d\d\.\d{1,9}\ +\d{1,10}\ [\w./+-]{1,99}:\d{1,6}\]   # absl
    | [\[(]?\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:[Zz]|[+-]\d\d:?\d\d)?[\])]?  # a clock
      (?:[ \t:|-]{0,9}[\[(]?(?i:debug|info|warn|warning|error|critical|fatal)\b[\])]?)?
    )""",
    re.VERBOSE | re.MULTILINE,
)


def squeeze(text: str) -> bytes:
    """The letters and digits of ``text``, in lower case; a sentence and its wrapped copy have the same."""
    return text.encode("ascii", "replace").lower().translate(None, _REST)


class Pasted:
    """A text as it was pasted, ready to be searched.

    Attributes
    ----------
    text
        As it came. May hold NULs, lone surrogates, anything.
    clean
        The same in lower case, one byte for each character: ``?`` where it is not ASCII, a space for
        each character that a terminal, pytest or a logger added.
    squeezed
        What :func:`squeeze` leaves of ``clean``.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        data = text.encode("ascii", "replace")
        for escape in (b"\\n", b"\\r", b"\\t"):  # of a string literal, or a log that is JSON
            data = data.replace(escape, b" \n")
        self.clean = _blank(_LINE_STARTS, _blank(_ESCAPES, data)).lower()
        self.squeezed = self.clean.translate(None, _REST)
        self._named: dict[str, bool] = {}

    def names(self, file: str) -> bool:
        """Whether ``file`` (in ASCII) stands somewhere in the text."""
        if file not in self._named:
            self._named[file] = file.lower().encode("ascii", "replace") in self.clean
        return self._named[file]

    def position(self, index: int) -> int:
        """Where the character ``squeezed[index]`` stands in ``text`` and ``clean``."""
        chunk = bisect_right(self._before, index) - 1
        left = index - self._before[chunk]
        for place in range(chunk * _CHUNK, len(self.clean)):
            if self.clean[place] in _LETTERS:
                if left == 0:
                    return place
                left -= 1
        raise IndexError(index)

    @cached_property
    def _before(self) -> list[int]:
        """How many letters and digits stand before each chunk."""
        starts = range(0, len(self.clean), _CHUNK)
        counts = (len(self.clean[at : at + _CHUNK].translate(None, _REST)) for at in starts)
        return [0, *accumulate(counts)]

    def opens_word(self, place: int) -> bool:
        """Whether no word goes on before ``place``; an underscore belongs to its word."""
        return not self.clean[max(0, place - 2) : place].rstrip(b"_")[-1:].isalnum()

    def closes_word(self, place: int) -> bool:
        """Whether no word goes on at ``place``, where one has ended."""
        return not self.clean[place : place + 2].lstrip(b"_")[:1].isalnum()

    def line_before(self, place: int) -> bytes:
        """What stands before ``place`` on its line, as far as it is near."""
        return self.clean[max(0, place - _NEAR) : place].rpartition(b"\n")[2]

    def line_after(self, place: int) -> bytes:
        """What stands from ``place`` to the end of its line, as far as it is near."""
        return self.clean[place : place + _NEAR].partition(b"\n")[0]

    def excerpt(self, start: int, stop: int) -> str:
        """``text[start:stop]`` on one line, without what terminals and loggers added."""
        stop = min(stop, start + 2000)
        kept = zip(self.text[start:stop], self.clean[start:stop], strict=True)
        return " ".join("".join(" " if byte == 0x20 else char for char, byte in kept).split())


def _blank(pattern: re.Pattern[bytes], data: bytes) -> bytes:
    return pattern.sub(lambda found: b" " * len(found[0]), data)
