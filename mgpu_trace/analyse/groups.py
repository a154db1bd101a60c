"""What the rows of an answer are: slices by region, unit, role, SM, block, occurrence or phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.analyse.table import Values
from mgpu_trace.model import I64, Bool, Slices, Tracks
from mgpu_trace.spec import TraceSpec

KEYS: Final[dict[str, str]] = {
    "region": "the name",
    "unit": "index of the warp or warpgroup in its block",
    "role": "the unit's name",
    "sm": "SM id",
    "block": "index of the block, as --select takes it",
    "index": "occurrence of the name in its track, from 0",
    "phase": "prologue (first), steady or epilogue (last occurrence of a name in its track); or only",
}
PHASES: Final = ("only", "prologue", "steady", "epilogue")
ONLY, FIRST, STEADY, LAST = range(4)
_OF_TRACKS: Final = ("unit", "role", "sm", "block")


@dataclass(frozen=True, slots=True)
class Groups:
    """Numbers slices by the keys of an answer.

    A code is made of the name (the most significant part), the occurrence, the phase, and which of the
    launch's combinations of unit, SM and block the track is; each part only where it is a key.

    Attributes
    ----------
    keys
        Of :data:`KEYS`, in the order in which they were asked for.
    """

    keys: tuple[str, ...]
    _spec: TraceSpec
    _roles: Mapping[int, str]
    _of_track: I64
    _combinations: dict[str, I64]
    _n_combinations: int
    _n_index: int

    @classmethod
    def of(
        cls, keys: Sequence[str], spec: TraceSpec, tracks: Tracks, roles: Mapping[int, str] | None = None
    ) -> Groups:
        """The groups of a launch.

        Raises
        ------
        ValueError
            For a key that there is not, with a sentence.
        """
        unknown = [key for key in keys if key not in KEYS]
        if unknown:
            raise ValueError(f"no key {unknown[0]!r}; known keys: {', '.join(KEYS)}")
        columns = {key: _column(key, spec, tracks, roles or {}) for key in keys if key in _OF_TRACKS}
        of_track = np.zeros(len(tracks), np.int64)
        n = 1
        combinations: dict[str, I64] = {}
        for key, column in columns.items():
            # Densely numbered after each key, so that the numbers stay below that of the tracks.
            values, which = np.unique(column, return_inverse=True)
            found, of_track = np.unique(of_track * len(values) + which.reshape(-1), return_inverse=True)
            combinations = {key: column[found // len(values)] for key, column in combinations.items()}
            combinations[key] = values[found % len(values)]
            n = len(found)
        n_index = spec.words_per_track if "index" in keys else 1
        return cls(tuple(keys), spec, roles or {}, of_track, combinations, n, n_index)

    @property
    def needs_index(self) -> bool:
        return "index" in self.keys

    def codes(self, slices: Slices, phase: NDArray[np.int8]) -> NDArray[Any]:
        """``(n_slices,)`` the group of each slice."""
        keys = self.keys
        code: NDArray[Any] = slices.name if "region" in keys else np.zeros(len(slices), np.int64)
        if "index" in keys and slices.index is not None:
            code = code.astype(np.int64) * self._n_index + slices.index
        if "phase" in keys:
            code = code.astype(np.int64) * len(PHASES) + phase
        if self._n_combinations > 1:
            code = code.astype(np.int64) * self._n_combinations + self._of_track[slices.track]
        return code

    def is_over(self, code: I64, track: int) -> Bool:
        """``(n_groups,)``: which groups have no slice in tracks after that one."""
        last = np.zeros(self._n_combinations, np.int64)
        last[self._of_track] = np.arange(len(self._of_track))  # of several, the last one stays
        found: Bool = last[code % self._n_combinations] <= track
        return found

    def columns(self, code: I64) -> dict[str, Values]:
        """The keys of groups, as columns of the answer."""
        found: dict[str, Values] = {}
        code, combination = np.divmod(code, self._n_combinations)
        parts = {key: column[combination] for key, column in self._combinations.items()}
        if "phase" in self.keys:
            code, phase = np.divmod(code, len(PHASES))
            found["phase"] = [PHASES[i] for i in phase.tolist()]
        name, index = np.divmod(code, self._n_index)
        found["index"] = index
        if "region" in self.keys:
            found["region"] = [self._spec.name_of(i) for i in name.tolist()]
        found |= parts
        if "block" in parts:
            found["block"] = ["{},{},{}".format(*self._spec.block_xyz(i)) for i in parts["block"].tolist()]
        if "role" in parts:
            found["role"] = [role_of(self._spec, self._roles, i) for i in parts["role"].tolist()]
        return {key: found[key] for key in self.keys}


def role_of(spec: TraceSpec, roles: Mapping[int, str], unit: int) -> str:
    """A unit's role, or what it is: ``warpgroup 1``."""
    return roles.get(unit) or f"{spec.scope.label} {unit}"


def _column(key: str, spec: TraceSpec, tracks: Tracks, roles: Mapping[int, str]) -> I64:
    if key == "sm":
        return tracks.sm.astype(np.int64)
    if key == "block":
        return tracks.block
    if key == "unit":
        return tracks.unit
    # Units of one role are one: each is numbered after the first of them.
    first: dict[str, int] = {}
    of_unit = [first.setdefault(role_of(spec, roles, unit), unit) for unit in range(spec.tracks_per_block)]
    return np.array(of_unit, np.int64)[tracks.unit]


def phases(slices: Slices) -> NDArray[np.int8]:
    """``(n_slices,)`` of each slice which of :data:`PHASES` it is among those of its name and track.

    Takes whole tracks; also of lanes, since rows are in the order of their enters.
    """
    first, last = _first_and_last(slices)
    phase = np.full(len(slices), STEADY, np.int8)
    phase[first], phase[last] = FIRST, LAST
    phase[first & last] = ONLY
    return phase


def _first_and_last(slices: Slices) -> tuple[Bool, Bool]:
    key = (slices.track - slices.track[:1]).astype(np.int64)
    n_names = int(slices.name.max(initial=0)) + 1
    key *= n_names
    key += slices.name
    size = (int(slices.track[-1] - slices.track[0]) + 1) * n_names if len(slices) else 0
    if size > 4 * len(slices) + 4096:
        key = np.unique(key, return_inverse=True)[1].reshape(-1)
        size = len(slices)
    row = np.arange(len(slices))
    of = np.empty(size, np.int64)
    of[key] = row  # of several, the last one stays
    last = of[key] == row
    of[key[::-1]] = row[::-1]
    return of[key] == row, last
