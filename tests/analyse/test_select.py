"""``--select`` against a plain loop over the rows."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgpu_trace.analyse.select import KEYS, Selection, parse_selection
from mgpu_trace.pipeline import Launch
from mgpu_trace.synth import SynthConfig, synthesise

MADE = synthesise(SynthConfig(grid=(2, 3, 2), n_sms=5, n_iterations=3), 7)
NAMES = MADE.spec.names


def rows(selection=None):
    launch = Launch(MADE.buffer)
    if selection is not None:
        launch.selection = selection
    timeline = launch.timeline()
    slices, tracks = timeline.slices, timeline.tracks
    begin, end = timeline.clock.begin_end_ns(slices.track, slices.start_cyc, slices.dur_cyc)
    return [
        (
            int(tracks.sm[t]),
            timeline.spec.block_xyz(int(tracks.block[t])),
            int(tracks.unit[t]),
            NAMES[n],
            int(b),
            int(e),
        )
        for t, n, b, e in zip(slices.track, slices.name, begin, end, strict=True)
    ]


ALL = rows()
RANGES = st.tuples(st.integers(0, 6), st.integers(0, 3)).map(lambda r: (r[0], r[0] + r[1]))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(RANGES, max_size=2),
    st.lists(st.sampled_from([(0, 0, 0), (1, 2, 1), (0, 2, 0), (5, 5, 5), (0, 3, 0)]), max_size=2),
    st.lists(RANGES, max_size=2),
    st.lists(st.sampled_from(["tma*", "w?it", "mma", "*", "nothing", "[ms]*"]), max_size=2),
    st.lists(st.tuples(st.integers(0, 8000), st.integers(0, 4000)), max_size=2),
)
def test_selection_equals_a_loop(sms, blocks, units, names, windows):
    texts = [f"sm={a}-{b}" for a, b in sms] + [f"block={x},{y},{z}" for x, y, z in blocks]
    texts += [f"unit={a}-{b}" for a, b in units] + [f"name={n}" for n in names]
    texts += [f"time={a}ns:{a + d}ns" for a, d in windows]
    wanted = [
        row
        for row in ALL
        if (not sms or any(a <= row[0] <= b for a, b in sms))
        and (not blocks or row[1] in blocks)
        and (not units or any(a <= row[2] <= b for a, b in units))
        and (not names or any(fnmatch.fnmatchcase(row[3], n) for n in names))
        and (not windows or any(row[4] <= a + d and row[5] >= a for a, d in windows))
    ]
    assert rows(parse_selection(texts)) == wanted


def test_time_units_and_open_ends():
    assert parse_selection(["time=10us:25us"]).time_ns == ((10_000.0, 25_000.0),)
    assert parse_selection(["time=1.5ms:"]).time_ns == ((1_500_000.0, float("inf")),)
    assert parse_selection(["time=:2s", "sm=0-3,7"]) == Selection(
        time_ns=((float("-inf"), 2e9),), sm=((0, 3), (7, 7))
    )


def test_the_same_key_adds():
    assert parse_selection(["sm=1", "sm=4"]) == parse_selection(["sm=1,4"])


@pytest.mark.parametrize(
    "text",
    [
        "sm",
        "sm=",
        "sm=x",
        "sm=3-1",
        "sm=-1",
        "sm=1_0",
        "sm=\u0661",
        "unit=+1",
        "block=0,1_0",
        "block=1,2,3,4",
        "block=-1",
        "unit=a",
        "time=5",
        "time=9us:1us",
        "time=1h:2h",
    ],
)
def test_bad_texts_say_what_was_expected(text):
    with pytest.raises(ValueError, match=r"expected|unknown key") as caught:
        parse_selection([text])
    assert "\n" not in str(caught.value)


def test_unknown_keys_list_the_known_ones():
    with pytest.raises(ValueError, match="unknown key") as caught:
        parse_selection(["warp=3"])
    assert all(f"{key}=" in str(caught.value) for key in KEYS)
