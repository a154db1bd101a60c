"""Our Chrome JSON in Perfetto's own engine: every slice where and as the Timeline has it, no error row."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from perfetto_engine import EngineSlice, load_trace, needs_engine, slices
from perfetto_packets import BLOCK, LOSS
from picture_by_hand import HOWS, picture
from strategies import corrupted_launches, random_launches
from tracks_by_hand import enter, launch, leave, track

from mgpu_trace.export.chrome import ChromeOptions, write_chrome
from mgpu_trace.export.output import write_trace
from mgpu_trace.export.perfetto_options import PerfettoOptions
from mgpu_trace.model import TraceBuffer, TrackFlag
from mgpu_trace.pipeline import Launch, open_launch
from mgpu_trace.spec import TraceSpec

pytestmark = needs_engine

GOLDEN = sorted((Path(__file__).parents[2] / "fixtures" / "golden").glob("*.npy"))
# Of these every picture is looked at; of the others the usual one.
SEVERAL = ("waves", "hopper_gemm")
LEVELS = 512  # the engine's limit, see docs/perfetto.md


def cases() -> Iterator[Any]:
    for path in GOLDEN:
        for how in HOWS if path.stem in SEVERAL else HOWS[:1]:
            yield pytest.param(path, how, id=f"{path.stem} {how[0]} {how[1]}")


class Drawn(NamedTuple):
    """What is compared of a slice."""

    thread: str
    process: str
    pid: int
    ts: int
    dur: int
    depth: int
    name: str
    args: tuple[tuple[str, object], ...]


def as_v52_shows(name: str) -> str:
    """A name in engine v52, which undoes JSON's escapes only in strings that hold a quote."""
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in name) or "(empty name)"
    if '"' in clean:
        return clean
    tail = "\\u005c" if clean.endswith("\\") else ""
    body = clean[:-1] if tail else clean
    shown = (f"\\u{ord(c):04x}" if c < " " or c == "\x7f" else "\\\\" if c == "\\" else c for c in body)
    return "".join(shown) + tail


def process_of(source: Launch, track: int, group_by: str) -> tuple[str, int]:
    """The name of the process that a track is in, and its pid."""
    (x, y, z), unit = source.spec.place_of(track)
    if group_by == "sm":
        return "SM", int(source.tracks.sm[track])
    if group_by == "block":
        return f"block ({x},{y},{z})", track // source.spec.tracks_per_block
    return source.spec.scope.label, unit


def expected(source: Launch, how: tuple[str, bool]) -> list[Drawn]:
    """Slices of blocks, and then every slice as the Timeline has it, in its order."""
    timeline = source.timeline()
    spec, table, clock = timeline.spec, timeline.slices, timeline.clock
    begin = clock.to_ns(table.track, table.start_cyc).tolist()
    end = clock.to_ns(table.track, table.start_cyc + table.dur_cyc).tolist()
    flags = timeline.tracks.flags.tolist()
    whole = picture(source, *how)
    of_line = {line: process_of(source, track, how[0]) for track, line in whole.line_of.items()}
    drawn = [
        Drawn(o.line[1], *of_line[o.line], o.begin, o.end - o.begin, 0, o.name, (BLOCK,)) for o in whole.outer
    ]
    levels = LEVELS - how[1]
    for i, (of, lane, deep) in enumerate(
        zip(table.track.tolist(), table.lane.tolist(), table.depth.tolist(), strict=True)
    ):
        floor, depth = divmod(deep, levels)
        depth += how[1] and not lane and not floor
        line = whole.line_of[of]
        thread = line[1] + (f" · overlap {lane + 1}" if lane else "")
        thread += f" · deep {floor + 1}" if floor else ""
        lost = flags[of] & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL)
        mark = () if table.closed[i] else (("truncated" if lost else "unclosed", True),)
        name = as_v52_shows(spec.name_of(int(table.name[i])))
        drawn.append(Drawn(thread, *of_line[line], begin[i], end[i] - begin[i], depth, name, mark))
    for line, name, at, n_events in whole.marks:
        args = (LOSS,) if n_events is None else (LOSS, ("n_events", n_events))
        drawn.append(Drawn(line[1], *of_line[line], at, 0, 0, name, args))
    return drawn


