"""Inputs that people have hit, each with the right answer written out."""

from __future__ import annotations

import numpy as np
from rows import B, E, codes, decoded, finding, row, slices

from mgpu_trace.decode import decode
from mgpu_trace.layout import Word2
from mgpu_trace.model import TraceBuffer, TrackFlag
from mgpu_trace.spec import TraceSpec

PAIRS = [B(0, 10), E(0, 20), B(1, 30), E(1, 50)]
SOUND = [(0, 10), (20, 20)]  # start_cyc and dur_cyc of PAIRS


def many(n: int) -> list[tuple[int, int]]:
    """``n`` pairs of region 1."""
    return [event for i in range(n) for event in (B(1, 100 * i), E(1, 100 * i + 40))]


def test_an_overfull_last_track_is_named_with_the_way_out() -> None:
    full = many(15)  # 60 words: what fits of the 66
    result = decoded([row(1000, 0, PAIRS), row(1000, 0, PAIRS), row(1000, 0, full, used=66)], 64)
    assert codes(result) == {"MGT301": 1}
    found = finding(result, "MGT301")
    assert (found.block, found.unit) == ((0, 0, 0), 2)
    assert "66" in found.message
    assert "61 words (30 events)" in found.message
    assert ">= 69" in found.hint  # entries: 66 and the header
    assert ">= 18" in found.hint  # profile_space of 4 words
    assert ">= 9 " in found.hint  # profile_space of 8 words
    assert [s[2:4] for s in slices(result) if s[0] < 2] == SOUND * 2
    assert [s for s in slices(result) if s[0] == 2] == [(2, 1, 100 * i, 40, True) for i in range(15)]
    assert result.tracks.flags.tolist() == [0, 0, TrackFlag.OVERFULL]
    assert result.tracks.n_skipped.tolist() == [0, 0, 0]


def test_an_overfull_track_overwrites_the_next_one() -> None:
    victim = [(0xDEADBEEF, 7), (0xDEADBEEF, 8), (0xDEADBEEF, 9), *many(2)]
    result = decoded([row(1000, 0, many(15), used=70), row(1000, 0, victim), row(1000, 0, PAIRS)], 64)
    # 70 - 64 = 6 words: three events, of which none is looked at.
    assert codes(result) == {"MGT301": 1, "MGT302": 1}
    found = finding(result, "MGT302")
    assert (found.block, found.unit) == ((0, 0, 0), 1)
    assert "by 6 words; first 3 events unreliable" in found.message
    assert result.tracks.n_skipped.tolist() == [0, 3, 0]
    assert [s for s in slices(result) if s[0] == 1] == [(1, 1, 0, 40, True), (1, 1, 100, 40, True)]
    assert [s[2:4] for s in slices(result) if s[0] == 2] == SOUND


def test_an_overrun_ends_with_the_block() -> None:
    rows = [row(1000, 0, PAIRS), row(1000, 0, many(15), used=190), *[row(1000, 1, PAIRS)] * 2]
    result = decoded(rows, 64, grid=(2, 1, 1), block=(256, 1, 1))
    assert codes(result) == {"MGT301": 1}
    assert result.tracks.flags.tolist() == [0, TrackFlag.OVERFULL, 0, 0]


def test_an_overrun_can_reach_past_the_next_track() -> None:
    rows = [row(1000, 0, many(15), used=64 + 64 + 3), row(1000, 0, many(15)), row(1000, 0, many(4))]
    result = decoded(rows, 64)
    # 67 words reach over all of the next track; 3 words cost the one after it 2 events.
    assert result.tracks.n_skipped.tolist() == [0, 0, 0]  # an odd count is none: nothing is taken from it
    assert codes(result) == {"MGT303": 1, "MGT402": 1}
    rows[0][2] -= 1
    result = decoded(rows, 64)
    assert result.tracks.n_skipped.tolist() == [0, 30, 1]


def test_a_track_that_is_full_with_open_regions_is_truncated() -> None:
    result = decoded([row(1000, 0, [B(0, 10), E(0, 20), B(1, 30), B(2, 40)])], 12)
    assert slices(result) == [(0, 0, 0, 10, True), (0, 1, 20, 10, False), (0, 2, 30, 0, False)]
    assert codes(result) == {"MGT401": 1}
    assert result.tracks.flags.tolist() == [TrackFlag.FULL | TrackFlag.TRUNCATED]


def test_a_track_that_is_full_and_balanced_may_be_truncated() -> None:
    for checked, expected in ((None, {"MGT402": 1}), (True, {"MGT402": 1}), (False, {})):
        result = decoded([row(1000, 0, PAIRS)], 12, bounds_checked=checked)
        assert codes(result) == expected
        assert result.tracks.flags.tolist() == [TrackFlag.FULL]


