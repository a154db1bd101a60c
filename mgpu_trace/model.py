"""The data between the stages: struct-of-arrays tables, index columns named after their table.

``TraceBuffer`` is what was read, ``Tracks`` and ``Slices`` what it says, ``ClockModel`` how cycles
become nanoseconds, and ``Timeline`` all of it together: what every later stage takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.diagnostics import MgpuTraceError, Report
from mgpu_trace.interchange import Interchange
from mgpu_trace.sizes import wrong_size
from mgpu_trace.spec import TraceSpec

if TYPE_CHECKING:
    from mgpu_trace.clock import ClockModel

U32 = NDArray[np.uint32]
I16 = NDArray[np.int16]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
U8 = NDArray[np.uint8]
Bool = NDArray[np.bool_]


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The values that occur, ascending.

    ``np.unique`` does the same, but imports ``numpy.ma`` when it is first called: a tenth of the
    time that a whole ``mgpu-trace dump`` takes.
    """
    ordered = np.sort(values)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def occurrence(track: I32, name: I32) -> I64:
    """0, 1, 2, ... for the slices of one name in one track, in order."""
    key = track.astype(np.int64) << 32 | name
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    count = np.arange(len(key)) - np.repeat(starts, np.diff(starts, append=len(key)))
    out = np.empty(len(key), np.int64)
    out[order] = count
    return out


def _keep(first: int, last: int) -> None:
    """The release of a buffer that is in memory: there is nothing to give back."""


@dataclass(frozen=True, slots=True)
class TraceBuffer:
    """A raw buffer and its spec; :meth:`from_flat` checks that the sizes agree.

    Attributes
    ----------
    spec
        What the buffer is said to be.
    words
        ``(n_tracks, words_per_track)`` unsigned 32-bit words, in either byte order; a read-only
        view or memory map.
    release
        Called with a range of tracks that will not be read again soon, so that a memory map
        need not keep their pages. Does nothing by default.
    """

    spec: TraceSpec
    words: U32
    release: Callable[[int, int], None] = _keep

    @classmethod
    def from_flat(
        cls, flat: U32, spec: TraceSpec, release: Callable[[int, int], None] | None = None
    ) -> TraceBuffer:
        """Shape ``flat`` (``(n_words,)``) as the spec says.

        Raises
        ------
        MgpuTraceError
            MGT201 when the sizes differ.
        """
        if flat.size != spec.n_words:
            raise MgpuTraceError(wrong_size(flat.size, spec))
        words = flat.reshape(spec.n_tracks, spec.words_per_track)
        return cls(spec, words) if release is None else cls(spec, words, release)


class TrackFlag:
    """What is wrong with a track, as bits of ``Tracks.flags``.

    Plain numbers, not an ``enum``: NumPy would widen the 8-bit column for an enum's member.
    """

    OVERFULL: Final = 1
    """Wrote past its words: its tail is lost."""
    OVERWRITTEN: Final = 2
    """Its first events were overwritten by a track before it."""
    BROKEN: Final = 4
    """Its header cannot be trusted: no events are read."""
    FULL: Final = 8
    """Exactly full: it may be a prefix."""
    TRUNCATED: Final = 16
    """Full with regions still open: later events were dropped."""
    UNREADABLE: Final = 32
    """Has events, but no tag among them can be one."""


@dataclass(frozen=True, slots=True)
class Tracks:
    """One row per track, in buffer order. All columns are ``(n_tracks,)``.

    The columns are as narrow as the words they come from, because a buffer may hold millions of
    tracks; widen them (``astype(np.int64)``) before any arithmetic.

    Attributes
    ----------
    tracks_per_block
        Tracks of one block; gives :attr:`block` and :attr:`unit`.
    sm
        SM id of the header.
    start_ns
        Low 32 bits of the global timer, as the header has them.
    n_events
        Events that can be read, counted from the track's first one (0 for a broken track).
    n_skipped
        How many of them, at the start, another track overwrote; they are not read.
    first_clock
        Low 32 bits of the SM clock of the first event that is read; 0 where there is none.
    flags
        Bits of :class:`TrackFlag`.
    """

    tracks_per_block: int
    sm: U32
    start_ns: U32
    n_events: I32
    n_skipped: I32
    first_clock: U32
    flags: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.sm)

    @property
    def block(self) -> I64:
        """Flat block index of each track."""
        return np.arange(len(self), dtype=np.int64) // self.tracks_per_block

    @property
    def unit(self) -> I64:
        """Index of each track in its block."""
        return np.arange(len(self), dtype=np.int64) % self.tracks_per_block

    @property
    def has_events(self) -> Bool:
        """Whether any event of the track is read."""
        return self.n_events > self.n_skipped