def engine_depths(line: list[Drawn]) -> list[Drawn]:
    """The same slices of one line with the depths that the engine gives slices of no length.

    It goes by time, longer ones first, then by place in the file; a slice of no length covers its own
    instant, so another one there lies in it, and so it does in whatever begins there.
    """
    stack: list[Drawn] = []
    out = []
    for drawn in sorted(line, key=lambda d: (d.ts, -d.dur)):
        while (
            stack and stack[-1].ts + stack[-1].dur <= drawn.ts and (stack[-1].dur or stack[-1].ts < drawn.ts)
        ):
            stack.pop()
        out.append(drawn._replace(depth=len(stack)))
        stack.append(drawn)
    if all(d.dur for d in line):
        assert sorted(out) == sorted(line)  # without such slices there is nothing to explain
    return out


def as_drawn(seen: EngineSlice) -> Drawn:
    args = seen.args | ({"category": seen.category} if seen.category else {})
    return Drawn(
        seen.thread or "",
        seen.process or "",
        seen.pid or 0,
        seen.ts,
        seen.dur,
        seen.depth,
        seen.name or "",
        tuple(sorted(args.items())),
    )


def check(source: Launch, path: Path, how: tuple[str, bool] = ("sm", True)) -> list[Drawn]:
    """Write, load, compare; the regions as the engine drew them."""
    with path.open("wb") as sink:
        found = write_chrome(source, sink, ChromeOptions(group_by=how[0], lanes=how[1]))
    assert [d.code.id for d in found] in ([], ["MGT604"])
    drawn = sorted(map(as_drawn, slices(path)))
    lines = defaultdict(list)
    for want in expected(source, how):
        lines[want.pid, want.thread].append(want)
    assert drawn == sorted(d for line in lines.values() for d in engine_depths(line))
    return [d for d in drawn if BLOCK not in d.args and LOSS not in d.args]


@pytest.mark.parametrize(("path", "how"), list(cases()))
def test_golden_launches(path: Path, how: tuple[str, bool], tmp_path: Path) -> None:
    assert check(open_launch(path), tmp_path / "t.json", how)