def test_an_odd_count_costs_its_track_only() -> None:
    result = decoded([row(1000, 0, PAIRS), row(1000, 0, PAIRS, used=3), row(1000, 0, PAIRS)], 16)
    assert codes(result) == {"MGT303": 1}
    assert finding(result, "MGT303").unit == 1
    assert [(s[0], s[2], s[3]) for s in slices(result)] == [(t, *s) for t in (0, 2) for s in SOUND]


def test_a_count_that_cannot_be_costs_its_track_only() -> None:
    result = decoded([row(1000, 0, PAIRS), row(1000, 0, PAIRS, used=0xFFFFFFFE)], 16)
    assert codes(result) == {"MGT304": 1}
    assert len(result.slices) == 2


def test_counts_that_are_all_odd_are_the_old_layout() -> None:
    result = decoded([row(1000, 0, [B(1, 5), E(1, 9)], used=7), row(1000, 0, [], used=3)], 16)
    assert slices(result) == [(0, 1, 0, 4, True)]
    assert codes(result) == {"MGT309": 1, "MGT306": 1}


def test_an_old_count_below_its_own_header_cannot_be() -> None:
    for used, code in ((0, "MGT306"), (1, "MGT304"), (2, "MGT304"), (3, "MGT306"), (4, "MGT303")):
        rows = [row(1000, 0, PAIRS, used=11), row(1000, 0, PAIRS, used=used)]
        result = decoded(rows, 16, word2=Word2.USED_PLUS_HEADER)
        assert codes(result) == {code: 1}
        assert len(result.slices) == 2


def test_counts_of_mixed_parity_are_corruption() -> None:
    result = decoded([row(1000, 0, PAIRS), row(1000, 0, [B(1, 5), E(1, 9)], used=7)], 16)
    assert codes(result) == {"MGT303": 1}


def test_unknown_names_are_kept_and_named() -> None:
    events = [B(0, 0), E(0, 10), B(9, 20), E(9, 30), B(9, 40), E(9, 50)]
    result = decoded([row(1000, 0, events)], 32, names=("Init", "load"))
    assert slices(result) == [(0, 0, 0, 10, True), (0, 9, 20, 10, True), (0, 9, 40, 10, True)]
    assert codes(result) == {"MGT406": 2}
    assert "9" in finding(result, "MGT406").message
    spec = TraceSpec(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=32, names=("Init", "load"))
    assert spec.name_of(9) == "name 9 (unknown)"


def test_a_name_id_of_a_million_is_corruption() -> None:
    top = 2**20 - 1
    result = decoded([row(1000, 0, [B(top, 0), (2**20, 999), E(top, 10), E(2**20, 20)])], 32)
    assert slices(result) == [(0, top, 0, 10, True)]
    assert codes(result) == {"MGT407": 2}


def test_a_full_track_of_garbage_counts_in_any_run() -> None:
    for others in ([], [row(1000, 1, [B(0, 5)])]):
        result = decoded([row(1000, 1, [(2**20, 0)]), *others], 5)
        assert codes(result) == {"MGT407": 1, "MGT402": 1, **({"MGT401": 1} if others else {})}
        assert result.tracks.flags.tolist()[0] == TrackFlag.FULL | TrackFlag.UNREADABLE


def test_the_clock_wraps_inside_a_track() -> None:
    result = decoded([row(1000, 0, [B(1, 2**32 - 100), B(2, 2**32 - 50), E(2, 20), E(1, 60)])], 32)
    assert slices(result) == [(0, 1, 0, 160, True), (0, 2, 50, 70, True)]
    assert codes(result) == {}
    assert result.slices.depth.tolist() == [0, 1]


