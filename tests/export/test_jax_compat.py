"""What --compat jax writes, stated without JAX: by hand, and by a formula in plain integers."""

from __future__ import annotations

import io
import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tracks_by_hand import compat, compat_events, enter, launch, leave, track

from mgpu_trace.decode import Decoder
from mgpu_trace.diagnostics import catalogue
from mgpu_trace.export import jax_compat
from mgpu_trace.export.jax_compat import closes_open_regions, write_jax_compat
from mgpu_trace.export.ragged import Pool, write_ragged
from mgpu_trace.layout import Scope, Word2
from mgpu_trace.model import TraceBuffer

TWO = (enter(1, 100), leave(1, 150))


def times(buffer: TraceBuffer) -> list[float]:
    return [event["ts"] for event in compat_events(buffer)]


def test_one_region_is_written_as_jax_writes_it() -> None:
    text, found = compat(launch(track(1000, 7, *TWO)))
    assert found == []
    assert text == (
        '{"displayTimeUnit": "ns", "traceEvents": ['
        '{"name": "load", "ph": "B", "ts": 1.0, "pid": 8, "tid": 1}, '
        '{"name": "load", "ph": "E", "ts": 1.039, "pid": 8, "tid": 1}]}'
    )


def test_no_events_are_an_empty_list() -> None:
    assert compat(launch(track(0, 0)))[0] == '{"displayTimeUnit": "ns", "traceEvents": []}'


def test_tracks_are_ordered_by_start_and_by_number_where_equal() -> None:
    buffer = launch(track(5000, 0, *TWO), track(1000, 0, *TWO), track(5000, 0, *TWO), track(0, 0, *TWO))
    assert [e["tid"] for e in compat_events(buffer)[::2]] == [4, 2, 1, 3]


@pytest.mark.parametrize("run_words", [1, 20, 40])
def test_runs_of_tracks_do_not_show(monkeypatch: pytest.MonkeyPatch, run_words: int) -> None:
    tracks = [track(1000 - i, i, *TWO * (1 + i % 3), enter(20 - i, 2000)) for i in range(7)]
    whole = compat(launch(*tracks, words=20))
    monkeypatch.setattr(jax_compat, "_RUN_WORDS", run_words)
    assert compat(launch(*tracks, words=20)) == whole


def test_names_are_escaped_as_json_does() -> None:
    names = ('q"\\\n\x01', "é🔥\ud83d", "")
    events = [(enter(i, 100 * i), leave(i, 100 * i + 50)) for i in range(3)]
    text, _ = compat(launch(track(0, 0, *(e for pair in events for e in pair)), names=names))
    assert [e["name"] for e in json.loads(text)["traceEvents"][::2]] == list(names)
    assert json.dumps(json.loads(text)) == text


def test_names_that_are_not_known_are_numbered() -> None:
    events = compat_events(launch(track(0, 0, enter(9, 0), leave(5, 50))))
    assert [e["name"] for e in events] == ["name 9 (unknown)", "name 5 (unknown)"]
    events = compat_events(launch(track(0, 0, enter(9, 0), leave(5, 50)), names=None))
    assert [e["name"] for e in events] == ["region_9", "region_5"]


def test_probe_cost_is_the_smallest_gap_of_the_buffer_less_one_at_most_eleven() -> None:
    assert times(launch(track(0, 0, enter(1, 0), leave(1, 500)))) == [0.0, 0.489]
    near = track(0, 0, enter(1, 0), leave(1, 4))
    assert times(launch(near, track(9000, 0, enter(1, 0), leave(1, 500)))) == [0.0, 0.001, 9.0, 9.497]


def test_times_that_do_not_rise_are_one_after_the_one_before() -> None:
    buffer = launch(track(0, 0, enter(1, 0), enter(2, 100), leave(2, 98), leave(1, 300)))
    assert times(buffer) == [0.0, 0.089, 0.09, 0.267]


@pytest.mark.parametrize(
    ("version", "closes"),
    [
        ("0.10.2", False),
        ("0.11.0", False),
        ("0.11.1", True),
        ("0.12.0.1", True),
        ("1.0.0", True),
        (None, True),
    ],
)
def test_open_regions_end_with_the_track_since_0_11_1(version: str | None, closes: bool) -> None:
    assert closes_open_regions(version) is closes
    events = (enter(0, 0), enter(1, 100), enter(2, 200), leave(2, 300))
    buffer = launch(track(0, 4, *events), track(50, 5, *TWO), jax_version=version)
    written = [(e["name"], e["ph"], e["ts"], e["tid"]) for e in compat_events(buffer)]
    added = [("load", "E", 0.267, 1), ("Init", "E", 0.267, 1)]
    assert written[4:-2] == (added if closes else [])
    assert written[-1][-1] == 2


