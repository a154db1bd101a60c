"""``--select KEY=VALUE``: which tracks and slices to keep, at export.

Different keys must all match; the same key given again adds to what it matches.
"""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mgpu_trace.model import I32, I64, Bool, Slices, Tracks
from mgpu_trace.spec import Dim3, TraceSpec

if TYPE_CHECKING:
    from mgpu_trace.clock import ClockModel

KEYS: Final[dict[str, str]] = {
    "sm": "SM ids, such as sm=0-3,7",
    "block": "one block, such as block=3,0,0",
    "unit": "warps or warpgroups of a block, such as unit=0-1",
    "name": "a region's name with * and ?, such as 'name=wait*'",
    "time": "a window since the launch's first event, such as time=10us:25us (either end may be left out)",
}
_UNIT_NS: Final = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "": 1.0}
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Selection:
    """What to keep; an empty tuple keeps everything.

    Attributes
    ----------
    sm, unit
        Inclusive ranges.
    block
        Block indices; missing dimensions are 0.
    name
        Patterns with ``*``, ``?`` and ``[...]``; upper and lower case differ.
    time_ns
        Windows ``(begin, end)``; a slice that touches one is kept whole.
    """

    sm: tuple[Range, ...] = ()
    block: tuple[Dim3, ...] = ()
    unit: tuple[Range, ...] = ()
    name: tuple[str, ...] = ()
    time_ns: tuple[tuple[float, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What is selected, JSON-ready; keys that keep everything are left out."""
        out: dict[str, Any] = {key: getattr(self, key) for key in ("sm", "block", "unit", "name")}
        out["time_ns"] = [[t if math.isfinite(t) else None for t in window] for window in self.time_ns]
        return {key: value for key, value in out.items() if value}

    def tracks(self, spec: TraceSpec, tracks: Tracks) -> Bool:
        """``(n_tracks,)``: which tracks match."""
        keep = np.ones(len(tracks), np.bool_)
        if self.sm:
            keep &= _in_ranges(tracks.sm.astype(np.int64), self.sm)
        if self.unit:
            keep &= _in_ranges(tracks.unit, self.unit)
        if self.block:
            _, gy, gz = spec.grid
            flat = [(x * gy + y) * gz + z for x, y, z in self.block if y < gy and z < gz]
            keep &= np.isin(tracks.block, flat)
        return keep

    def rows(self, spec: TraceSpec, clock: ClockModel, keep_track: Bool, slices: Slices) -> Bool | None:
        """``(n_slices,)``: which slices match, of the tracks that match; None: all."""
        keep = keep_track[slices.track]
        if self.name:
            keep &= _named(spec, slices.name, self.name)
        if self.time_ns:
            keep &= self.touches(*clock.begin_end_ns(slices.track, slices.start_cyc, slices.dur_cyc))
        return None if keep.all() else keep

    def touches(self, begin_ns: I64, end_ns: I64) -> Bool:
        """``(n,)``: which spans of time touch a window; all, where there is none."""
        if not self.time_ns:
            return np.ones(len(begin_ns), np.bool_)
        windows = [(begin_ns <= last) & (end_ns >= first) for first, last in self.time_ns]
        found: Bool = np.logical_or.reduce(windows)
        return found


def parse_selection(texts: Sequence[str]) -> Selection:
    """Parse ``KEY=VALUE`` texts.

    Raises
    ------
    ValueError
        With one sentence that says what was wrong and what is known.
    """
    found: dict[str, list[Any]] = {key: [] for key in KEYS}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip().lower()
        if not equals or key not in KEYS:
            raise ValueError(f"{text!r}: unknown key {key!r}; known keys: {'; '.join(KEYS.values())}")
        try:
            found[key].extend(_PARSERS[key](value.strip()))
        except ValueError:
            raise ValueError(f"{text!r}: expected {KEYS[key]}") from None
    found["time_ns"] = found.pop("time")
    return Selection(**{key: tuple(values) for key, values in found.items()})


def _in_ranges(value: I64, ranges: Sequence[Range]) -> Bool:
    out: Bool = np.logical_or.reduce([(value >= first) & (value <= last) for first, last in ranges])
    return out


def _named(spec: TraceSpec, name: I32, patterns: Sequence[str]) -> Bool:
    """Which of the name ids match; every id that occurs is looked at once."""
    ids, inverse = np.unique(name, return_inverse=True)
    matches = [any(fnmatch.fnmatchcase(spec.name_of(int(i)), p) for p in patterns) for i in ids]
    return np.array(matches, np.bool_)[inverse]


def _number(text: str) -> int:
    """A plain number: int() also takes 1_000, signs, and the digits of other scripts."""
    if not re.fullmatch(r"\s*[0-9]{1,20}\s*", text):
        raise ValueError
    return int(text)


def _ranges(text: str) -> list[Range]:
    out = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        a = _number(first)
        b = _number(last) if dash else a
        if a > b:
            raise ValueError
        out.append((a, b))
    return out


def _block(text: str) -> list[Dim3]:
    numbers = [_number(n) for n in text.strip("()").split(",")]
    if len(numbers) > 3:
        raise ValueError
    x, y, z = (*numbers, 0, 0)[:3]
    return [(x, y, z)]


def _name(text: str) -> list[str]:
    return [text]


def _window(text: str) -> list[tuple[float, float]]:
    first, colon, last = text.partition(":")
    if not colon:
        raise ValueError
    begin = _time_ns(first) if first.strip() else float("-inf")
    end = _time_ns(last) if last.strip() else float("inf")
    if begin > end:
        raise ValueError
    return [(begin, end)]


def _time_ns(text: str) -> float:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ns|us|µs|ms|s|)\s*", text)
    if match is None:
        raise ValueError
    return float(match[1]) * _UNIT_NS[match[2]]


_PARSERS: Final[dict[str, Callable[[str], list[Any]]]] = {
    "sm": _ranges,
    "block": _block,
    "unit": _ranges,
    "name": _name,
    "time": _window,
}
