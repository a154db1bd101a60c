"""The one path, spelled once: file -> buffer -> tracks and slices -> clock -> Timeline.

:func:`open_launch` gives a :class:`Launch`, which decodes in runs as it is read and so handles a
buffer of any size; :func:`load` gives the whole :class:`~mgpu_trace.model.Timeline` at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from mgpu_trace.analyse.select import Selection
from mgpu_trace.clock import ClockModel, fit_clock
from mgpu_trace.decode import Decoder
from mgpu_trace.diagnostics import Diagnostic, Report, catalogue
from mgpu_trace.diagnostics.clip import clipped
from mgpu_trace.model import I64, Bool, Slices, Timeline, TraceBuffer, Tracks
from mgpu_trace.read import read_trace
from mgpu_trace.spec import SpecOptions, TraceSpec

Overhead = int | Literal["none", "auto"]

# What one probe costs is at most this on the parts where it was looked at; JAX uses the same bound.
MAX_AUTO_OVERHEAD_CYC: Final = 12

# The finding about --overhead names this many regions; the metadata has all of them.
_REGIONS_SAID: Final = 8


@dataclass(frozen=True, slots=True)
class Totals:
    """What :meth:`Launch.scan` counts: slices by name id, and the end of the last slice."""

    n_slices_by_name: dict[int, int]
    end_ns: int


class Launch:
    """One launch, decoded in runs of tracks whenever :meth:`runs` is called.

    Attributes
    ----------
    source
        The file it was read from, as the caller named it; None for a buffer in memory.
    buffer, spec, tracks, clock
        What was read, and what the headers say.
    selection
        What :meth:`runs` keeps; set it before reading.
    on_run
        Called with (tracks done, tracks in all) after each run; for progress bars.
    n_slices
        Slices that the last complete :meth:`runs` gave.
    """

    def __init__(
        self,
        buffer: TraceBuffer,
        *,
        source: str | None = None,
        found: tuple[Diagnostic, ...] = (),
        overhead: Overhead = "none",
        with_index: bool = False,
    ) -> None:
        self.source = source
        self.buffer = buffer
        self.selection = Selection()
        self.on_run: Callable[[int, int], None] | None = None
        self.n_slices = 0
        self._decoder = Decoder(buffer, with_index=with_index)
        self._decoder.overhead_cyc = self._overhead_cyc(overhead)
        clock, of_clock = fit_clock(buffer.spec, self._decoder.tracks)
        if overhead != "none":
            kind = "auto" if overhead == "auto" else "flag"
            clock = replace(clock, overhead_cyc=self._decoder.overhead_cyc, overhead_source=kind)
        self.clock: ClockModel = clock
        self._found = (*found, *of_clock)
        self._removed_by_name = np.zeros(0, np.int64)
        self._selects_nothing = False

    @property
    def spec(self) -> TraceSpec:
        return self.buffer.spec

    @property
    def tracks(self) -> Tracks:
        return self._decoder.tracks

    @property
    def n_lost_events(self) -> int:
        """Events known to be lost, left out or overwritten; complete once the runs were read."""
        return self._decoder.n_lost_events

    @property
    def report(self) -> Report:
        """Every finding so far; complete once the runs were read."""
        found = Report(self._found) + self._decoder.report()
        if self.clock.overhead_source != "none":
            found += (self._overhead_said(),)
        if self._selects_nothing:
            hint = "mgpu-trace info lists the names and SMs"
            found += (Diagnostic(catalogue.NOTHING_SELECTED, "no slice matches the selection", hint=hint),)
        return found if self.source is None else Report.of(d.in_file(self.source) for d in found)

    @property
    def kept_tracks(self) -> Bool:
        """``(n_tracks,)``: the tracks that the selection keeps."""
        return self.selection.tracks(self.spec, self.tracks)

    def track_extents(self) -> I64:
        """``(n_tracks,)`` cycles from each track's first event to its last; -1 where none is read.

        Of all tracks and all events, whatever is selected. Reads the buffer, but pairs nothing.
        """
        return self._decoder.track_extents()

    def touches(self, begin_ns: I64, end_ns: I64) -> Bool:
        """``(n,)``: which spans of time touch a selected window; all, where none is selected."""
        return self.selection.touches(begin_ns, end_ns)

    def runs(self) -> Iterator[Slices]:
        """The selected slices, in runs of tracks."""
        for run, keep in self.whole_runs():
            kept = run if keep is None else run.where(keep)
            if len(kept):
                yield kept

    def whole_runs(self) -> Iterator[tuple[Slices, Bool | None]]:
        """The slices of whole tracks, in runs, and which of them are selected; None: all."""
        keep_track = self.kept_tracks
        selects = self.selection != Selection()
        self.n_slices = 0
        self._removed_by_name = np.zeros(0, np.int64)
        for run in self._decoder.runs():
            keep = self.selection.rows(self.spec, self.clock, keep_track, run) if selects else None
            self.n_slices += len(run) if keep is None else int(np.count_nonzero(keep))
            if run.removed_cyc is not None:
                kept = run if keep is None else run.where(keep)
                self._removed_by_name = _add(self._removed_by_name, kept, kept.removed_cyc)
            last_track = int(run.track[-1]) if len(run) else 0
            yield run, keep
            if self.on_run is not None:
                self.on_run(last_track + 1, len(self.tracks))
        if self.on_run is not None:
            self.on_run(len(self.tracks), len(self.tracks))
        self._selects_nothing = selects and not self.n_slices

    def watch_gap(self) -> None:
        """Let the runs look for :attr:`gap_cyc`."""
        self._decoder.watch_gap = True

    @property
    def gap_cyc(self) -> int | None:
        """Smallest number of cycles between two neighbouring events of a track, where it was looked for."""
        return self._decoder.gap_cyc

    def timeline(self) -> Timeline:
        """All of it in memory."""
        slices = Slices.collect(self.runs(), self._decoder.n_events)
        about = self.spec, self.tracks, slices, self.clock, self.report
        return Timeline(*about, extents=self.track_extents(), kept=self.kept_tracks)

    def scan(self) -> Totals:
        """Read all runs, for the report and what can be said in a few numbers."""
        counts, end_ns = np.zeros(0, np.int64), 0
        for run in self.runs():
            counts = _add(counts, run, None)
            end_ns = max(end_ns, int(self.clock.to_ns(run.track, run.start_cyc + run.dur_cyc).max()))
        return Totals({int(i): int(counts[i]) for i in np.flatnonzero(counts)}, end_ns)

    def removed_cyc_by_name(self) -> dict[str, int]:
        """Probe cost taken off each region's durations, in cycles, once the runs were read."""
        removed = self._removed_by_name
        return {self.spec.name_of(int(i)): int(removed[i]) for i in np.flatnonzero(removed)}

    def more_facts(self) -> dict[str, Any]:
        """What the outputs' metadata says besides spec, clock and report."""
        facts: dict[str, Any] = {"source": self.source, "n_lost_events": self.n_lost_events}
        if self.selection != Selection():
            facts["selection"] = self.selection.to_dict()
        if self.clock.overhead_source != "none":
            facts["overhead_removed_cyc"] = self.removed_cyc_by_name()
        return facts

    def summary(self) -> str:
        """One line, always the same shape: tracks, slices, losses, and the clock."""
        return (
            f"{_counted(len(self.tracks), 'track')}, {_counted(self.n_slices, 'slice')}, "
            f"{self.n_lost_events} dropped; "
            f"{self.clock.describe()}"
        )

    def _overhead_cyc(self, overhead: Overhead) -> int:
        if overhead == "none":
            return 0
        if overhead != "auto":
            return overhead
        gap = self._decoder.smallest_gap_cyc()
        return 0 if gap is None else max(0, min(gap, MAX_AUTO_OVERHEAD_CYC) - 1)

    def _overhead_said(self) -> Diagnostic:
        cyc = self.clock.overhead_cyc
        message = f"{cyc} cycles of probe cost taken off for every event before the one at hand"
        removed = sorted(self.removed_cyc_by_name().items(), key=lambda region: -region[1])
        if removed:
            regions = ", ".join(f"{clipped(name)} {cyc}" for name, cyc in removed[:_REGIONS_SAID])
            rest = len(removed) - _REGIONS_SAID
            message += f"; in all, in cycles: {regions}" + (f" and {rest} more regions" if rest > 0 else "")
        return Diagnostic(catalogue.OVERHEAD_REMOVED, message)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _add(total: I64, run: Slices, weight: I64 | None) -> I64:
    """``total`` by name id, plus the run's slices (or their weights)."""
    # Sums of weights stay exact: float64 holds integers up to 2**53.
    more = np.bincount(run.name, weight).astype(np.int64)
    if len(more) < len(total):
        total, more = more, total
    more[: len(total)] += total
    return more


