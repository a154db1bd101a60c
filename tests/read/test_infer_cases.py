"""The layout of a bare buffer, case by case: what settles it, what leaves it open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from read.launches import EXIT, make
from read.support import codes, read, refused, refused_file

from mgpu_trace.diagnostics import catalogue
from mgpu_trace.layout import Scope, Word2
from mgpu_trace.read.infer import infer_layout
from mgpu_trace.spec import SpecOptions
from mgpu_trace.synth import Fault, SynthConfig, Tail, synthesise

NOTHING = SpecOptions()


def track(size: int, *events: tuple[int, int], start: int = 1000, sm: int = 0, tail: int = 0) -> list[int]:
    flat = [w for event in events for w in event]
    return [start, sm, len(flat), *flat] + [tail] * (size - 3 - len(flat))


INIT = ((0, 70_000), (1, 71_000), (1 | EXIT, 72_000), (EXIT, 73_000))


def layout_of(*rows: list[int]) -> tuple[int, str]:
    found = infer_layout(np.array(rows, np.uint32).reshape(-1))
    return found.words_per_track, found.sureness


def test_zeros_cannot_tell_how_many_tracks_were_empty() -> None:
    """The same events come out whatever is taken; so the largest is, and not as sure."""
    assert layout_of(*[track(32, *INIT)] * 8) == (32, "likely")
    assert layout_of(track(64, *INIT)) == (64, "guess")
    found = infer_layout(np.array([track(32, *INIT)] * 8, np.uint32).reshape(-1))
    assert "16 would fit if" in found.evidence


def test_what_follows_the_events_makes_it_sure() -> None:
    assert layout_of(*[track(32, *INIT, tail=0xDEADBEEF)] * 8) == (32, "sure")


def test_blocks_that_never_ran() -> None:
    ran = [track(32, *INIT, tail=0xDEADBEEF)] * 4
    assert layout_of(*ran, *[[0] * 32] * 60) == (32, "sure")
    alternate = [row for r in ran for row in (r, [0] * 32)]
    assert layout_of(*alternate) == (32, "likely")


def test_one_track_between_settles_it() -> None:
    """Only every second track ran, but for one: no multiple has all the headers."""
    rows = [track(32, *INIT) if i % 2 == 0 or i == 13 else [0] * 32 for i in range(40)]
    assert layout_of(*rows)[0] == 32


def test_a_last_clock_is_no_idle_track() -> None:
    """Read as 16 words per track, the last clock and the zeros after it would be an idle header."""
    events = (
        (0, 1100),
        (1, 1110),
        (1 | EXIT, 1120),
        (1, 1130),
        (1 | EXIT, 1140),
        (1, 1150),
        (1 | EXIT, 1160),
    )
    row = [1000, 0, 14, *[w for event in events for w in event]]
    assert layout_of(*[row + [0] * 15] * 2, *[track(32, *INIT)] * 10)[0] == 32


def test_a_launch_whose_tracks_all_overflow() -> None:
    """The next header reads as one more pair of events, but for the clock."""
    names = [0, EXIT, *[1, 2, 2 | EXIT, 1 | EXIT] * 4]
    rows = []
    for i in range(8):
        full = track(
            64, *((name, 3_000_000_000 + 50 * j) for j, name in enumerate(names)), sm=i, start=10_000
        )
        rows.append(full[:22])
    assert layout_of(*rows)[0] == 22


@pytest.mark.parametrize("units", [1, 2, 3, 8])
@pytest.mark.parametrize("n_words", [22, 40, 97])
@pytest.mark.parametrize("faults", [(), ("implausible-sm",)])
def test_synthetic_launches_that_overflow(units: int, n_words: int, faults: tuple[str, ...]) -> None:
    """Nearly every track is overfull, overwritten, or both."""
    for blocks, n_iterations in ((13, 4), (40, 6), (40, 8)):
        config = SynthConfig(
            n_sms=132,
            grid=(blocks, 1, 1),
            block=(units * 128, 1, 1),
            words_per_track=n_words,
            n_iterations=n_iterations,
            tail=Tail.RANDOM,
            faults=tuple(Fault(kind) for kind in faults),
        )
        found = infer_layout(synthesise(config).buffer.words.reshape(-1))
        assert found.words_per_track == n_words
        assert found.tracks_per_block in (1, units)


def test_two_layouts_that_fit_are_listed() -> None:
    """One track whose stale words end at word 32, then zeros: 32 words and tracks that never ran, or 128."""
    words = np.array([track(32, *INIT, tail=0xDEADBEEF), *[[0] * 32] * 3], np.uint32).reshape(-1)
    found = refused(catalogue.AMBIGUOUS_LAYOUT, infer_layout, words)
    assert found.message == "several layouts fit: 32, 128 words per track"
    assert found.hint == "give --entries 32 or --entries 128"


def test_two_launches_of_unrelated_layouts_are_listed() -> None:
    first = np.array([track(24, *INIT, tail=0xDEADBEEF)] * 10, np.uint32).reshape(-1)
    second = np.array([track(40, *INIT, tail=0xDEADBEEF)] * 6, np.uint32).reshape(-1)
    found = refused(catalogue.AMBIGUOUS_LAYOUT, infer_layout, np.concatenate((first, second)))
    assert "24" in found.message
    assert "40" in found.message


def test_one_broken_track_of_two() -> None:
    sound = track(32, *INIT, tail=0xDEADBEEF)
    for word2 in (0xFFFFFFFE, 5, 30):
        broken = [*sound[:2], word2, *sound[3:]]
        assert layout_of(sound, broken)[0] == 32
        assert layout_of(broken, sound)[0] == 32


def test_tracks_of_the_oldest_jax() -> None:
    """Up to 0.4.31 words 0 and 1 are zero."""
    row = [0, 0, 11, *track(32, *INIT, tail=0xDEADBEEF)[3:]]
    found = infer_layout(np.array([row] * 6, np.uint32).reshape(-1))
    assert (found.words_per_track, found.word2) == (32, Word2.USED_PLUS_HEADER)


def test_truncated_tracks_are_headers_too() -> None:
    """Exactly full with regions open, as a bounds-checked kernel leaves them."""
    events = ((0, 10), (0 | EXIT, 20), (1, 30), (2, 40))
    assert layout_of(*[track(12, *events)] * 5) == (12, "sure")


@pytest.mark.parametrize("room", [20, 21, 26, 31])
def test_a_launch_whose_consumers_all_overflow(room: int) -> None:
    """In every block the second track is overfull and the third is overwritten, by real words."""
    rng = np.random.default_rng(room)
    names = [0, EXIT, *[1, 2, 2 | EXIT, 3, 3 | EXIT, 1 | EXIT] * 4]
    blocks = []
    for block in range(12):
        shared = np.full(3 * room + 80, 0xDEADBEEF, np.int64)
        rows = np.empty((3, room), np.int64)
        for unit, n in enumerate((4, len(names), len(names))):
            clocks = 3_000_000_000 + block * 7_000_000 + np.cumsum(rng.integers(20, 400, n))
            events = np.stack((names[:n] if unit else [0, 1, 1 | EXIT, EXIT], clocks), axis=1).reshape(-1)
            rows[unit, :3] = 1_000_000 + 32 * block, block % 7, 2 * n
            if unit < 2:  # the third track's own words were written first
                shared[unit * room : unit * room + 2 * n] = events
            else:
                shared[2 * room + (2 * n - room) : 2 * room + 2 * n] = events[2 * n - room :]
        for unit in range(3):
            rows[unit, 3:] = shared[unit * room : unit * room + room - 3]
        blocks.append(rows)
    found = infer_layout(np.concatenate(blocks).astype(np.uint32).reshape(-1))
    assert found.words_per_track == room
    assert found.sureness != "sure"
    assert found.tracks_per_block == 3


def test_byte_order_does_not_matter() -> None:
    made = make(3)
    assert infer_layout(made.words.astype(">u4")) == infer_layout(made.words)


def test_large_buffers_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    from mgpu_trace.read import infer, nesting

    monkeypatch.setattr(infer, "_ALL_ROWS", 64)
    monkeypatch.setattr(infer, "_SAMPLE_ROWS", 32)
    monkeypatch.setattr(nesting, "_MAX_EVENTS", 50)
    monkeypatch.setattr(nesting, "_MAX_EVENTS_PER_ROW", 10)
    for seed in range(60):
        made = make(seed)
        if made.n_tracks >= 100 and made.tail not in ("zero", "mixed"):
            found = infer_layout(made.words)
            assert found.words_per_track == made.words_per_track, seed
            assert "of 5" in found.evidence or "of 6" in found.evidence
            assert "sampled" in found.evidence


class TestAsAFile:
    """A bare buffer through ``read_trace``."""

    def launch(self, folder: Path, blocks: int = 6, per_block: int = 3) -> Path:
        rows = [
            track(32, *INIT, start=5000 + 32 * b, sm=b, tail=0xDEADBEEF)
            for b in range(blocks)
            for _ in range(per_block)
        ]
        np.save(folder / "a.npy", np.array(rows, np.uint32).reshape(-1))
        return folder / "a.npy"

    def test_it_decodes_and_says_so(self, tmp_path: Path) -> None:
        result = read(self.launch(tmp_path), NOTHING)
        spec = result.buffer.spec
        assert (spec.words_per_track, spec.n_blocks, spec.tracks_per_block) == (32, 6, 3)
        assert (spec.scope, spec.word2, spec.names) == (Scope.WARPGROUP, Word2.USED, None)
        assert codes(result) == ["MGT206"]
        said = result.diagnostics[0].message
        assert said == "inferred " + spec.assumed[0]
        assert "32 words per track (sure): 18 of 18 headers fit" in said
        assert "6 blocks of 3 warpgroups" in said

    def test_too_few_blocks_to_group(self, tmp_path: Path) -> None:
        spec = read(self.launch(tmp_path, blocks=3), NOTHING).buffer.spec
        assert (spec.n_blocks, spec.tracks_per_block) == (9, 1)

    def test_more_units_than_warpgroups_are_warps(self, tmp_path: Path) -> None:
        spec = read(self.launch(tmp_path, per_block=12), NOTHING).buffer.spec
        assert (spec.scope, spec.tracks_per_block, spec.block) == (Scope.WARP, 12, (384, 1, 1))

    def test_what_is_said_besides_is_kept(self, tmp_path: Path) -> None:
        options = SpecOptions(names=("a", "b"), scope=Scope.WARP, sm_clock_mhz=1980.0, kernel="k")
        spec = read(self.launch(tmp_path), options).buffer.spec
        assert (spec.names, spec.scope, spec.sm_clock_mhz, spec.kernel) == (
            ("a", "b"),
            Scope.WARP,
            1980.0,
            "k",
        )
        assert spec.words_per_track == 32

    def test_nothing_to_infer(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.zeros(96, np.uint32))
        assert "zero" in refused_file(catalogue.NO_LAYOUT, tmp_path / "a.npy", NOTHING).message
