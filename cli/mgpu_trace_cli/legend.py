"""Which character and colour stands for which region of a picture, and the lines that say so."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mgpu_trace.diagnostics.clip import counted
from mgpu_trace_cli.render import columns_of, drawable, in_columns

if TYPE_CHECKING:
    from mgpu_trace.analyse.timeline import Segments

Piece = tuple[str, str]  # text and style

LETTERS: Final = string.ascii_letters + string.digits
LOST: Final = ("!", "bold red")
# For the regions for which no letter is left.
_REST: Final = ("*", "")
_COLOURS: Final = (
    *("cyan", "green", "yellow", "magenta", "bright_blue", "bright_red"),
    *("bright_cyan", "bright_green", "bright_yellow", "bright_magenta", "white"),
)
_MOST_NAME: Final = 40
_GAP: Final = 2


def letters_of(names: Sequence[str]) -> list[str]:
    """A letter or digit for each name, one of its own where there is one left; ``*`` where none is.

    Those that come first choose first.
    """
    free, found = dict.fromkeys(LETTERS), []
    for name in names:
        letter = next((char for char in (*name, *name.swapcase(), *free) if char in free), _REST[0])
        free.pop(letter, None)
        found.append(letter)
    return found


@dataclass(frozen=True, slots=True)
class Legend:
    """What the cells of a picture mean.

    Attributes
    ----------
    marks
        The character and the style of each state of a cell: an id of a name, or what
        :mod:`mgpu_trace.analyse.timeline_cells` has for it.
    entries
        The same with words, for those that are there.
    """

    marks: Mapping[int, Piece]
    entries: Sequence[tuple[Piece, str]]

    @classmethod
    def of(cls, found: Segments, cells: Iterable[Sequence[int]]) -> Legend:
        """The legend of some cells; regions that have more of them choose their letters first."""
        from mgpu_trace.analyse.timeline_cells import LITTLE, NOTHING, OTHER

        n_cells = Counter(state for line in cells for state in line)
        ids = sorted((i for i in n_cells if i >= 0), key=lambda i: (-n_cells[i], i))
        names = [found.source.spec.name_of(i) for i in ids]
        marks = {
            i: (letter, f"black on {_COLOURS[n % len(_COLOURS)]}") if letter != _REST[0] else _REST
            # A name may be a megabyte long.
            for n, (i, letter) in enumerate(
                zip(ids, letters_of([name[:_MOST_NAME] for name in names]), strict=True)
            )
        }
        entries = [(marks[i], name) for i, name in zip(ids, names, strict=True) if marks[i] != _REST]
        marks |= {NOTHING: (" ", ""), LITTLE: (drawable("·", "."), ""), OTHER: ("-", "dim")}
        n_rest = len(ids) - len(entries)
        n_there = len(found.names_in_window())
        n_short = n_there - len(ids)
        said = [
            (_REST, counted(n_rest, "more region"), n_rest),
            (marks[OTHER], "regions not selected", n_cells[OTHER]),
            (marks[LITTLE], "in regions for less than half", n_cells[LITTLE]),
            (LOST, "events lost", bool(found.lost_start.any() or found.lost_end.any())),
            (("", ""), f"{counted(n_short, 'region')} too short for a cell", n_short),
            (("", ""), "no selected region takes any time", not n_there),
        ]
        return cls(marks, [*entries, *((mark, text) for mark, text, there in said if there)])

    def lines(self, columns: int) -> Iterator[list[Piece]]:
        """All entries, as many a line as fit into so many columns."""
        line: list[Piece] = []
        used = 0
        for (char, style), text in self.entries:
            shown = in_columns(text, min(_MOST_NAME, columns - 2)).rstrip()
            size = columns_of(char) + 1 + columns_of(shown)
            if line and used + size > columns:
                yield line
                line, used = [], 0
            line += [(char, style), (f" {shown}{' ' * _GAP}" if char else shown, "")]
            used += size + _GAP
        if line:
            yield line
