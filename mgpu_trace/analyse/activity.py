"""What all tracks were doing when: one pass over a launch, for all answers about what ran beside what.

In each cycle between the first enter and the last exit of its block, a track is

* *busy*: of the regions that are open, the one that was entered last is no waiting one;
* *waiting*: it is one;
* *idle*: no region is open;
* *unknown*: its events of that time were lost (docs/analysis.md says which).

Everything is kept in memory, about 130 bytes for a slice, on one axis: cycles since the launch's first event;
where that is not known, since the first event of the block.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.analyse.inside import Inside, spans_of
from mgpu_trace.analyse.names import named
from mgpu_trace.analyse.places import Places, has_starts, origin_in_block_cyc
from mgpu_trace.analyse.source import Extents, Source, origin_cyc, whole_parts
from mgpu_trace.analyse.stretches import Changes, Spans
from mgpu_trace.analyse.sums import exact_sums
from mgpu_trace.model import I32, I64, Bool, Slices, distinct

DEFAULT_WAIT: Final = ("*wait*",)


@dataclass(frozen=True, slots=True)
class Activity:
    """A launch on one axis of time.

    Attributes
    ----------
    source
        Where it is from.
    waits
        By name id, as far as names occur: whether it is a waiting region.
    slices, closed
        All slices, by (track, enter), also those of length 0, and which have an exit; things are name ids.
    kept
        ``(n_slices,)`` which of them are selected; None: all.
    regions, kept_regions
        When each track was in each region: of all slices, and of the selected ones; things are name ids.
    busy, kept_busy
        By track: when it was busy, and when it was busy in a selected slice.
    is_active
        ``(n_tracks,)`` which tracks have slices.
    begin_cyc, end_cyc
        ``(n_tracks,)`` first enter and last exit of each.
    busy_cyc, waiting_cyc
        ``(n_tracks,)`` how long each was that.
    blocks
        The blocks.
    """

    source: Source
    waits: Bool
    slices: Spans
    closed: Bool
    kept: Bool | None
    regions: Spans
    kept_regions: Spans
    busy: Changes
    kept_busy: Changes
    is_active: Bool
    begin_cyc: I64
    end_cyc: I64
    busy_cyc: I64
    waiting_cyc: I64
    blocks: Places

    @property
    def names(self) -> dict[int, str]:
        """The names that occur, by id."""
        spec = self.source.spec
        occurs = np.bincount(self.slices.thing, minlength=len(self.waits)) > 0
        return {i: spec.name_of(i) for i in np.flatnonzero(occurs).tolist()}

    @property
    def waiting(self) -> list[str]:
        """Names of the waiting regions that occur."""
        return [name for i, name in self.names.items() if self.waits[i]]

    def busy_spans(self, thing: I64) -> Spans:
        """When each track was busy; ``(n_tracks,)`` things are what its spans are said to be of."""
        return _spans_of_tracks(self.busy, thing)

    def kept_busy_spans(self, thing: I64) -> Spans:
        """The same of the selected slices."""
        return _spans_of_tracks(self.kept_busy, thing)

    def ids_of(self, pattern: str) -> list[int]:
        """Ids of the regions that a pattern matches; MGT641 where none does."""
        names = self.names
        wanted = {*named(pattern, list(names.values()))}
        return [i for i, name in names.items() if name in wanted]


def activity_of(source: Source, wait: Sequence[str] | None = None) -> Activity:
    """Read all runs of a launch once.

    Parameters
    ----------
    source
        A Timeline or a Launch.
    wait
        Names or patterns of the waiting regions, each of which must match one; None: those of
        :data:`DEFAULT_WAIT`, if there are any.

    Raises
    ------
    MgpuTraceError
        MGT641 where a pattern matches no region.
    """
    found = _Pass(source, DEFAULT_WAIT if wait is None else wait)
    for run, keep in whole_parts(source):
        if len(run):
            found.add(run, keep)
    activity = found.result()
    for pattern in wait or ():
        named(pattern, list(activity.names.values()))
    return activity


def _spans_of_tracks(busy: Changes, thing: I64) -> Spans:
    track, begin, end = busy.stretches(lambda count: count > 0)
    return Spans(track.astype(np.int32), thing[track].astype(np.int32), begin, end)


class _Parts:
    """Parts of what is known of all slices, or of the selected ones."""

    def __init__(self) -> None:
        self._regions: list[Spans] = []
        self._busy: list[Changes] = []

    def add(self, regions: Spans, busy: Spans, weight: NDArray[np.int8]) -> None:
        """Take in those of a run."""
        self._regions.append(regions)
        self._busy.append(Changes.of_spans(busy.track, busy.begin_cyc, busy.end_cyc, weight))

    def same_as_last(self, other: _Parts) -> None:
        """Take in what another took in last."""
        self._regions.append(other._regions[-1])
        self._busy.append(other._busy[-1])

    def joined(self) -> tuple[Spans, Changes]:
        """All of them."""
        return Spans.joined(self._regions), Changes.joined(self._busy)


class _Pass:
    """Puts runs together."""

    def __init__(self, source: Source, wait: Sequence[str]) -> None:
        self._source, self._wait = source, wait
        self._origin = origin_cyc(source) if has_starts(source) else origin_in_block_cyc(source.tracks)
        n = len(source.tracks)
        self._extents = Extents(n)
        self._busy_cyc, self._in_regions_cyc = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self._slices: list[Spans] = []
        self._closed: list[Bool] = []
        self._kept: list[Bool] = []
        self._is_thinned = False
        self._all, self._some = _Parts(), _Parts()
        self._waits: Bool = np.zeros(0, np.bool_)
        self._is_known: Bool = np.zeros(0, np.bool_)

    def add(self, run: Slices, keep: Bool | None) -> None:
        """Take in a run, and which of its slices are selected."""
        self._extents.add(run)
        self._learn_names(run.name)
        self._slices.append(self._placed(spans_of(run)))
        self._closed.append(run.closed)
        self._kept.append(np.ones(len(run), np.bool_) if keep is None else keep)
        inside, is_busy = Inside(run), ~self._waits[run.name]
        _add(self._in_regions_cyc, inside.of_any())
        spans, weight = inside.of_innermost(is_busy)
        _add(self._busy_cyc, spans.where(weight > 0))
        _add(self._busy_cyc, spans.where(weight < 0), -1)
        self._all.add(self._placed(inside.unions(np.ones(len(run), np.bool_))), self._placed(spans), weight)
        if keep is None:
            self._some.same_as_last(self._all)
            return
        self._is_thinned = True
        spans, weight = inside.of_innermost(is_busy & keep)
        self._some.add(self._placed(inside.unions(keep)), self._placed(spans), weight)

    def result(self) -> Activity:
        """All of it."""
        regions, busy = self._all.joined()
        kept_regions, kept_busy = self._some.joined() if self._is_thinned else (regions, busy)
        extents, origin = self._extents, self._origin
        active = extents.is_active
        begin = np.where(active, origin + extents.begin_cyc, 0)
        end = np.where(active, origin + extents.end_cyc, 0)
        return Activity(
            source=self._source,
            waits=self._waits,
            slices=Spans.joined(self._slices),
            closed=np.concatenate([np.zeros(0, np.bool_), *self._closed]),
            kept=np.concatenate([np.zeros(0, np.bool_), *self._kept]) if self._is_thinned else None,
            regions=regions,
            kept_regions=kept_regions,
            busy=busy,
            kept_busy=kept_busy,
            is_active=active,
            begin_cyc=begin,
            end_cyc=end,
            busy_cyc=self._busy_cyc,
            waiting_cyc=self._in_regions_cyc - self._busy_cyc,
            blocks=Places.of("block", self._source.tracks, active, begin, end),
        )

    def _placed(self, spans: Spans) -> Spans:
        """On the axis of the launch."""
        origin = self._origin[spans.track]
        return Spans(spans.track, spans.thing, origin + spans.begin_cyc, origin + spans.end_cyc)

    def _learn_names(self, name: I32) -> None:
        """Look at each name once: whether it is a waiting region's."""
        more = int(name.max()) + 1 - len(self._waits)
        if more > 0:
            self._waits = np.concatenate((self._waits, np.zeros(more, np.bool_)))
            self._is_known = np.concatenate((self._is_known, np.zeros(more, np.bool_)))
        for i in distinct(name[~self._is_known[name]]).tolist():
            text = self._source.spec.name_of(i)
            self._waits[i] = any(text == p or fnmatch.fnmatchcase(text, p) for p in self._wait)
            self._is_known[i] = True


def _add(cyc: I64, spans: Spans, times: int = 1) -> None:
    """Add lengths of a run's spans up by track, in place."""
    if len(spans):
        first, last = int(spans.track.min()), int(spans.track.max())
        cyc[first : last + 1] += times * exact_sums(spans.track - first, spans.dur_cyc, last - first + 1)