@dataclass(frozen=True, slots=True)
class Slices:
    """One row per slice, sorted by (track, enter). All columns are ``(n_slices,)``.

    Attributes
    ----------
    track
        Row of ``Tracks``.
    name
        Name id, without the EXIT bit.
    depth
        Regions open around it in its lane: 0 for an outermost one.
    lane
        0, or the line to draw it on where regions of the track cross.
    start_cyc
        Cycles from the track's first event to its enter.
    dur_cyc
        Cycles from enter to exit; never negative.
    closed
        False where no exit was found: it then ends at the track's last event.
    index
        Occurrence of its name in the track: 0, 1, 2, ... None unless it was asked for.
    removed_cyc
        Probe cost taken off ``dur_cyc`` on request. None unless it was asked for.
    """

    track: I32
    name: I32
    depth: I16
    lane: I32
    start_cyc: I64
    dur_cyc: I64
    closed: Bool
    index: I64 | None = None
    removed_cyc: I64 | None = None

    def __len__(self) -> int:
        return len(self.track)

    def where(self, rows: Any) -> Slices:
        """The slices of ``rows``: a mask, an index array or a slice."""
        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        picked: dict[str, Any] = {name: None if c is None else c[rows] for name, c in columns.items()}
        return Slices(**picked)

    @staticmethod
    def collect(runs: Iterable[Slices], at_most: int) -> Slices:
        """All rows of ``runs``, in order; there are no more than ``at_most``.

        Each run is copied while it is still in the processor's cache and its memory is used again
        for the next. Room that is not used is never touched, and costs nothing.
        """
        whole: dict[str, NDArray[Any]] = {}
        n = 0
        for run in runs:
            for name, kind in _KINDS.items():
                column = getattr(run, name)
                if column is not None:
                    room = whole.get(name)
                    if room is None:
                        room = whole[name] = np.empty(at_most, kind)
                    room[n : n + len(run)] = column
            n += len(run)
        required = {name: np.empty(0, kind) for name, kind in _KINDS.items() if name not in _OPTIONAL}
        return Slices(**(required | {name: column[:n] for name, column in whole.items()}))


_KINDS: Final[dict[str, Any]] = {
    "track": np.int32,
    "name": np.int32,
    "depth": np.int16,
    "lane": np.int32,
    "start_cyc": np.int64,
    "dur_cyc": np.int64,
    "closed": np.bool_,
    "index": np.int64,
    "removed_cyc": np.int64,
}
_OPTIONAL: Final = ("index", "removed_cyc")


@dataclass(frozen=True, slots=True)
class Timeline(Interchange):
    """One launch, decoded: what statistics and writers take.

    Attributes
    ----------
    spec, tracks, slices
        The launch, its tracks and its slices.
    clock
        Turns the cycles of a track into nanoseconds since the launch's first event.
    report
        Every finding, of reading, decoding and clocks.
    extents, kept
        What :meth:`track_extents` and :attr:`kept_tracks` say; None: as far as the slices tell, and all.
    """

    spec: TraceSpec
    tracks: Tracks
    slices: Slices
    clock: ClockModel
    report: Report
    extents: I64 | None = None
    kept: Bool | None = None

    def more_facts(self) -> dict[str, Any]:
        """Nothing: a Timeline says it all in its parts."""
        return {}

    @property
    def kept_tracks(self) -> Bool:
        """``(n_tracks,)``: the tracks whose slices may be here."""
        return np.ones(len(self.tracks), np.bool_) if self.kept is None else self.kept

    def track_extents(self) -> I64:
        """``(n_tracks,)`` cycles from each track's first event to its last; -1 where it has none."""
        if self.extents is not None:
            return self.extents
        extents = np.full(len(self.tracks), -1, np.int64)
        np.maximum.at(extents, self.slices.track, self.slices.start_cyc + self.slices.dur_cyc)
        return extents

    def touches(self, begin_ns: I64, end_ns: I64) -> Bool:
        """``(n,)``: all spans of time; no window was selected."""
        return np.ones(np.broadcast(begin_ns, end_ns).shape, np.bool_)

    def runs(self) -> Iterator[Slices]:
        """The slices in runs of tracks; here, in one."""
        yield self.slices

    def whole_runs(self) -> Iterator[tuple[Slices, Bool | None]]:
        """The slices of whole tracks in runs, and which of them are selected; None: all."""
        yield self.slices, None