def test_a_track_longer_than_a_turn_of_the_clock() -> None:
    step = 2**31 - 1
    clocks = [i * step % 2**32 for i in range(6)]
    result = decoded([row(0, 1, [(B, E)[i % 2](i // 2, c) for i, c in enumerate(clocks)])], 32)
    assert slices(result) == [(0, i, 2 * i * step, step, True) for i in range(3)]


def test_a_start_just_before_the_timer_wraps() -> None:
    result = decoded([row(2**32 - 20, 1, [B(1, 100), E(1, 150)])], 32)
    assert result.tracks.start_ns.tolist() == [2**32 - 20]
    assert slices(result) == [(0, 1, 0, 50, True)]


def test_an_exit_without_its_enter_is_left_out() -> None:
    result = decoded([row(1000, 1, [E(1, 100), B(1, 150)])], 32)
    assert slices(result) == [(0, 1, 50, 0, False)]
    assert codes(result) == {"MGT404": 1, "MGT403": 1}


def test_an_exit_of_another_name_leaves_the_region_open() -> None:
    result = decoded([row(1000, 1, [B(1, 100), E(2, 150)])], 32)
    assert slices(result) == [(0, 1, 0, 50, False)]
    assert codes(result) == {"MGT404": 1, "MGT403": 1}


def test_an_exit_closes_the_innermost_region_of_its_name() -> None:
    events = [B(1, 0), B(1, 10), B(2, 20), E(1, 30), E(1, 40)]
    result = decoded([row(1000, 1, events)], 32)
    assert slices(result) == [(0, 1, 0, 40, True), (0, 1, 10, 20, True), (0, 2, 20, 20, False)]
    assert codes(result) == {"MGT403": 1, "MGT405": 1}


def test_nothing_but_zeros() -> None:
    spec = TraceSpec(grid=(4, 1, 1), block=(384, 1, 1), words_per_track=64)
    result = decode(TraceBuffer(spec, np.zeros((12, 64), np.uint32)))
    assert codes(result) == {"MGT305": 12}
    assert result.report.has_errors
    assert len(result.slices) == 0


def test_a_tail_of_plausible_events_is_not_read() -> None:
    stale = [*PAIRS, B(1, 500), E(1, 600), B(1, 700), E(1, 800)]
    result = decoded([row(1000, 1, stale, used=8)], 32)
    assert [s[2:4] for s in slices(result)] == SOUND
    assert codes(result) == {}


def test_sm_ids_need_not_be_dense_or_agree() -> None:
    rows = [row(1000, sm, PAIRS) for sm in (0, 131, 147, 147, 65535, 65535)]
    result = decoded(rows, 16, grid=(3, 1, 1), block=(256, 1, 1))
    assert codes(result) == {"MGT307": 2, "MGT308": 1}
    assert finding(result, "MGT308").block == (0, 0, 0)
    assert finding(result, "MGT307").block == (2, 0, 0)
    assert len(result.slices) == 12


def test_5000_repeats_stay_5000_slices() -> None:
    n = 5000
    spec = TraceSpec(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=3 + 4 * n + 4)
    words = np.full((1, spec.words_per_track), 0xDEADBEEF, np.uint32)
    words[0, : 3 + 4 * n] = row(1000, 1, many(n))
    result = decode(TraceBuffer(spec, words), with_index=True)
    assert result.slices.index is not None
    assert result.slices.index.tolist() == list(range(n))
    assert result.slices.start_cyc.tolist() == list(range(0, 100 * n, 100))
    assert set(result.slices.dur_cyc.tolist()) == {40}


def test_crossing_regions_take_two_lanes() -> None:
    result = decoded([row(1000, 1, [B(1, 0), B(2, 50), E(1, 100), E(2, 150)])], 32)
    assert slices(result) == [(0, 1, 0, 100, True), (0, 2, 50, 100, True)]
    assert result.slices.lane.tolist() == [0, 1]
    assert result.slices.depth.tolist() == [0, 0]
    assert codes(result) == {"MGT405": 1}


def test_one_wild_reading_moves_one_event() -> None:
    for wild in (5, 10_000_000):  # far too early, far too late
        result = decoded(
            [row(1000, 1, [B(0, 1000), E(0, 1100), B(1, wild), E(1, 1300), B(2, 1400), E(2, 1500)])], 32
        )
        at = 100 if wild == 5 else 300
        assert slices(result) == [(0, 0, 0, 100, True), (0, 1, at, 300 - at, True), (0, 2, 400, 100, True)]
        assert codes(result) == {"MGT502": 1}


def test_a_small_step_back_is_levelled() -> None:
    result = decoded([row(1000, 1, [B(0, 100), E(0, 200), B(1, 197), E(1, 300)])], 32)
    assert slices(result) == [(0, 0, 0, 100, True), (0, 1, 100, 100, True)]
    assert codes(result) == {"MGT501": 1}


def test_deeper_than_16_bits() -> None:
    n = 40_000
    spec = TraceSpec(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=4 * n + 8)
    for names in (np.zeros(n, np.uint32), np.arange(n, dtype=np.uint32)):
        words = np.zeros((1, spec.words_per_track), np.uint32)
        words[0, :3] = (1000, 1, 4 * n)
        words[0, 3 : 3 + 2 * n : 2] = names
        words[0, 3 + 2 * n : 3 + 4 * n : 2] = names[::-1] | np.uint32(1 << 31)
        depth = decode(TraceBuffer(spec, words)).slices.depth
        assert depth.tolist() == [min(i, 32767) for i in range(n)]


def test_a_buffer_of_open_regions_does_not_take_for_ever() -> None:
    """Regions of one name inside each other, and another that crosses them all."""
    n = 5_000
    spec = TraceSpec(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=4 * n + 16)
    tags = [0] * n + [1] + [1 << 31] * n + [1 | 1 << 31]
    words = np.zeros((1, spec.words_per_track), np.uint32)
    words[0, :3] = (1000, 1, 2 * len(tags))
    words[0, 3 : 3 + 2 * len(tags) : 2] = tags
    words[0, 4 : 4 + 2 * len(tags) : 2] = np.arange(len(tags))
    result = decode(TraceBuffer(spec, words))
    assert codes(result) == {"MGT405": 1}
    assert result.slices.lane.tolist() == [0] * n + [1]
    assert result.slices.dur_cyc.tolist() == [*range(2 * n, 0, -2), n + 1]
