"""Where tracks ran side by side: the blocks and SMs of a launch, and from when to when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from mgpu_trace import layout
from mgpu_trace.diagnostics import catalogue
from mgpu_trace.model import I64, Bool, Tracks

if TYPE_CHECKING:
    from mgpu_trace.analyse.source import Source

On = Literal["block", "sm"]
ON: Final = ("block", "sm")


@dataclass(frozen=True, slots=True)
class Places:
    """Blocks, each on one SM; or SMs. A block whose tracks name several SMs is a place on each of them.

    Attributes
    ----------
    of_track
        ``(n_tracks,)`` each track's place; -1 where it has no slices.
    block, sm
        ``(n_places,)``; ``block`` is -1 for a whole SM.
    begin_cyc, end_cyc
        ``(n_places,)`` first enter and last exit of any track there, since the launch's first event.
    """

    of_track: I64
    block: I64
    sm: I64
    begin_cyc: I64
    end_cyc: I64

    def __len__(self) -> int:
        return len(self.sm)

    @property
    def dur_cyc(self) -> I64:
        return self.end_cyc - self.begin_cyc

    @classmethod
    def of(cls, on: On, tracks: Tracks, is_active: Bool, begin_cyc: I64, end_cyc: I64) -> Places:
        """The places of tracks that have slices, from ``begin_cyc`` to ``end_cyc``, ``(n_tracks,)`` each.

        Raises
        ------
        ValueError
            For another kind of place than :data:`ON`.
        """
        if on not in ON:
            raise ValueError(f"no kind of place {on!r}; there are: {', '.join(ON)}")
        active = np.flatnonzero(is_active)
        sm = tracks.sm[active].astype(np.int64)
        block = tracks.block[active] if on == "block" else np.full(len(active), -1, np.int64)
        order = np.lexsort((sm, block))
        is_new = np.diff(block[order], prepend=-2) != 0
        is_new |= np.diff(sm[order], prepend=-1) != 0
        first = np.flatnonzero(is_new)
        of_track = np.full(len(tracks), -1, np.int64)
        of_track[active[order]] = np.cumsum(is_new) - 1
        begin, end = begin_cyc[active[order]], end_cyc[active[order]]
        return cls(
            of_track,
            block[order][first],
            sm[order][first],
            _reduced(np.minimum, begin, first),
            _reduced(np.maximum, end, first),
        )

    def kept(self, kept_tracks: Bool) -> Bool:
        """``(n_places,)``: those of any of these tracks."""
        found = np.zeros(len(self), np.bool_)
        found[self.of_track[kept_tracks & (self.of_track >= 0)]] = True
        return found


def _reduced(what: Any, values: I64, first: NDArray[Any]) -> I64:
    found: I64 = what.reduceat(values, first) if len(first) else np.zeros(0, np.int64)
    return found


def has_starts(source: Source) -> bool:
    """Whether the tracks carry start times and SM ids; where not (MGT310), blocks cannot be compared."""
    return not any(found.code is catalogue.NO_START_TIMES for found in source.report)


def origin_in_block_cyc(tracks: Tracks) -> I64:
    """``(n_tracks,)`` when each track's first event was, in cycles since the first of its block.

    A block is on one SM, whose counter alone tells, as long as its tracks begin within half a turn.
    """
    half = layout.WORD_RANGE // 2
    block, live = tracks.block, np.flatnonzero(tracks.has_events)
    clock = tracks.first_clock.astype(np.int64)
    found = np.zeros(len(tracks), np.int64)
    first = np.flatnonzero(np.diff(block[live], prepend=-1))
    n = np.diff(first, append=len(live))
    since = (clock[live] - np.repeat(clock[live[first]], n) + half) % layout.WORD_RANGE - half
    found[live] = since - np.repeat(_reduced(np.minimum, since, first), n)
    return found
