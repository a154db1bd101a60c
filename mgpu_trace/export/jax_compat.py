"""Chrome JSON as JAX's own ``ProfilerSpec.dump`` writes it: for comparing, not for looking at.

The text is JAX's to the last bit wherever JAX's 32-bit arithmetic holds: the smallest gap between
neighbouring events is at least one cycle, and no time, with or without the start time, leaves
``0 .. 2**32 - 1``. Elsewhere the same formula is worked out in 64 bits, so that what is written is
what JAX means to write, and a finding says how many tracks differ. JAX refuses a whole buffer for
one broken track; here the broken tracks are left out, and a finding says how many.

The formula. An event's time is its clock less the track's first clock, less the event's number
times the probe cost (the smallest gap in the buffer, at most 12 cycles, less one); where that is
not after the event before it, it is one after it. Cycles are then added to the start time in
nanoseconds. docs/format.md says what is wrong with that; this module repeats it on purpose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

import numpy as np

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.export.ragged import Pool, write_ragged
from mgpu_trace.model import I64, U32, Bool, TraceBuffer, TrackFlag, Tracks
from mgpu_trace.spec import TraceSpec

__all__ = ["closes_open_regions", "write_jax_compat"]

# Words read at a time: a run's columns stay small whatever the shape of the tracks.
_RUN_WORDS: Final = 1 << 18
_LARGEST_OVERHEAD_GAP_CYC: Final = 12
_HALF_RANGE: Final = 1 << (layout.WORD_BITS - 1)
# The first JAX version that ends regions which the kernel left open.
_CLOSES_SINCE: Final = (0, 11, 1)
_LEFT_OUT: Final = TrackFlag.BROKEN | TrackFlag.OVERFULL | TrackFlag.OVERWRITTEN


def closes_open_regions(jax_version: str | None) -> bool:
    """Whether that JAX's dump ends open regions at the track's last event; unknown: as the newest."""
    release = layout.jax_release(jax_version)
    return release is None or release >= _CLOSES_SINCE


def write_jax_compat(
    buffer: TraceBuffer, tracks: Tracks, sink: BinaryIO, *, close_open: bool | None = None
) -> list[Diagnostic]:
    """Write ``buffer`` as ``ProfilerSpec.dump(words, sink, grid, block)`` would.

    Parameters
    ----------
    buffer, tracks
        The words, and what the headers say (of the decoder). Broken, overfull and overwritten
        tracks, and tracks with a tag that cannot be one, are left out.
    sink
        Takes UTF-8 bytes (ASCII only, as JAX's are), in pieces.
    close_open
        Whether regions that were never left end at their track's last event, as since JAX 0.11.1.
        By default as the spec's JAX version does.

    Returns
    -------
    list of Diagnostic
        MGT607 when tracks were left out, MGT608 when JAX's own numbers are others.
    """
    if close_open is None:
        close_open = closes_open_regions(buffer.spec.jax_version)
    survey = _survey(buffer, tracks)
    heads = _heads(buffer.spec, survey.unknown_ids)
    differs = np.zeros(len(tracks), np.bool_)

    sink.write(b'{"displayTimeUnit": "ns", "traceEvents": [')
    separator = b""
    order = survey.kept[np.argsort(tracks.start_ns[survey.kept], kind="stable")]
    for rows in _runs(order, buffer.spec.words_per_track):
        run = _read(buffer, tracks, rows)
        time, differs[rows] = _times(run, tracks.start_ns[rows], survey.overhead_cyc)
        row, kind, when = _lines(run, time, survey.kinds(run.name, run.is_exit), close_open=close_open)
        tails = Pool.of(_tail(tracks, track) for track in rows.tolist())
        sink.write(separator)
        write_ragged(sink, heads, kind, when, tails, row, separator=b", ")
        separator = b", "
    sink.write(b"]}")
    if survey.smallest_gap_cyc == 0:
        differs[survey.kept] |= tracks.n_events[survey.kept] > 1
    return _findings(buffer.spec, survey.left_out, differs)


@dataclass(frozen=True, slots=True)
class _Survey:
    """What has to be known of the whole buffer before the first line."""

    kept: I64
    left_out: Bool
    smallest_gap_cyc: int
    unknown_ids: I64
    n_known: int

    @property
    def overhead_cyc(self) -> int:
        return max(0, self.smallest_gap_cyc - 1)

    def kinds(self, name: I64, is_exit: Bool) -> I64:
        """The row in the table of heads: two for each name, known names first."""
        unknown = self.n_known + np.searchsorted(self.unknown_ids, name)
        return 2 * np.where(name < self.n_known, name, unknown) + is_exit


@dataclass(frozen=True, slots=True)
class _Run:
    """The events of some tracks, one row a track. ``is_valid`` is False beyond a track's end."""

    name: I64
    is_exit: Bool
    clock: U32
    is_valid: Bool

    @property
    def gap_cyc(self) -> U32:
        """``(n_rows, n_columns - 1)`` cycles from each event to the next, modulo 2**32."""
        return np.diff(self.clock, axis=1)


def _survey(buffer: TraceBuffer, tracks: Tracks) -> _Survey:
    """Read all events once: which tracks can be written, the smallest gap, and unknown names."""
    left_out = tracks.flags & _LEFT_OUT != 0
    n_known = len(buffer.spec.names or ())
    smallest, unknown = _LARGEST_OVERHEAD_GAP_CYC, np.empty(0, np.int64)
    for rows in _runs(np.flatnonzero((tracks.n_events > 0) & ~left_out), buffer.spec.words_per_track):
        run = _read(buffer, tracks, rows)
        garbage = _any((run.name > layout.MAX_NAME_ID) & run.is_valid)
        left_out[rows] |= garbage
        sound = run.is_valid & ~garbage[:, None]
        smallest = int(run.gap_cyc.min(where=sound[:, 1:], initial=smallest))
        seen = run.name[sound & (run.name >= n_known)]
        if seen.size:
            unknown = np.union1d(unknown, seen)
    kept = np.flatnonzero((tracks.n_events > 0) & ~left_out)
    return _Survey(kept, left_out, smallest, unknown, n_known)


def _runs(tracks: I64, words_per_track: int) -> Iterator[I64]:
    step = max(1, _RUN_WORDS // words_per_track)
    for first in range(0, len(tracks), step):
        yield tracks[first : first + step]


def _read(buffer: TraceBuffer, tracks: Tracks, rows: I64) -> _Run:
    n_events = tracks.n_events[rows]
    n_columns = int(n_events.max())
    last_word = layout.HEADER_WORDS + layout.WORDS_PER_EVENT * n_columns
    words = buffer.words[rows, layout.HEADER_WORDS : last_word]
    buffer.release(int(rows.min()), int(rows.max()) + 1)
    tag, clock = words[:, 0 :: layout.WORDS_PER_EVENT], words[:, 1 :: layout.WORDS_PER_EVENT]
    return _Run(
        (tag & np.uint32(layout.NAME_MASK)).astype(np.int64),
        tag >= layout.EXIT_BIT,
        clock,
        np.arange(n_columns) < n_events[:, None],
    )


def _times(run: _Run, start_ns: U32, overhead_cyc: int) -> tuple[I64, Bool]:
    """Start plus corrected cycles of every event, and the tracks where 32 bits cannot hold that."""
    number = np.arange(run.clock.shape[1])
    corrected = _since_first_cyc(run, start_ns) - overhead_cyc * number
    # "At least one after the event before it" is a running maximum once each time has its number off.
    time = start_ns[:, None] + np.maximum.accumulate(corrected - number, axis=1) + number
    outside = (corrected < 0) | (time >= layout.WORD_RANGE)
    return time, _any(outside & run.is_valid)


def _since_first_cyc(run: _Run, start_ns: U32) -> I64:
    """Cycles since each track's first event.

    A gap of 2**31 or more is a step back (docs/format.md). JAX takes it for one forward; that
    reading stands where the words themselves go up there, no time goes down, and the end fits
    into 32 bits.
    """
    gap = run.gap_cyc
    signed = np.zeros(run.clock.shape, np.int64)
    np.cumsum(gap.view(np.int32), axis=1, dtype=np.int64, out=signed[:, 1:])
    far = (gap >= _HALF_RANGE) & run.is_valid[:, 1:]
    if not far.any():
        return signed
    forward = (run.clock - run.clock[:, :1]).astype(np.int64)
    falls = (run.clock[:, 1:] < run.clock[:, :-1]) & far
    falls |= (forward[:, 1:] < forward[:, :-1]) & run.is_valid[:, 1:]
    end = start_ns + forward.max(axis=1, where=run.is_valid, initial=0)
    is_forward = ~_any(falls) & (end < layout.WORD_RANGE)
    return np.where(is_forward[:, None], forward, signed)


def _any(events: Bool) -> Bool:
    """``(n_rows,)``: whether any event of a row is set."""
    rows: Bool = np.any(events, axis=1)
    return rows


def _lines(run: _Run, time: I64, kind: I64, *, close_open: bool) -> tuple[I64, I64, I64]:
    """The lines to write: row of the run, kind and time of each, in order."""
    row = np.nonzero(run.is_valid)[0]
    lines = (row, kind[run.is_valid], time[run.is_valid])
    if not close_open:
        return lines
    step = np.where(run.is_valid, np.where(run.is_exit, -1, 1), 0)
    level = np.cumsum(step, axis=1)
    # Left at some time: the level falls below the enter's own. An exit of nothing changes none of that.
    lowest_after = np.minimum.accumulate(level[:, ::-1], axis=1)[:, ::-1]
    is_open = run.is_valid & ~run.is_exit & (lowest_after >= level)
    if not is_open.any():
        return lines
    # The innermost first, after everything else of the track, at the time of its last event.
    at = np.nonzero(is_open)[0][::-1]
    last = np.bincount(row, minlength=len(time))[at] - 1
    added = (at, kind[is_open][::-1] | 1, time[at, last])
    row, kind, when = (np.concatenate(pair) for pair in zip(lines, added, strict=True))
    order = np.argsort(row, kind="stable")
    return row[order], kind[order], when[order]


def _heads(spec: TraceSpec, unknown_ids: I64) -> Pool:
    """A line up to its time: for each name, the begin and the end."""
    names = [*(spec.names or ()), *map(spec.name_of, unknown_ids.tolist())]
    return Pool.of(
        f'{{"name": {json.dumps(name)}, "ph": "{phase}", "ts": '.encode() for name in names for phase in "BE"
    )


def _tail(tracks: Tracks, track: int) -> bytes:
    return f', "pid": {1 + int(tracks.sm[track])}, "tid": {1 + track}}}'.encode()


def _findings(spec: TraceSpec, left_out: Bool, differs: Bool) -> list[Diagnostic]:
    found = []
    if left_out.any():
        n = int(np.count_nonzero(left_out))
        message = (
            f"{n} of {len(left_out)} tracks left out: JAX's dump refuses the whole buffer because of them"
        )
        hint = "without --compat jax what can be read of them is shown"
        place = spec.place_of(int(np.argmax(left_out)))
        found.append(Diagnostic(catalogue.COMPAT_LEFT_OUT, message, n, *place, hint))
    if differs.any():
        n = int(np.count_nonzero(differs))
        message = f"{counted(n, 'track')} with times that JAX's 32-bit arithmetic gets wrong"
        place = spec.place_of(int(np.argmax(differs)))
        found.append(Diagnostic(catalogue.COMPAT_DIFFERS, message, n, *place))
    return found
