"""The C++ recorder and its host part run on a CPU, and what they write decodes to what was scripted."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from cli_support import invoke
from cuda.scripted import NAMES, THREADS, Program, Script, Step
from hypothesis import event, given, settings
from hypothesis import strategies as st

import mgpu_trace

BLOCKS = {
    "warp": [(32, 1, 1), (8, 4, 1), (4, 2, 12), (64, 1, 2), (2, 4, 4), (96, 1, 1)],
    "warpgroup": [(128, 1, 1), (64, 2, 1), (128, 1, 2), (32, 4, 3), (384, 1, 1)],
}
GAPS = st.one_of(st.integers(0, 100), st.integers(0, 2**31 - 1))
IDS = st.one_of(st.integers(0, len(NAMES) - 1), st.sampled_from((5, 77, 2**20 - 1)))

# Broken headers and clocks that step back: whatever the program does, the recorder writes none of these.
NEVER = {"MGT301", "MGT302", "MGT303", "MGT304", "MGT307", "MGT308", "MGT309", "MGT407", "MGT501", "MGT502"}


@st.composite
def bodies(draw: st.DrawFn, depth: int = 3) -> list[tuple[str, int]]:
    """Steps without times: scopes that nest, and calls that need not."""
    out: list[tuple[str, int]] = []
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from("((+-"))
        name = draw(IDS)
        if kind == "(" and depth:
            out += [("(", name), *draw(bodies(depth - 1)), (")", name)]
        elif kind != "(":
            out.append((kind, name))
    if depth == 3 and draw(st.booleans()):
        out.insert(draw(st.integers(0, len(out))), ("f", 0))
    return out


@st.composite
def step_lists(draw: st.DrawFn) -> list[Step]:
    body = draw(bodies())
    times, now = [], 0
    for _ in body:
        times.append(now)
        now += draw(GAPS)
    return [Step(kind, name, time) for (kind, name), time in zip(body, times, strict=True)]


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    scope = draw(st.sampled_from(sorted(THREADS)))
    grid = draw(st.tuples(*[st.integers(1, 3)] * 3))
    block = draw(st.sampled_from(BLOCKS[scope]))
    per_block = int(np.prod(block)) // THREADS[scope]
    pool = draw(st.lists(step_lists(), min_size=1, max_size=4))
    base = draw(st.one_of(st.integers(0, 2**32 - 1), st.integers(2**32 - 500, 2**32 - 1)))
    start = draw(st.integers(0, 2**32 - 1))
    programs = []
    for track in range(int(np.prod(grid)) * per_block):
        steps = [Step(s.kind, s.id, s.time + base + 10007 * track) for s in pool[track % len(pool)]]
        # No two tracks begin alike, so that none can stand in another's place.
        programs.append(Program((start + 32 * track) % 2**32, track // per_block % 132, tuple(steps)))
    return Script(
        scope,
        grid,
        block,
        words=2 * draw(st.integers(3, 24)),
        programs=programs,
        order=draw(st.sampled_from(("through", "turns"))),
        kernel_bytes=draw(st.integers(0, 100)),
    )


def decoded(path: Path) -> list[tuple[int, ...]]:
    s = mgpu_trace.load(path).slices
    return list(zip(*(c.tolist() for c in (s.track, s.name, s.start_cyc, s.dur_cyc, s.closed)), strict=True))


@given(scripts())
@settings(max_examples=80)
def test_what_was_scripted_is_what_is_read(run_script: Path, script: Script) -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = script.run(run_script, Path(folder))
        assert done.returncode == 0, done.stderr
        path = Path(folder) / "out.npy"
        words = np.load(path)
        assert words.dtype == np.dtype("<u4")
        assert words.ndim == 1
        assert words.reshape(-1, script.words).tolist() == script.words_expected()
        assert decoded(path) == script.slices_expected()
        found = {d.code.id: d.count for d in mgpu_trace.load(path).report}
    assert found.keys().isdisjoint(NEVER)
    assert (found.get("MGT401", 0), found.get("MGT402", 0)) == script.truncated_expected()
    event(f"truncated {bool(found.get('MGT401'))}, wrapped {any_wraps(script)}")


def any_wraps(script: Script) -> bool:
    return any(len({step.time >> 32 for step in program.steps}) > 1 for program in script.programs)


def one_block(units: list[list[Step]], words: int = 12, **more: object) -> Script:
    """A block of warps."""
    programs = [Program(64, 3, tuple(steps)) for steps in units]
    return Script("warp", (1, 1, 1), (32 * len(units), 1, 1), words, programs, **more)  # type: ignore[arg-type]


def regions(n: int, begin: int = 0) -> list[Step]:
    return [Step("+-"[i % 2], 1, begin + 10 * i) for i in range(2 * n)]


@pytest.mark.parametrize("order", ["through", "turns"])
def test_a_track_that_overflows_leaves_its_neighbours_alone(
    run_script: Path, tmp_path: Path, order: str
) -> None:
    """The runner stops where a byte beyond the tracks' used words changes, and the words are compared."""
    script = one_block([regions(2), regions(500, 7), regions(1, 9), regions(300, 5)], order=order)
    assert script.run(run_script, tmp_path).returncode == 0
    words = np.load(tmp_path / "out.npy").reshape(4, 12)
    assert words.tolist() == script.words_expected()
    assert words[:, 2].tolist() == [8, 8, 4, 8]
    found = {d.code.id: d.count for d in mgpu_trace.load(tmp_path / "out.npy").report}
    assert found["MGT402"] == 3


