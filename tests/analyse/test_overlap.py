"""What ran beside what, on launches whose truth is known and on any others, against the slow answers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import reference
import slow_overlap
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_overlap import World
from slow_stats import Row, chosen, launch_of, near, truth_of
from strategies import corrupted_launches, random_launches, sound_launches

import mgpu_trace
from mgpu_trace.analyse import overlap_sweep, selftime
from mgpu_trace.analyse.select import parse_selection
from mgpu_trace.analyse.source import origin_cyc
from mgpu_trace.layout import Scope
from mgpu_trace.model import Timeline
from mgpu_trace.pipeline import Launch
from mgpu_trace.synth import Region, Role, SynthConfig, synthesise

LAUNCHES = st.one_of(sound_launches(), random_launches(), corrupted_launches())
ROLES = st.dictionaries(st.integers(0, 3), st.sampled_from(("load", "mma")), max_size=4)
SELECT = st.lists(
    st.sampled_from(("sm=0-1", "sm=3", "unit=0", "unit=1-2", "block=0", "block=1,0,0", "name=a", "name=[bc]*",
                     "name=region_1", "time=:20us", "time=100ns:5us", "time=1ms:")), max_size=2,
)  # fmt: skip
BY = st.sampled_from(("region", "unit", "role"))
ON = st.sampled_from(("block", "sm"))
# Region 1 of any launch; nothing; two of them.
WAIT = st.sampled_from((("b", "region_1"), ("nothing",), ("[ac]", "region_0", "region_2")))


def world_of(made: Any, launch: Launch, select: Any, wait: Any, overhead: int = 0) -> World:
    """A launch as the slow decoder reads it, placed on one axis by the clock model."""
    answer = reference.decode(made.words, made.spec, overhead)
    origin = origin_cyc(launch).tolist()
    if "MGT310" in answer.found:  # the counter of a block's SM is all there is
        for block in range(made.spec.n_blocks):
            live = [t for t in answer.tracks if t.block == block and t.n_events > t.n_skipped]
            since = [(t.first_clock - live[0].first_clock + 2**31) % 2**32 - 2**31 for t in live]
            for t, cyc in zip(live, since, strict=True):
                origin[t.number] = cyc - min(since)
    sm = {track.number: track.sm for track in answer.tracks}
    keeps, selects = chosen(select, made.spec, sm, launch.clock)
    own = [Row(s.track, s.name, s.start_cyc, s.dur_cyc, s.closed) for s in answer.slices]
    return World(
        made.spec,
        [row._replace(start=origin[row.track] + row.start) for row in own],
        sm,
        {track.number: track.flags for track in answer.tracks},
        wait,
        keeps,
        lambda i: selects(own[i]),
    )


def without_starts(made: Any) -> Any:
    """As JAX up to 0.4.31 wrote it."""
    made.words[:, :2] = 0
    return made


def occurring(world: World) -> set[str]:
    return {world.spec.name_of(row.name) for row in world.rows}


def kinds(spec: Any, by: str, roles: dict[int, str]) -> Any:
    label = "warp" if spec.scope is Scope.WARP else "warpgroup"
    if by == "unit":
        return lambda unit: unit
    return lambda unit: roles.get(unit, f"{label} {unit}") if by == "role" else None


def assert_matrix(table: mgpu_trace.Table, world: World, by: str, on: str, kind: Any) -> None:
    """Every pair of things that take time is there, the largest first, and nothing else."""
    of_a, of_b, both = slow_overlap.overlaps(world, by, on, kind)
    name = world.spec.name_of if by == "region" else lambda thing: thing
    # Two ids may share a name; which of them comes first is not in the table.
    want = sorted(
        (str(name(a)), str(name(b)), of_a[a], both[a, b]) for a in of_a for b in of_b if of_a[a] and of_b[b]
    )
    rows = table.rows()
    assert sorted((str(r["a"]), str(r["b"]), r["total_cyc"], r["overlap_cyc"]) for r in rows) == want
    totals = [row["total_cyc"] for row in rows]
    assert totals == sorted(totals, reverse=True)
    for row in rows:
        assert row["share"] == row["overlap_cyc"] / row["total_cyc"]
    n = sum(1 for time in of_b.values() if time)
    first = [row["b"] for row in rows[:n]]
    assert all([row["b"] for row in rows[i : i + n]] == first for i in range(0, len(rows), max(n, 1)))
    assert table.facts["n_left_out"] == table.facts["left_out_cyc"] == 0


def assert_states(table: mgpu_trace.Table, world: World) -> None:
    want = slow_overlap.states(world)
    rows = table.rows()
    assert len(rows) == len(want)
    for row, (track, mine) in zip(rows, sorted(want.items()), strict=True):
        assert (row["unit"], row["sm"]) == (world.unit(track), world.sm[track])
        for state in ("window", "busy", "waiting", "idle", "unknown"):
            assert row[f"{state}_cyc"] == mine[state], (track, state)
        parts = [row[f"{state}_cyc"] for state in ("busy", "waiting", "idle", "unknown")]
        assert sum(parts) == row["window_cyc"]
        for state in ("busy", "waiting", "idle", "unknown"):
            assert row[f"{state}_share"] == (mine[state] / mine["window"] if mine["window"] else None)
    assert table.facts["n_unread"] == len(slow_overlap.unread(world))


def assert_bubbles(
    table: mgpu_trace.Table, world: World, on: str, kind: Any, touches: Any, n: int, absolute: bool = True
) -> None:
    want = [b for b in slow_overlap.bubbles(world, on) if touches(b)]
    assert table.facts["n_bubbles"] == len(want)
    assert table.facts["bubbles_cyc"] == sum(b.end - b.begin for b in want)
    kept = [mine for mine in world.places(on).values() if any(map(world.keeps, mine))]
    assert table.facts["n_places"] == len(kept)
    windows = [world.window(mine) for mine in kept]
    assert table.facts["places_cyc"] == sum(end - begin for begin, end in windows)
    rows = table.rows()
    assert len(rows) == min(n, len(want))
    for row, b in zip(rows, want, strict=False):
        (block, sm), spec = b.place, world.spec
        x, y, z = spec.block_xyz(block) if block >= 0 else (0, 0, 0)
        assert (row["sm"], row["block"]) == (sm, None if block < 0 else f"{x},{y},{z}")
        assert row["dur_cyc"] == b.end - b.begin
        if absolute:
            assert row["begin_cyc"] == b.begin
        for side, found in (("before", b.before), ("after", b.after)):
            assert row[side] == (found and spec.name_of(found[0]))
            assert row[f"role_{side}"] == (found and kind(found[1]))


REGIONS = st.recursive(
    st.builds(Region, st.sampled_from(("a", "b", "wait", "c_wait", "mma")), st.integers(0, 3000)),
    lambda inner: st.builds(
        Region, st.sampled_from(("a", "b", "wait", "mma")), st.integers(0, 300),
        st.lists(inner, max_size=3).map(tuple), st.integers(1, 3) | st.none(),
    ),
    max_leaves=5,
)  # fmt: skip
ROLE = st.builds(
    Role, st.just("any"), *[st.lists(REGIONS, min_size=n, max_size=2).map(tuple) for n in (1, 0, 0)]
)
CONFIGS = st.builds(
    SynthConfig,
    n_sms=st.integers(1, 3),
    resident=st.integers(1, 3),
    grid=st.sampled_from(((1, 1, 1), (3, 1, 1), (2, 2, 2))),
    block=st.sampled_from(((128, 1, 1), (256, 1, 1), (384, 1, 1))),
    roles=st.lists(ROLE, min_size=1, max_size=3).map(tuple),
    n_iterations=st.integers(0, 3),
)


@settings(max_examples=60)
@given(CONFIGS, st.integers(0, 2**32 - 1), BY, ON, ROLES)
def test_what_really_happened(config, seed, by, on, roles):
    """All of it is that of the true timeline: what runs on one SM is exact to the cycle."""
    made = synthesise(config, seed)
    t = made.truth
    world = World(made.spec, truth_of(made), dict(zip(t.track.tolist(), t.sm.tolist(), strict=True)))
    roles = {unit: role for unit, role in roles.items() if unit < made.spec.tracks_per_block}
    kind = kinds(made.spec, by, roles)
    for source in (launch_of(made), launch_of(made, run_events=17), launch_of(made).timeline()):
        table = mgpu_trace.overlap(source, by=by, on=on, roles=roles, unit="cyc")
        assert_matrix(table, world, by, on, kind)
        assert_states(mgpu_trace.track_times(source, unit="cyc"), world)
        found = mgpu_trace.bubbles(source, on=on, n=1000, unit="cyc", roles=roles)
        is_one = len({*world.sm.values()}) == 1
        order = sorted(found["dur_cyc"].tolist(), reverse=True)
        assert found["dur_cyc"].tolist() == order
        if is_one:  # where bubbles are equally long, which comes first depends on the axis of all SMs
            zero = min(row.start for row in world.rows)
            shifted = replace(world, rows=[r._replace(start=r.start - zero) for r in world.rows])
            role = kinds(made.spec, "role", roles)
            assert_bubbles(found, shifted, on, role, lambda b: True, 1000)
        else:
            assert order == [b.end - b.begin for b in slow_overlap.bubbles(world, on)]


@given(
    st.one_of(LAUNCHES, LAUNCHES.map(without_starts)),
    BY,
    ON,
    SELECT,
    ROLES,
    WAIT,
    st.sampled_from((0, 0, 7)),
    st.sampled_from((None, 1000.0)),
)
def test_any_launch_also_a_broken_one(made, by, on, select, roles, wait, overhead, mhz):
    made = replace(made, spec=replace(made.spec, sm_clock_mhz=mhz))
    roles = {unit: role for unit, role in roles.items() if unit < made.spec.tracks_per_block}
    kind, role = kinds(made.spec, by, roles), kinds(made.spec, "role", roles)
    selection = parse_selection(select)
    sources: list[Launch | Timeline] = [launch_of(made, n, overhead=overhead or "none") for n in (None, 5)]
    world = world_of(made, sources[0], selection, wait, overhead)
    asked = tuple(p for p in wait if any(slow_overlap.fnmatch.fnmatchcase(n, p) for n in occurring(world)))
    world.wait = asked or ("*wait*",)
    if not select:
        sources.append(launch_of(made, overhead=overhead or "none").timeline())
    ns = sources[0].clock.ns_per_cyc

    def touches(b: Any) -> bool:
        begin, end = round(b.begin * ns), round(b.end * ns)
        windows = selection.time_ns
        return not windows or any(begin <= last and end >= first for first, last in windows)

    for source in sources:
        if isinstance(source, Launch):
            source.selection = selection
        if on == "sm" and any(found.code.id == "MGT310" for found in source.report):
            with pytest.raises(mgpu_trace.MgpuTraceError, match="no SM ids"):
                mgpu_trace.overlap(source, on=on)
            on = "block"
        ask: dict[str, Any] = {"wait": asked or None, "unit": "cyc", "roles": roles}
        assert_matrix(mgpu_trace.overlap(source, by=by, on=on, **ask), world, by, on, kind)
        assert_states(mgpu_trace.track_times(source, **ask), world)
        found = mgpu_trace.bubbles(source, on=on, n=6, **ask)
        assert_bubbles(found, world, on, role, touches, 6)
        assert found.facts["waiting"] == sorted(
            {n for n in occurring(world) if any(slow_overlap.fnmatch.fnmatchcase(n, p) for p in world.wait)},
            key=found.facts["waiting"].index,
        )


@given(LAUNCHES, BY, SELECT, ROLES, st.sampled_from("abcde"), st.sampled_from("abcde"))
def test_lags_of_any_launch(made, by, select, roles, first, second):
    made = replace(made, spec=replace(made.spec, names=tuple("abcde")))
    roles = {unit: role for unit, role in roles.items() if unit < made.spec.tracks_per_block}
    launch = launch_of(made)
    launch.selection = parse_selection(select)
    world = world_of(made, launch, launch.selection, ())
    if not {first, second} <= occurring(world):
        with pytest.raises(mgpu_trace.MgpuTraceError, match="no region matches"):
            mgpu_trace.lags(launch, [(first, second)], by=by)
        return
    kind = kinds(made.spec, by, roles) if by != "region" else lambda unit: 0
    want = slow_overlap.lags(world, lambda n: n == first, lambda n: n == second, kind)
    table = mgpu_trace.lags(launch, [f"{first}:{second}"], by=by, roles=roles, unit="cyc")
    rows = table.rows()
    if not want:
        (row,) = rows
        assert row["count"] == row["n_negative"] == 0
        assert row["worst_cyc"] is row["worst_sm"] is None
        return
    assert len(rows) == len(want)
    for row in rows:
        key = (row[f"{by}_a"], row[f"{by}_b"]) if by != "region" else (0, 0)
        for name, value in slow_overlap.statistics(want[key]).items():
            assert row[name] == near(value), name


@pytest.mark.parametrize("cells", [1, 7, 40])
@settings(max_examples=40)
@given(made=LAUNCHES, by=BY, on=ON, select=SELECT)
def test_long_launches_are_short_ones_in_parts(cells, made, by, on, select):
    """However time is cut, the sums are the same; and so they are in whole numbers, beyond float64."""
    launch = launch_of(made)
    launch.selection = parse_selection(select)
    if any(found.code.id == "MGT310" for found in launch.report):
        on = "block"
    want = mgpu_trace.overlap(launch, by=by, on=on, unit="cyc")
    for limits in ({"_CELLS": cells}, {"_MAX_EXACT": 0}):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in limits.items():
                patch.setattr(overlap_sweep, name, value)
            found = mgpu_trace.overlap(launch, by=by, on=on, unit="cyc")
        assert found.rows() == want.rows()
        assert found.facts == want.facts


@settings(max_examples=40)
@given(LAUNCHES, BY, SELECT)
def test_it_does_not_matter_how_nesting_is_found_out(made, by, select):
    """By depth, or, as where regions cross, by begins and ends."""
    launch = launch_of(made)
    launch.selection = parse_selection(select)
    asks = [partial(mgpu_trace.overlap, by=by), mgpu_trace.track_times, mgpu_trace.bubbles]
    want = [ask(launch, unit="cyc", wait=None).rows() for ask in asks]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selftime, "_MAX_LEVELS", 1)
        assert [ask(launch, unit="cyc", wait=None).rows() for ask in asks] == want