def test_open_regions_of_several_tracks_end_innermost_first() -> None:
    first, second = (enter(0, 0), enter(1, 100)), (enter(2, 0), leave(2, 50), enter(1, 80), enter(2, 160))
    buffer = launch(track(0, 0, *first), track(5, 0, *second))
    ends = [(e["name"], e["tid"]) for e in compat_events(buffer, close_open=True) if e["ph"] == "E"]
    assert ends == [("load", 1), ("Init", 1), ("mma", 2), ("mma", 2), ("load", 2)]


def test_words_after_the_events_are_not_read() -> None:
    """Stale ones that look like two more events, one cycle on."""
    stale = [*track(0, 0, *TWO), *(word for event in (enter(1, 151), enter(2, 151)) for word in event)]
    other = track(9000, 0, *TWO, *TWO)
    assert (
        compat(launch(stale, other), close_open=True)[0]
        == compat(launch(track(0, 0, *TWO), other), close_open=True)[0]
    )


@pytest.mark.parametrize(
    ("start", "clocks", "expected"),
    [
        (0, (0, 3_000_000_000), [0.0, 2999999.989]),  # forwards, as the words say
        (0, (100, 90), [0.0, 0.001]),  # backwards, as the words say
        (2**31, (0, 2**31 + 5), [2147483.648, 2147483.649]),  # forwards would not fit 32 bits
        (0, (5, 2**32 - 3, 10, 100), [0.0, 0.001, 0.002, 0.062]),  # there and back over the wrap
    ],
)
def test_a_step_of_half_the_range(start: int, clocks: tuple[int, ...], expected: list[float]) -> None:
    assert (
        times(launch(track(start, 0, *(enter(0, clock) for clock in clocks)), jax_version="0.10.2"))
        == expected
    )


def test_an_exit_of_nothing_stays_and_closes_nothing() -> None:
    events = compat_events(launch(track(0, 0, leave(1, 0), enter(1, 100), enter(2, 200))), close_open=True)
    assert [(e["name"], e["ph"]) for e in events] == [
        ("load", "E"),
        ("load", "B"),
        ("mma", "B"),
        ("mma", "E"),
        ("load", "E"),
    ]


def test_broken_tracks_are_left_out_and_counted() -> None:
    sound = track(0, 0, *TWO)
    broken = (
        track(0, 0, *TWO, used=3),  # odd
        track(0, 0, *TWO, used=0xFFFFFFFE),  # garbage
        track(0, 0, *TWO * 3, used=14),  # more than its 13 words
        track(0, 0, enter(1, 0), leave(2**20, 9)),  # no such tag
    )
    text, (found,) = compat(launch(sound, *broken, sound))
    assert [e["tid"] for e in json.loads(text)["traceEvents"]] == [1, 1, 6, 6]
    assert (found.code, found.count, found.block, found.unit) == (catalogue.COMPAT_LEFT_OUT, 4, (1, 0, 0), 0)


def test_an_overwritten_track_is_left_out() -> None:
    over = track(0, 0, *TWO * 3, used=20)
    buffer = launch(over, track(0, 0, *TWO * 3), track(0, 0, *TWO), grid=(1, 1, 1), block=(384, 1, 1))
    assert {e["tid"] for e in compat_events(buffer)} == {3}


def test_a_left_out_track_does_not_change_the_probe_cost() -> None:
    garbage = track(0, 0, enter(1, 0), leave(1, 2), enter(2**21, 4))
    assert times(launch(garbage, track(0, 0, *TWO))) == [0.0, 0.039]


def test_big_endian_words_and_the_old_count_read_the_same() -> None:
    buffer = launch(track(1000, 7, *TWO))
    swapped = buffer.words.astype(">u4")
    assert compat(TraceBuffer(buffer.spec, swapped)) == compat(buffer)
    old = launch(track(1000, 7, *TWO, used=7), word2=Word2.USED_PLUS_HEADER)
    assert compat(old) == compat(buffer)


def test_words_are_given_back() -> None:
    buffer = launch(track(0, 0, *TWO), track(0, 0, *TWO))
    given: list[tuple[int, int]] = []
    buffer = TraceBuffer(buffer.spec, buffer.words, lambda first, last: given.append((first, last)))
    write_jax_compat(buffer, Decoder(buffer).tracks, io.BytesIO())
    assert given[-2:] == [(0, 2), (0, 2)]  # once to look, once to write