def test_tracks_in_static_shared_memory(run_script: Path, tmp_path: Path) -> None:
    script = one_block([regions(3), regions(9), regions(1)], words=16, memory="area")
    assert script.run(run_script, tmp_path).returncode == 0
    assert np.load(tmp_path / "out.npy").reshape(3, 16).tolist() == script.words_expected()


@pytest.mark.parametrize(
    ("why", "change"),
    [
        ("too little dynamic shared memory", {"given_bytes": 2 * 16 * 4 + 8 - 1, "kernel_bytes": 5}),
        ("other words per track than the area has", {"memory": "area", "words": 18}),
    ],
)
def test_a_launch_that_cannot_be_right_stops_the_kernel(
    run_script: Path, tmp_path: Path, why: str, change: dict[str, object]
) -> None:
    done = one_block([regions(1)] * 2, **{"words": 16, **change}).run(run_script, tmp_path)  # type: ignore[arg-type]
    assert done.returncode == 86, why
    assert not (tmp_path / "out.npy").exists()


def test_just_enough_shared_memory_is_enough(run_script: Path, tmp_path: Path) -> None:
    script = one_block([regions(1)] * 2, words=16, given_bytes=2 * 16 * 4 + 8, kernel_bytes=5)
    done = script.run(run_script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 2 * 16 * 4 + 8


def test_a_disabled_recorder_leaves_no_trace(run_script: Path, tmp_path: Path) -> None:
    done = one_block([regions(3)] * 2, kernel_bytes=5, enabled="no").run(run_script, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["script"]


def test_names_of_the_files_and_of_the_regions(run_script: Path, tmp_path: Path) -> None:
    nested = [Step("(", i, 10 * i) for i in range(5)] + [Step(")", 4 - i, 90 + i) for i in range(5)]
    script = one_block([nested], 24)
    assert script.run(run_script, tmp_path, "of.a.launch").returncode == 0
    assert script.run(run_script, tmp_path, "other.npy").returncode == 0
    for name in ("of.a.launch", "other"):
        timeline = mgpu_trace.load(tmp_path / f"{name}.npy")
        assert [timeline.spec.name_of(i) for i in timeline.slices.name] == NAMES
    result = invoke("validate", tmp_path / "other.npy")
    assert result.exit_code == 0, result.output
    assert sorted(path.suffix for path in tmp_path.iterdir()) == ["", ".json", ".json", ".npy", ".npy"]
