"""Statistics, on launches whose truth is known and on any others, against the slow ones."""

from __future__ import annotations

import fnmatch
import math
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import reference
import slow_stats
from hypothesis import given
from hypothesis import strategies as st
from slow_stats import Row, Told
from strategies import Made, corrupted_launches, random_launches, sound_launches

import mgpu_trace
from mgpu_trace.analyse.groups import KEYS
from mgpu_trace.analyse.select import Selection, parse_selection
from mgpu_trace.analyse.stats import COLUMNS
from mgpu_trace.layout import Scope
from mgpu_trace.model import TraceBuffer
from mgpu_trace.pipeline import Launch
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth import Region, Role, SynthConfig, Synthetic, synthesise

LAUNCHES = st.one_of(sound_launches(), random_launches(), corrupted_launches())
BY = st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=4, unique=True)
ROLES = st.dictionaries(st.integers(0, 3), st.sampled_from(("load", "mma")), max_size=4)
SELECT = st.lists(
    st.sampled_from(("sm=0-1", "sm=3", "unit=0", "unit=1-2", "block=0", "block=1,0,0", "name=a", "name=[bc]*",
                     "name=name 1", "time=:20us", "time=100ns:5us", "time=1ms:")), max_size=2,
)  # fmt: skip


def launch_of(made: Made | Synthetic, run_events: int | None = None, **options: Any) -> Launch:
    launch = Launch(TraceBuffer.from_flat(made.words.reshape(-1), made.spec), **options)
    if run_events is not None:
        launch._decoder.run_events = run_events
    return launch


def place(spec: TraceSpec, sm: dict[int, int], roles: dict[int, str], by: list[str]) -> Any:
    """The key of a row, as the answer has it."""

    def key(told: Told) -> tuple[Any, ...]:
        track = told.row.track
        block, unit = divmod(track, spec.tracks_per_block)
        _, gy, gz = spec.grid
        label = "warp" if spec.scope is Scope.WARP else "warpgroup"
        parts = {
            "region": spec.name_of(told.row.name),
            "unit": unit,
            "role": roles.get(unit, f"{label} {unit}"),
            "sm": sm[track],
            "block": f"{block // (gy * gz)},{block // gz % gy},{block % gz}",
            "index": told.index,
            "phase": told.phase,
        }
        return tuple(parts[k] for k in by)

    return key


def assert_same(
    table: mgpu_trace.Table, by: list[str], want: dict[tuple[Any, ...], dict[str, Any]], facts: dict[str, Any]
) -> None:
    rows = table.rows()
    assert [name.removesuffix("_cyc") for name in table.columns] == [*by, *COLUMNS]
    assert len(rows) == len(want)
    for row in rows:
        for name, value in want[tuple(row[key] for key in by)].items():
            assert row[name] == near(value), (name, row)
    assert {key: table.facts[key] for key in facts} == facts


def near(value: Any) -> Any:
    """Whole numbers as they are, others to the last few digits."""
    return pytest.approx(value, rel=1e-12, abs=1e-12) if isinstance(value, float) else value


def truth_of(made: Synthetic) -> list[Row]:
    t = made.truth
    return [
        Row(*row)
        for row in zip(*(c.tolist() for c in (t.track, t.name, t.start_cyc, t.dur_cyc)), strict=True)
    ]


REGIONS = st.recursive(
    st.builds(Region, st.sampled_from("abcdef"), st.integers(0, 3000)),
    lambda inner: st.builds(
        Region, st.sampled_from("abcdef"), st.integers(0, 300), st.lists(inner, max_size=3).map(tuple),
        st.integers(1, 3) | st.none(),
    ),
    max_leaves=5,
)  # fmt: skip
ROLE = st.builds(
    Role, st.just("any"), *[st.lists(REGIONS, min_size=n, max_size=3).map(tuple) for n in (1, 0, 0)]
)
CONFIGS = st.builds(
    SynthConfig,
    n_sms=st.integers(1, 4),
    resident=st.integers(1, 3),
    grid=st.sampled_from(((1, 1, 1), (3, 1, 1), (2, 2, 2), (9, 1, 1))),
    block=st.sampled_from(((128, 1, 1), (384, 1, 1))),
    roles=st.lists(ROLE, min_size=1, max_size=3).map(tuple),
    n_iterations=st.integers(0, 4),
)