@settings(max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # slow: as it comes
@given(made=st.one_of(corrupted_launches(), random_launches()), how=st.sampled_from(HOWS))
def test_hostile_launches(made, how, tmp_path_factory) -> None:
    check(Launch(TraceBuffer(made.spec, made.words)), tmp_path_factory.mktemp("t") / "t.json", how)


def test_blocks_that_touch_and_blocks_of_no_length(tmp_path: Path) -> None:
    """Two that share one instant are on two lanes; what has one event has a slice all the same."""
    spans = [(0, 100), (100, 200), (201, 300), (300, 300), (300, 300), (301, 301), (302, 400)]
    tracks = [track(begin, 0, enter(1, begin), leave(1, end)) for begin, end in spans]
    tracks += [
        track(500, 0, enter(1, 500)),
        track(600, 0, leave(1, 600)),
        track(600, 0, enter(2, 5), leave(2, 5)),
    ]
    source = Launch(launch(*tracks, sm_clock_mhz=1000.0))
    check(source, tmp_path / "t.json")
    lanes = {s.name: s.thread for s in slices(tmp_path / "t.json") if s.category == "block"}
    shown = [int(lanes[f"block ({i},0,0)"].split()[1]) for i in range(len(tracks))]
    assert shown == [1, 2, 1, 2, 3, 1, 1, 1, 1, 2]


def test_names_of_every_kind_and_crossing_regions_in_lanes(tmp_path: Path) -> None:
    """Further lines of a lane are shared by its blocks too."""
    names = ("", "🔥", "\x00\x1f", "n" * 1_000_000, "a\\")
    crossing = [enter(0, 0), enter(1, 50), leave(0, 100), enter(2, 120), leave(1, 150), leave(2, 190)]
    more = [enter(3, 200), enter(4, 200), leave(4, 210), leave(3, 210)]
    events = [[(tag, clock + t) for tag, clock in (*crossing, *more)] for t in (0, 1000, 2000)]
    tracks = [track(1000 * i, 5, *events[i]) for i in range(3)]
    drawn = check(Launch(launch(*tracks, words=30, names=names, sm_clock_mhz=1000.0)), tmp_path / "t.json")
    assert {d.thread for d in drawn} == {"lane 1 · warpgroup 0", "lane 1 · warpgroup 0 · overlap 2"}


@pytest.mark.parametrize("name", ["t.json.gz", "t.pftrace"])
def test_a_hundred_thousand_blocks(tmp_path: Path, name: str) -> None:
    """Of 50 ns each, a new one every 10 ns: five at any time, and no line for each."""
    n = 100_000
    words = np.repeat(np.array([track(0, 5, enter(0, 5), leave(0, 54))], np.uint32), n, axis=0)
    words[:, [0, 4, 6]] += 10 * np.arange(n, dtype=np.uint32)[:, None]
    spec = TraceSpec(grid=(n, 1, 1), block=(128, 1, 1), words_per_track=7, sm_clock_mhz=1000.0)
    options = PerfettoOptions(args=("block",) if name == "t.pftrace" else ())
    write_trace(Launch(TraceBuffer(spec, words)), tmp_path / name, options)
    sql = """
        select category, depth, count(*), count(distinct track_id), sum(dur), sum(ts) from slice
        where name = 'region_0' or category = 'block' group by 1, 2 order by 1
    """
    result = load_trace(tmp_path / name, sql)
    assert result.is_clean
    numbers = n, 5, 49 * n, 10 * n * (n - 1) // 2
    assert result.rows == ([(None, 1, *numbers), ("block", 0, *numbers)],)


def test_names_of_every_kind(tmp_path: Path) -> None:
    names = (
        "Init",
        'q"uote',
        "new\nline",
        "tab\tand\x01\x7f",
        "🔥 é \u2028",
        "\ud83d alone",
        "\udd25\ud83d",
        "ends in \\",
        "two \\\\",
        'quote and \\" backslash',
        '"',
        "\\",
        "",
        "</script>,]}",
        "\x00nul",
        "a/b",
        "n" * 100_000,
        "\\u0041",
        "'",
        "(empty name)",
    )
    events = [(enter(i, 100 * i), leave(i, 100 * i + 50)) for i in range(len(names))]
    buffer = launch(track(7, 3, *(e for pair in events for e in pair)), words=100, names=names)
    assert len(check(Launch(buffer), tmp_path / "t.json")) == len(names)


def test_sm_ids_at_their_limits(tmp_path: Path) -> None:
    """pid 0, small ones that a tid must not meet, and the largest word."""
    one = (enter(0, 5), leave(0, 50))
    sms = (0, 1, 2, 131, 100, 1000, 65535, 2**31, 2**32 - 1)
    drawn = check(Launch(launch(*(track(10, sm, *one) for sm in sms))), tmp_path / "t.json")
    assert {d.pid for d in drawn} == set(sms)


def test_more_levels_than_the_engine_has(tmp_path: Path) -> None:
    n = 1100
    deep = [enter(i % 3, 10 * i) for i in range(n)] + [
        leave(i % 3, 10 * (2 * n - i)) for i in reversed(range(n))
    ]
    drawn = check(Launch(launch(track(0, 1, *deep), words=3 + 4 * n)), tmp_path / "t.json")
    assert len(drawn) == n
    assert max(d.depth for d in drawn) == LEVELS - 1
    assert len({d.thread for d in drawn}) == 3
    assert {d.depth for d in drawn if "deep" not in d.thread} == set(range(1, LEVELS))


@pytest.mark.parametrize("how", HOWS[:2], ids=str)
def test_regions_of_no_length(tmp_path: Path, how: tuple[str, bool]) -> None:
    """Alone, in a row, nested, at both ends of others, and through the rounding to nanoseconds."""
    events = [enter(0, 0), enter(1, 0), leave(1, 0), enter(2, 0), leave(2, 5), enter(1, 5), leave(1, 5)]
    events += [enter(2, 5), leave(2, 9), enter(1, 9), enter(2, 9), leave(2, 9), leave(1, 9), leave(0, 9)]
    events += [enter(1, 9), leave(1, 9)]
    near = [e for i in range(20) for e in (enter(1 + i % 2, 20 + i), leave(1 + i % 2, 20 + i + 1))]
    buffer = launch(track(0, 1, *events), track(64, 1, *near), words=100, sm_clock_mhz=1980.0)
    drawn = check(Launch(buffer), tmp_path / "t.json", how)
    assert sum(d.dur == 0 for d in drawn) > 5


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_broken_launches(tmp_path: Path, how: tuple[str, bool]) -> None:
    """Crossing, unclosed, truncated, overfull, overwritten, orphans, garbage tags, broken headers."""
    crossing = [enter(0, 0), enter(1, 50), leave(0, 100), enter(2, 120), leave(1, 150), leave(2, 190)]
    full = [enter(i % 3, 30 * i) for i in range(20)]
    buffer = launch(
        track(0, 0, *crossing),
        track(10, 0, enter(0, 0), enter(1, 10), enter(2, 20), leave(2, 30)),
        track(20, 1, *full),
        track(30, 1, *full, used=60),
        track(40, 1, *full),
        track(50, 2, leave(1, 0), enter(1, 10), leave(2, 20), leave(1, 30)),
        track(60, 2, enter(1, 0), enter(2**30, 77), leave(1, 30)),
        track(70, 2, enter(1, 0), leave(1, 30), used=5),
        track(80, 3, enter(1, 100), leave(1, 90), enter(2, 2**32 + 50), leave(2, 200)),
        words=43,
        grid=(3, 1, 1),
        block=(384, 1, 1),
    )
    drawn = check(Launch(buffer), tmp_path / "t.json", how)
    assert any("overlap" in d.thread for d in drawn)
    assert {key for d in drawn for key, _ in d.args} == {"truncated", "unclosed"}


def test_times_up_to_25_days_are_exact(tmp_path: Path) -> None:
    events = [e for i in range(500) for e in (enter(0, i * (2**31 - 7)), leave(0, i * (2**31 - 7) + 1 + i))]
    buffer = launch(track(3, 0, *events), words=2003, sm_clock_mhz=1.0)
    drawn = check(Launch(buffer), tmp_path / "t.json")
    assert max(d.ts for d in drawn) > 2**49


def test_a_random_launch(tmp_path: Path) -> None:
    """Random tags and clocks: lanes, orphans and open regions wherever they fall."""
    rng = np.random.default_rng(1)
    spec = TraceSpec(grid=(3, 4, 5), block=(64, 2, 3), words_per_track=83, names=tuple("abcdefgh"))
    words = rng.integers(0, 2**32, (spec.n_tracks, 83), dtype=np.uint32)
    words[:, 1] = rng.integers(0, 9, spec.n_tracks)
    words[:, 2] = 2 * rng.integers(0, 42, spec.n_tracks)
    words[:, 3::2] = rng.integers(0, 8, (spec.n_tracks, 40)) + 2**31 * rng.integers(0, 2, (spec.n_tracks, 40))
    words[:, 4::2] = np.cumsum(rng.integers(-3, 500, (spec.n_tracks, 40)), axis=1) % 2**32
    words[:, 0] = rng.integers(0, 10**6, spec.n_tracks)
    drawn = check(Launch(TraceBuffer.from_flat(words.reshape(-1), spec)), tmp_path / "t.json")
    assert len(drawn) > 1000


def test_gzip_and_args(tmp_path: Path) -> None:
    buffer = launch(
        track(0, 0, enter(0, 0), leave(0, 1980), enter(0, 3000), leave(0, 3990)), sm_clock_mhz=1980.0
    )
    path = tmp_path / "t.json.gz"
    with gzip.open(path, "wb") as sink:
        write_chrome(Launch(buffer, with_index=True), sink, ChromeOptions(args=("cycles", "index")))
    assert [(s.ts, s.dur, s.args) for s in slices(path) if s.category is None] == [
        (0, 1000, {"cycles": 1980, "index": 0}),
        (1515, 500, {"cycles": 990, "index": 1}),
    ]
