"""What the rows of an answer are, and the phases of slices, one at a time."""

from __future__ import annotations

import numpy as np
import pytest
import slow_stats
from hypothesis import given
from hypothesis import strategies as st
from slow_stats import PHASES, Row
from tracks_by_hand import enter, launch, leave, track

from mgpu_trace.analyse.groups import KEYS, Groups, phases, role_of
from mgpu_trace.decode import decode
from mgpu_trace.model import Slices
from mgpu_trace.pipeline import Launch
from mgpu_trace.spec import TraceSpec

LARGEST_NAME = 2**20 - 1
NAMES = st.one_of(st.integers(0, 3), st.sampled_from((LARGEST_NAME, LARGEST_NAME - 1, 1000)))


def slices_of(rows: list[tuple[int, int]]) -> Slices:
    """Slices of no length with these tracks and names."""
    n = len(rows)
    track, name = (np.array([row[i] for row in rows], np.int32) for i in (0, 1))
    zeros = np.zeros(n, np.int64)
    return Slices(track, name, zeros.astype(np.int16), zeros.astype(np.int32), zeros, zeros, zeros < 1)


@given(st.lists(st.tuples(st.integers(0, 5) | st.sampled_from((70_000, 2**31 - 1)), NAMES), max_size=40))
def test_phases_also_of_few_slices_with_many_names_and_tracks(rows) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    told = slow_stats.tell([Row(track, name, 0, 0) for track, name in rows])
    assert [PHASES[i] for i in phases(slices_of(rows))] == [t.phase for t in told]


def test_phases_of_lanes_are_in_the_order_of_enters() -> None:
    """b crosses a and goes to a lane of its own; the a's are the first, one between and the last."""
    events = [
        enter(0, 0),
        enter(1, 5),
        leave(0, 9),
        enter(0, 12),
        leave(1, 15),
        leave(0, 20),
        enter(0, 21),
        leave(0, 22),
    ]
    slices = decode(launch(track(0, 0, *events), words=30)).slices
    assert slices.lane.max() == 1
    assert [PHASES[i] for i in phases(slices)] == ["prologue", "only", "steady", "epilogue"]


def spec_of(**more: object) -> TraceSpec:
    return TraceSpec(grid=(2, 3, 2), block=(384, 1, 1), words_per_track=20, **more)  # type: ignore[arg-type]


def test_roles_put_units_together() -> None:
    spec = spec_of()
    assert [role_of(spec, {1: "mma", 2: "mma", 0: ""}, unit) for unit in range(3)] == [
        "warpgroup 0",
        "mma",
        "mma",
    ]


@pytest.mark.parametrize("keys", [("warp",), ("region", "Region"), ("",)])
def test_an_unknown_key_is_named_with_those_that_there_are(keys: tuple[str, ...]) -> None:
    source = Launch(launch(track(0, 0, enter(0, 1), leave(0, 2))))
    with pytest.raises(ValueError, match=f"no key {keys[-1]!r}; known keys: {', '.join(KEYS)}"):
        Groups.of(keys, source.spec, source.tracks)


def test_a_role_that_is_called_as_another_unit_is() -> None:
    """Units 0 and 1 have one name, said of one and by default of the other: they are one row."""
    rows = [track(0, 0, enter(0, 10 * i), leave(0, 10 * i + 3)) for i in range(3)]
    source = Launch(launch(*rows, grid=(1, 1, 1), block=(384, 1, 1)))
    groups = Groups.of(("role",), source.spec, source.tracks, {0: "warpgroup 1"})
    run = next(source.runs())
    columns = groups.columns(groups.codes(run, phases(run)).astype(np.int64))
    assert columns["role"] == ["warpgroup 1", "warpgroup 1", "warpgroup 2"]
    assert len({*groups.codes(run, phases(run)).tolist()}) == 2