def open_launch(
    source: str | os.PathLike[str],
    options: SpecOptions | None = None,
    *,
    array: str | None = None,
    overhead: Overhead = "none",
    with_index: bool = False,
) -> Launch:
    """Read a buffer and its headers; the events follow when :meth:`Launch.runs` is called.

    Parameters
    ----------
    source
        A ``.npy``, ``.npz`` or raw file, or ``"-"`` for standard input.
    options
        What the caller says about the launch; wins over every file.
    array
        Which array of a ``.npz`` to take.
    overhead
        Probe cost to take off: ``"none"`` (raw times), cycles per event, or ``"auto"``: the smallest
        gap between two events of a track, at most 12 cycles, less one.
    with_index
        Whether slices carry the occurrence of their name in the track.

    Raises
    ------
    MgpuTraceError
        MGT1xx when the file cannot be read, MGT2xx when the spec cannot be right.
    """
    read = read_trace(source, options or SpecOptions(), array=array)
    name = "<stdin>" if os.fspath(source) == "-" else os.fspath(source)
    return Launch(read.buffer, source=name, found=read.diagnostics, overhead=overhead, with_index=with_index)


def load(
    source: str | os.PathLike[str], options: SpecOptions | None = None, *, array: str | None = None
) -> Timeline:
    """The whole timeline of one file; see :func:`open_launch`."""
    return open_launch(source, options, array=array).timeline()
