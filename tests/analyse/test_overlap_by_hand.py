"""What ran beside what in launches small enough to be checked on paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from slow_stats import launch_of
from tracks_by_hand import enter, launch, leave, track

import mgpu_trace
from mgpu_trace.analyse.lag import findings
from mgpu_trace.pipeline import Launch
from mgpu_trace.synth import SynthConfig, synthesise

A, MMA, WAIT = range(3)
NAMES = ("load", "mma", "mma_wait")


def by_hand(*tracks: list[int], **spec: Any) -> Launch:
    """One block of these tracks."""
    shape = {"grid": (1, 1, 1), "block": (128 * len(tracks), 1, 1), "names": NAMES, "bounds_checked": False}
    return Launch(launch(*tracks, **(shape | {"words": max(map(len, tracks))} | spec)))


def producer_and_consumer() -> Launch:
    """Loads in one track; in the other a wait inside mma, and a second mma that begins later.

    load    0-------100        150---------250
    mma          50----------------------------300     330---400
    wait              60--110
    """
    return by_hand(
        track(1000, 0, enter(A, 0), leave(A, 100), enter(A, 150), leave(A, 250)),
        track(1000, 0, enter(MMA, 50), enter(WAIT, 60), leave(WAIT, 110), leave(MMA, 300), enter(MMA, 330),
              leave(MMA, 400)),
    )  # fmt: skip


def test_a_producer_and_a_consumer():
    source = producer_and_consumer()
    rows = {(row["a"], row["b"]): row["overlap_cyc"] for row in mgpu_trace.overlap(source).rows()}
    assert rows["load", "mma"] == rows["mma", "load"] == 50 + 100
    assert rows["load", "mma_wait"] == rows["mma_wait", "load"] == 40
    assert rows["mma", "mma_wait"] == 0  # only other tracks count
    assert {row["a"]: row["total_cyc"] for row in mgpu_trace.overlap(source).rows()} == {
        "load": 200, "mma": 250 + 70, "mma_wait": 50,
    }  # fmt: skip
    roles = {0: "tma", 1: "mma"}
    (pair, *_) = [r for r in mgpu_trace.overlap(source, by="role", roles=roles).rows() if r["a"] != r["b"]]
    assert (pair["a"], pair["total_cyc"], pair["overlap_cyc"]) == ("mma", 270, 10 + 100)
    states = [[row[f"{s}_cyc"] for s in ("window", "busy", "waiting", "idle", "unknown")]
              for row in mgpu_trace.track_times(source).rows()]  # fmt: skip
    assert states == [[400, 200, 0, 200, 0], [400, 270, 50, 80, 0]]
    rows = mgpu_trace.bubbles(source).rows()
    assert [(r["begin_cyc"], r["dur_cyc"], r["before"], r["role_before"], r["after"]) for r in rows] == [
        (300, 30, "mma", "warpgroup 1", "mma"),
        (100, 10, "load", "warpgroup 0", "mma"),
    ]
    (lag,) = mgpu_trace.lags(source, [("load", "mma")]).rows()
    assert [lag[f"{name}_cyc"] for name in ("min", "p50", "worst", "worst_at")] == [150, 175, 200, 100]
    assert (lag["worst_index"], lag["worst_block"], lag["worst_sm"], lag["n_uneven"]) == (0, "0,0,0", 0, 0)


def test_what_was_lost_is_no_bubble():
    """The second track is full with a region open: after its last event nothing is known of it."""
    tracks = (
        track(1000, 0, enter(A, 0), leave(A, 100), enter(A, 500), leave(A, 600)),
        track(1000, 0, enter(MMA, 20), leave(MMA, 200), enter(MMA, 250), enter(A, 260)),
    )
    for is_checked in (True, None):
        source = by_hand(*tracks, bounds_checked=is_checked)
        (row,) = mgpu_trace.bubbles(source).rows()
        assert (row["begin_cyc"], row["dur_cyc"]) == (200, 50)
        assert mgpu_trace.track_times(source)["unknown_cyc"].tolist() == [0, 340]
    whole = by_hand(*tracks, bounds_checked=False)
    assert [row["dur_cyc"] for row in mgpu_trace.bubbles(whole).rows()] == [240, 50]


def test_a_block_with_a_track_that_cannot_be_read_has_no_bubbles():
    sound = track(1000, 0, enter(A, 0), leave(A, 100), enter(A, 500), leave(A, 600))
    table = mgpu_trace.bubbles(by_hand(sound, track(1000, 0, enter(A, 0), leave(A, 5), used=2**20)))
    assert (len(table), table.facts["n_bubbles"], table.facts["places_cyc"]) == (0, 0, 600)
    states = mgpu_trace.track_times(by_hand(sound, track(1000, 0, enter(A, 0), leave(A, 5), used=2**20)))
    assert (len(states), states.facts["n_unread"]) == (1, 1)
    idle = mgpu_trace.bubbles(by_hand(sound, track(1000, 0, used=0)))
    assert [row["dur_cyc"] for row in idle.rows()] == [400]  # one without events is in no region


def test_two_consumers_of_one_producer_are_counted_each_by_itself():
    consumer = [event for i in range(3) for event in (enter(WAIT, 100 * i + 20), leave(WAIT, 100 * i + 60))]
    producer = [event for i in range(3) for event in (enter(A, 100 * i), leave(A, 100 * i + 50))]
    source = by_hand(*(track(1000, 0, *events) for events in (producer, consumer, consumer)))
    block = mgpu_trace.lags(source, ["load:mma_wait"])
    assert [row["n_uneven"] for row in block.rows()] == [1]
    assert [(d.code.id, d.count) for d in findings(block)] == [("MGT643", 1)]
    units = mgpu_trace.lags(source, ["load:mma_wait"], by="unit")
    assert [(r["unit_a"], r["unit_b"], r["min_cyc"], r["worst_cyc"], r["count"]) for r in units.rows()] == [
        (0, 1, 10, 10, 3),
        (0, 2, 10, 10, 3),
    ]
    assert findings(units) == []


def test_no_such_pair():
    with pytest.raises(ValueError, match="no pair A:B"):
        mgpu_trace.lags(producer_and_consumer(), ["load"])


def test_only_the_largest_are_shown_and_the_rest_is_said():
    launch = launch_of(synthesise(SynthConfig()))
    whole = mgpu_trace.overlap(launch, unit="cyc")
    some = mgpu_trace.overlap(launch, unit="cyc", top=3)
    names = list(dict.fromkeys(whole["a"]))
    assert [(row["a"], row["b"]) for row in some.rows()] == [(a, b) for a in names[:3] for b in names[:3]]
    want = {(row["a"], row["b"]): row for row in whole.rows()}
    assert all(row == want[row["a"], row["b"]] for row in some.rows())
    left = {row["a"]: row["total_cyc"] for row in whole.rows() if row["a"] in names[3:]}
    assert some.facts["n_left_out"] == len(left)
    assert some.facts["left_out_cyc"] == sum(left.values())


def test_nanoseconds_are_cycles_times_one_number():
    launch = launch_of(synthesise(SynthConfig()))
    for ask in (mgpu_trace.overlap, mgpu_trace.bubbles, mgpu_trace.track_times):
        cyc, ns = ask(launch, unit="cyc"), ask(launch)
        for name in cyc.columns:
            if name.endswith("_cyc"):
                other = np.asarray(ns[f"{name[:-4]}_ns"])
                assert other.tolist() == (np.asarray(cyc[name]) * (1000 / 1980)).tolist()
            else:
                assert list(ns[name]) == list(cyc[name])


@pytest.mark.parametrize(
    ("ask", "option"), [("overlap", "by"), ("overlap", "on"), ("bubbles", "on"), ("track_times", "per")]
)
def test_what_cannot_be_asked(ask, option):
    launch = launch_of(synthesise(SynthConfig(grid=(1, 1, 1))))
    with pytest.raises(ValueError, match="'warp'"):
        getattr(mgpu_trace, ask)(launch, **{option: "warp"})
    with pytest.raises(mgpu_trace.MgpuTraceError, match="no region matches 'wiat'; nearest: wait"):
        getattr(mgpu_trace, ask)(launch, wait=("wiat",))


def test_blocks_without_start_times_are_looked_at_each_by_itself():
    """The counter of their SM places the tracks of a block, also where it turns; SMs are not known."""
    top = 2**32 - 40
    source = Launch(launch(
        track(0, 0, enter(A, top), leave(A, top + 100)),
        track(0, 0, enter(MMA, top + 30), leave(MMA, top + 80)),
        track(0, 0, enter(A, 70), leave(A, 80)),
        track(0, 0, enter(MMA, 10), leave(MMA, 75)),
        grid=(2, 1, 1), block=(256, 1, 1), names=NAMES,
    ))  # fmt: skip
    rows = {(row["a"], row["b"]): row["overlap_cyc"] for row in mgpu_trace.overlap(source).rows()}
    assert rows["load", "mma"] == 50 + 5
    assert mgpu_trace.track_times(source)["window_cyc"].tolist() == [100, 100, 70, 70]
    for ask in (mgpu_trace.overlap, mgpu_trace.bubbles):
        with pytest.raises(mgpu_trace.MgpuTraceError, match="carry no SM ids") as error:
            ask(source, on="sm")
        assert error.value.diagnostic.code.id == "MGT644"


def test_units_and_roles_are_sums_of_tracks():
    launch, roles = launch_of(synthesise(SynthConfig())), {0: "tma", 1: "mma", 2: "mma"}
    tracks = mgpu_trace.track_times(launch, unit="cyc", roles=roles)
    for per in ("unit", "role"):
        table = mgpu_trace.track_times(launch, per=per, unit="cyc", roles=roles)
        assert sum(table["n_tracks"]) == len(tracks)
        for row in table.rows():
            mine = [track for track in tracks.rows() if track[per] == row[per]]
            assert row["n_tracks"] == len(mine)
            for state in ("window", "busy", "waiting", "idle", "unknown"):
                assert row[f"{state}_cyc"] == sum(track[f"{state}_cyc"] for track in mine)


def test_events_that_another_track_overwrote():
    """The first track overran into the second, whose first two events are gone."""
    source = by_hand(
        track(1000, 0, enter(A, 0), leave(A, 100), enter(A, 150), leave(A, 200), enter(A, 420), leave(A, 430),
              used=20),
        track(1000, 0, enter(A, 7), leave(A, 8), enter(MMA, 300), leave(MMA, 350), enter(MMA, 400),
              leave(MMA, 450)),
        words=16,
    )  # fmt: skip
    times = mgpu_trace.track_times(source)
    assert times["window_cyc"].tolist() == [450, 450]
    assert times["unknown_cyc"].tolist() == [20, 300]
    assert times["idle_cyc"].tolist() == [450 - 160 - 20, 50]
    assert [(r["begin_cyc"], r["dur_cyc"]) for r in mgpu_trace.bubbles(source).rows()] == [(350, 50)]
    lags = mgpu_trace.lags(source, ["load:mma"])
    assert [(row["count"], row["unpaired_a"]) for row in lags.rows()] == [(0, 3)]
    assert lags.facts["n_tracks_left_out"] == 1