def test_events_at_one_clock_are_said_to_differ() -> None:
    _, (found,) = compat(launch(track(0, 0, enter(1, 0), leave(1, 0)), track(0, 0, enter(1, 0)), track(0, 0)))
    assert (found.code, found.count) == (catalogue.COMPAT_DIFFERS, 1)


def test_wrapped_starts_and_clocks_are_worked_out_in_64_bits() -> None:
    buffer = launch(track(2**32 - 20, 0, enter(1, 2**32 - 100), leave(1, 50)))
    text, (found,) = compat(buffer)
    assert [e["ts"] for e in json.loads(text)["traceEvents"]] == [4294967.276, 4294967.415]
    assert (found.code, found.count) == (catalogue.COMPAT_DIFFERS, 1)


def formula(buffer: TraceBuffer) -> list[tuple[int, int, int]]:
    """(track, event, thousandths) in order, for sound tracks whose clocks step less than 2**31."""
    tracks = []
    for number, words in enumerate(buffer.words.tolist()):
        clocks = words[4 : 3 + words[2] : 2]
        steps = [(b - a + 2**31) % 2**32 - 2**31 for a, b in pairwise(clocks)]
        gaps = [(b - a) % 2**32 for a, b in pairwise(clocks)]
        tracks.append((words[0], number, [sum(steps[:i]) for i in range(len(clocks))], gaps))
    cost = max(0, min([12, *(g for *_, gaps in tracks for g in gaps)]) - 1)
    lines = []
    for start, number, since, _ in sorted(tracks, key=lambda t: t[:2]):
        last = None
        for i, cycles in enumerate(since):
            time = cycles - i * cost
            if last is not None and time <= last:
                time = last + 1
            last = time
            lines.append((number, i, start + time))
    return lines


STARTS = st.one_of(st.integers(0, 2**32 - 1), st.integers(2**32 - 200, 2**32 - 1))
GAPS = st.one_of(st.integers(-70, 300), st.integers(0, 2**31 - 1), st.integers(0, 3))


@given(
    st.lists(
        st.tuples(STARTS, st.integers(0, 2**32 - 1), st.lists(GAPS, max_size=12)), min_size=1, max_size=5
    )
)
def test_times_follow_the_formula_in_64_bits(tracks: list[tuple[int, int, list[int]]]) -> None:
    rows = []
    for start, clock, gaps in tracks:
        clocks = np.cumsum([clock, *gaps]).tolist()
        # A step back whose word goes up is also a step forward by nearly 2**32, as JAX reads it.
        assume(all(b > a or b % 2**32 < a % 2**32 or a == b for a, b in pairwise(clocks)))
        rows.append(track(start, 0, *(enter(i % 3, c) for i, c in enumerate(clocks))))
    buffer = launch(*rows, words=32)
    written = compat_events(buffer, close_open=False)
    assert [(e["tid"] - 1, round(e["ts"] * 1000)) for e in written] == [(t, n) for t, _, n in formula(buffer)]


@given(st.lists(st.one_of(st.integers(0, 2**53 - 1), st.integers(0, 10**5)), min_size=1, max_size=20))
def test_thousandths_are_spelled_as_repr_does(values: list[int]) -> None:
    sink = io.BytesIO()
    pool, zeros = Pool.of([b"<"]), np.zeros(len(values), np.int64)
    write_ragged(sink, pool, zeros, np.array(values), Pool.of([b">"]), zeros, separator=b" ")
    spelled = sink.getvalue().decode().split(" ")
    assert [float(text[1:-1]) for text in spelled] == [value / 1000 for value in values]
    short = [(text, value) for text, value in zip(spelled, values, strict=True) if value < 10**15]
    assert [text for text, _ in short] == [f"<{value / 1000!r}>" for _, value in short]


def test_a_long_name_does_not_make_every_line_long() -> None:
    events = [enter(1, 0), leave(1, 50)] + [enter(2, 100), leave(2, 150)] * 3
    text, _ = compat(launch(track(0, 0, *events), words=32, names=("Init", "n" * 1_100_000, "x")))
    assert json.dumps(json.loads(text)) == text
    assert len(text) < 2_202_000


def test_warp_scope_numbers_tracks_through_the_block() -> None:
    rows = [track(10 * i, 0, *TWO) for i in range(8)]
    buffer = launch(*rows, grid=(2, 1, 1), scope=Scope.WARP)
    assert [e["tid"] for e in compat_events(buffer)[::2]] == list(range(1, 9))
