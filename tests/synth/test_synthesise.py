"""Synthetic launches: what is decoded from their words is what they say happened."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgpu_trace.decode import decode
from mgpu_trace.diagnostics import MgpuTraceError, catalogue
from mgpu_trace.layout import Scope, Word2
from mgpu_trace.synth import FAULTS, Fault, Region, Role, SynthConfig, Synthetic, Tail, synthesise

EXIT = 1 << 31
NAMES = ("a", "b", "c", "d")
REGIONS = st.recursive(
    st.builds(Region, st.sampled_from(NAMES), st.integers(1, 500)),
    lambda inner: st.builds(
        Region,
        st.sampled_from(NAMES),
        st.integers(1, 500),
        st.lists(inner, max_size=3).map(tuple),
        st.sampled_from((1, 1, 2, None)),
    ),
    max_leaves=5,
)
ROLES = st.builds(
    Role,
    st.just("role"),
    st.lists(REGIONS, max_size=2).map(tuple),
    st.lists(REGIONS, max_size=2).map(tuple),
    st.lists(REGIONS, max_size=1).map(tuple),
)


@st.composite
def configs(draw: Any) -> SynthConfig:
    scope = draw(st.sampled_from(Scope))
    n_sms = draw(st.integers(1, 4))
    offsets = st.lists(st.integers(0, 2**32 - 1), min_size=n_sms, max_size=n_sms).map(tuple)
    return SynthConfig(
        n_sms=n_sms,
        resident=draw(st.integers(1, 2)),
        grid=draw(st.sampled_from(((1, 1, 1), (5, 1, 1), (2, 3, 2)))),
        block=(draw(st.integers(1, 3)) * scope.value, 1, 1),
        scope=scope,
        roles=draw(st.lists(ROLES, min_size=1, max_size=3).map(tuple)),
        names=draw(st.sampled_from((None, NAMES))),
        n_iterations=draw(st.integers(0, 3)),
        sm_clock_mhz=draw(st.sampled_from((1980.0, 1755.0, 1410.001, 1000.0))),
        step_ns=draw(st.sampled_from((1, 32, 1024))),
        start_ns=draw(st.one_of(st.integers(0, 2**40), st.just(2**32 - 1000))),
        clock_offsets=draw(st.one_of(st.none(), offsets)),
        word2=draw(st.sampled_from((Word2.USED, Word2.USED_PLUS_HEADER))),
        tail=draw(st.sampled_from(Tail)),
    )


def decoded_rows(made: Synthetic, tracks: set[int] | None = None) -> list[tuple[int, ...]]:
    s = decode(made.buffer).slices
    assert s.closed.all()
    rows = zip(*(c.tolist() for c in (s.track, s.name, s.depth, s.start_cyc, s.dur_cyc)), strict=True)
    return [r for r in rows if tracks is None or r[0] in tracks]


def true_rows(made: Synthetic, tracks: set[int] | None = None) -> list[tuple[int, ...]]:
    t = made.truth
    first: dict[int, int] = {}
    rows = []
    columns = (c.tolist() for c in (t.track, t.name, t.depth, t.start_cyc, t.dur_cyc))
    for track, name, depth, start, dur in zip(*columns, strict=True):
        first.setdefault(track, start)
        if tracks is None or track in tracks:
            rows.append((track, name, depth, start - first[track], dur))
    return rows


@settings(max_examples=60)
@given(configs(), st.integers(0, 2**64))
def test_decoding_gives_the_truth(config: SynthConfig, seed: int) -> None:
    made = synthesise(config, seed)
    if len(made.truth) == 0:
        return
    assert decoded_rows(made) == true_rows(made)
    assert made.truth.recorded.all()
    assert {d.code for d in decode(made.buffer).report} <= {
        catalogue.EMPTY_TRACKS,
        catalogue.LEGACY_LAYOUT,
        catalogue.NO_START_TIMES,  # a launch that begins at time 0 on SM 0
    }
    check_clocks(made, config)


def check_clocks(made: Synthetic, config: SynthConfig) -> None:
    """Both clocks of every track read what its true time says."""
    truth, tracks = made.truth, decode(made.buffer).tracks
    khz = round(config.sm_clock_mhz * 1000)
    counters = defaultdict(set)
    for track in np.unique(truth.track).tolist():
        row = np.flatnonzero(truth.track == track)[0]
        cyc, sm = int(truth.start_cyc[row]), int(truth.sm[row])
        assert (truth.block[row], truth.unit[row], sm) == (
            tracks.block[track],
            tracks.unit[track],
            tracks.sm[track],
        )
        ns = config.start_ns + cyc * 1_000_000 // khz
        assert int(tracks.start_ns[track]) == ns // config.step_ns * config.step_ns % 2**32
        assert truth.start_ns[row] == pytest.approx(cyc * 1e6 / khz)
        counters[sm].add((int(tracks.first_clock[track]) - cyc) % 2**32)
    assert all(len(offsets) == 1 for offsets in counters.values())
    if config.clock_offsets is not None:
        assert all(offsets == {config.clock_offsets[sm]} for sm, offsets in counters.items())


@given(configs())
def test_blocks_of_an_sm_take_turns(config: SynthConfig) -> None:
    """Never more blocks on one SM at a time than it holds."""
    truth = synthesise(replace(config, resident=1), 3).truth
    spans = defaultdict(list)
    for block in np.unique(truth.block):
        mine = truth.block == block
        sms = set(truth.sm[mine].tolist())
        assert len(sms) == 1
        ends = truth.start_cyc[mine] + truth.dur_cyc[mine]
        spans[sms.pop()].append((int(truth.start_cyc[mine].min()), int(ends.max())))
    for on_sm in spans.values():
        on_sm.sort()
        assert all(before[1] < after[0] for before, after in pairwise(on_sm))


def test_equal_seeds_make_equal_launches() -> None:
    config = SynthConfig()
    assert (synthesise(config, 5).words == synthesise(config, 5).words).all()
    assert (synthesise(config, 5).words != synthesise(config, 6).words).any()


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("word2", [Word2.USED, Word2.USED_PLUS_HEADER])
def test_a_fault_fires_its_code_and_spares_the_rest(kind: str, word2: Word2) -> None:
    config = SynthConfig(word2=word2)
    made = synthesise(replace(config, faults=(Fault(kind),)), 2)
    buffer = replace(made.buffer, spec=replace(made.spec, word2=word2))
    result = decode(buffer)
    assert kind in [d.code.slug for d in result.report]
    sound = set(range(made.spec.n_tracks)) - set(made.truth.faulted_tracks)
    rows = zip(*(c.tolist() for c in (result.slices.track, result.slices.name)), strict=True)
    assert [r for r in rows if r[0] in sound] == [r[:2] for r in true_rows(made, sound)]
    assert made.truth.faults[0]["kind"] == kind


def test_faults_take_different_tracks() -> None:
    kinds = [k for k in FAULTS if k not in ("no-events", "no-start-times")]
    made = synthesise(SynthConfig(grid=(40, 1, 1), faults=tuple(map(Fault, kinds))), 1)
    tracks = [t for fault in made.truth.faults for t in fault["tracks"]]
    assert len(set(tracks)) == len(tracks)
    assert {d.code.slug for d in decode(made.buffer).report} >= set(kinds)


def test_a_fault_can_be_put_on_a_track() -> None:
    made = synthesise(SynthConfig(faults=(Fault("odd-count", 11),)), 1)
    assert made.truth.faults == ({"kind": "odd-count", "tracks": [11]},)
    odd = decode(made.buffer).report.of_code(catalogue.ODD_COUNT)
    assert odd is not None
    assert (odd.block, odd.unit) == ((3, 0, 0), 2)


@pytest.mark.parametrize("checked", [None, False])
@pytest.mark.parametrize("words_per_track", [20, 21, 24, 40])
def test_an_overrun_writes_what_the_hardware_would(checked: bool | None, words_per_track: int) -> None:
    """Against a shared memory written one event at a time, in the order of real time."""
    config = SynthConfig(words_per_track=words_per_track, bounds_checked=checked, n_iterations=3)
    made = synthesise(config, 4)
    wide = synthesise(replace(config, words_per_track=None, bounds_checked=True), 4)
    n, per_block = made.spec.n_tracks, made.spec.tracks_per_block
    assert (made.words[:, :3] == wide.words[:, :3]).all()
    for block in range(made.spec.n_blocks):
        writes = []
        for unit in range(per_block):
            row = wide.words[block * per_block + unit].tolist()
            start = int(wide.truth.start_cyc[wide.truth.track == block * per_block + unit][0])
            time = start
            for i in range(0, row[2], 2):
                time += (row[4 + i] - row[2 + i]) % 2**32 if i else 0
                writes.append((time, unit, unit * words_per_track + i, row[3 + i : 5 + i]))
        memory: dict[int, int] = {}
        for _, _, at, words in sorted(writes):
            memory[at], memory[at + 1] = words
        for unit in range(per_block):
            row = made.words[block * per_block + unit].tolist()
            for i in range(words_per_track - 3):
                assert row[3 + i] == memory.get(unit * words_per_track + i, row[3 + i])
    assert n == len(made.words)
    codes = {d.code for d in decode(made.buffer).report}
    assert catalogue.OVERFULL_TRACK in codes


def test_bounds_checked_tracks_are_prefixes() -> None:
    config = SynthConfig(words_per_track=20, bounds_checked=True)
    made, wide = synthesise(config, 4), synthesise(replace(config, words_per_track=None), 4)
    assert (made.words[:, 2] == 16).all()
    assert (made.words[:, 3:19] == wide.words[:, 3:19]).all()
    lost = ~made.truth.recorded
    assert lost.any()
    closed = decode(made.buffer).slices
    assert int(closed.closed.sum()) == int(made.truth.recorded.sum())


def test_the_default_launch_is_a_pipeline() -> None:
    made = synthesise(SynthConfig())
    assert made.spec.names == (
        "Init",
        "tma_wait",
        "tma_load",
        "mma",
        "wait",
        "wgmma",
        "epilogue",
        "store",
    )
    assert (made.words[:, 3] == 0).all()  # Init comes first, as in every JAX kernel
    assert (made.words[:, 5] == EXIT).all()


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"n_sms": 0}, "positive"),
        ({"roles": ()}, "role"),
        ({"clock_offsets": (1,)}, "clock_offsets"),
        ({"names": ("Init",)}, "tma_wait"),
        ({"faults": (Fault("no-such"),)}, "no-such"),
        ({"faults": (Fault("odd-count", 99),)}, "99"),
        ({"faults": (Fault("sm-mismatch"),), "block": (128, 1, 1)}, "disagree"),
        ({"faults": (Fault("overwritten-track", 2),)}, "last of its block"),
        ({"faults": (Fault("no-events"), Fault("odd-count"))}, "no track is left"),
    ],
)
def test_a_config_that_cannot_be_is_refused(config: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        synthesise(SynthConfig(**config))


def test_a_shape_that_cannot_be_is_refused() -> None:
    with pytest.raises(MgpuTraceError) as caught:
        synthesise(SynthConfig(block=(96, 1, 1)))
    assert caught.value.diagnostic.code is catalogue.BLOCK_NOT_MULTIPLE