@given(CONFIGS, st.integers(0, 2**32 - 1), BY, ROLES, st.booleans())
def test_what_really_happened(config, seed, by, roles, steady):
    """Every statistic is that of the true timeline, of which the reader has seen nothing."""
    made = synthesise(config, seed)
    truth = truth_of(made)
    t = made.truth
    sm = dict(zip(t.track.tolist(), t.sm.tolist(), strict=True))
    events = [sorted([r.start for r in mine] + [r.start + r.dur for r in mine]) for mine in tracks_of(truth)]
    gap = min((b - a for track in events for a, b in pairwise(track)), default=None)
    roles = {unit: role for unit, role in roles.items() if unit < made.spec.tracks_per_block}
    want, facts = slow_stats.statistics(truth, place(made.spec, sm, roles, by), steady=steady, gap=gap)
    launch = launch_of(made)
    for source in (launch, launch_of(made, run_events=17), launch_of(made).timeline()):
        table = mgpu_trace.stats(source, by=by, steady=steady, unit="cyc", roles=roles)
        assert_same(table, by, want, facts)
        begin, end = min(r.start for r in truth), max(r.start + r.dur for r in truth)
        # Exact on one SM; an SM is placed to one step of the global timer against another.
        off = 0.0 if len({*sm.values()}) == 1 else config.step_ns * config.clock_khz / 1e6 + 1
        assert table.facts["launch_cyc"] == pytest.approx(end - begin, abs=off, rel=0)


def tracks_of(rows: list[Row]) -> list[list[Row]]:
    return [[r for r in rows if r.track == track] for track in sorted({r.track for r in rows})]


def chosen(selection: Selection, spec: TraceSpec, sm: dict[int, int], clock: Any) -> tuple[Any, Any]:
    """What --select says of tracks and of slices, one at a time."""

    def keeps(track: int) -> bool:
        block, unit = divmod(track, spec.tracks_per_block)
        _, gy, gz = spec.grid
        place = (block // (gy * gz), block // gz % gy, block % gz)
        return (
            (not selection.sm or any(a <= sm[track] <= b for a, b in selection.sm))
            and (not selection.unit or any(a <= unit <= b for a, b in selection.unit))
            and (not selection.block or place in selection.block)
        )

    def selects(row: Row) -> bool:
        name = spec.name_of(row.name)
        if selection.name and not any(fnmatch.fnmatchcase(name, pattern) for pattern in selection.name):
            return False
        origin = float(clock.origin_ns[row.track])
        begin, end = (
            math.floor(origin + cyc * clock.ns_per_cyc + 0.5) for cyc in (row.start, row.start + row.dur)
        )
        windows = selection.time_ns
        return not windows or any(begin <= last and end >= first for first, last in windows)

    return keeps, selects


def smallest_gap(made: Made) -> int | None:
    """Between neighbouring events, by the rules of docs/format.md, before any overhead is taken off."""
    found: list[int] = []
    for row, track in zip(made.words.tolist(), reference.decode(made.words, made.spec).tracks, strict=True):
        events = [(row[3 + 2 * i], row[4 + 2 * i]) for i in range(track.n_skipped, track.n_events)]
        clocks = [clock for tag, clock in events if tag % 2**31 < 2**20]
        times = reference.level(reference.read_times(clocks), track, defaultdict(list))
        found += [b - a for a, b in pairwise(times)]
    return min(found, default=None)


@given(
    LAUNCHES, BY, SELECT, ROLES, st.booleans(), st.sampled_from((0, 0, 7)), st.sampled_from((None, 1000.0))
)
def test_any_launch_also_a_broken_one(made, by, select, roles, steady, overhead, mhz):
    spec = replace(made.spec, sm_clock_mhz=mhz)
    made = replace(made, spec=spec)
    answer = reference.decode(made.words, spec, overhead)
    rows = [Row(s.track, s.name, s.start_cyc, s.dur_cyc, s.closed) for s in answer.slices]
    sm = {track.number: track.sm for track in answer.tracks}
    roles = {unit: role for unit, role in roles.items() if unit < spec.tracks_per_block}
    gap = smallest_gap(made)
    selection = parse_selection(select)
    for run_events in (None, 5):
        launch = launch_of(made, run_events, overhead=overhead or "none")
        launch.selection = selection
        keeps, selects = chosen(selection, spec, sm, launch.clock)
        want, facts = slow_stats.statistics(
            rows, place(spec, sm, roles, by), keeps=keeps, selects=selects, steady=steady, gap=gap
        )
        table = mgpu_trace.stats(launch, by=by, steady=steady, unit="cyc", roles=roles)
        assert_same(table, by, want, facts)
    if not select:
        timeline = launch.timeline()
        table = mgpu_trace.stats(timeline, by=by, steady=steady, unit="cyc", roles=roles)
        if table.facts["smallest_gap_cyc"] is None:  # said only where the slices tell of all events
            want, _ = slow_stats.statistics(rows, place(spec, sm, roles, by), steady=steady)
            orphans = any(code in answer.found for code in ("MGT404", "MGT302", "MGT407"))
            assert orphans or overhead or gap is None
        assert_same(table, by, want, facts | {"smallest_gap_cyc": table.facts["smallest_gap_cyc"]})
        assert table.facts["smallest_gap_cyc"] in (None, gap)
