"""Our TrackEvents in Perfetto's own engine: every slice, track and argument as they were written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from perfetto_engine import ARGS_SQL, load_trace, needs_engine, slices
from perfetto_packets import BLOCK, LOSS, Drawn, read
from picture_by_hand import HOWS
from strategies import corrupted_launches, random_launches
from tracks_by_hand import enter, launch, leave, track

from mgpu_trace.export.chrome import ChromeOptions, write_chrome
from mgpu_trace.export.output import open_output
from mgpu_trace.export.perfetto import write_perfetto
from mgpu_trace.export.perfetto_options import PerfettoOptions
from mgpu_trace.model import TraceBuffer
from mgpu_trace.pipeline import Launch, open_launch

pytestmark = needs_engine

GOLDEN = sorted((Path(__file__).parents[2] / "fixtures" / "golden").glob("*.npy"))
# Of these every picture is looked at; of the others the usual one.
SEVERAL = ("waves", "hopper_gemm")

SLICES_SQL = """
    select s.ts, s.dur, s.name, s.depth, s.track_id, s.category, s.arg_set_id from slice s order by s.ts
"""
TRACKS_SQL = """
    select t.id, t.parent_id, t.name,
        extract_arg(t.source_arg_set_id, 'child_ordering'),
        extract_arg(t.source_arg_set_id, 'sibling_order_rank')
    from track t
"""
COUNTERS_SQL = "select track_id, ts, value from counter order by track_id, ts"


def cases() -> Iterator[Any]:
    for path in GOLDEN:
        for how in HOWS if path.stem in SEVERAL else HOWS[:1]:
            yield pytest.param(path, how, id=f"{path.stem} {how[0]} {how[1]}")


def check(source: Launch, path: Path, **options) -> list[Drawn]:
    """Write, load, compare with what the packets say; test_perfetto.py compares those with the Timeline."""
    with open_output(path) as sink:
        write_perfetto(source, sink, PerfettoOptions(**options))
    loaded = load(path)
    wanted = read(path.read_bytes())
    assert Counter(loaded.drawn) == Counter(wanted.drawn)
    # The engine makes a track when something is on it.
    used = [*(d.path for d in wanted.drawn), *wanted.counters]
    parents = {path[:depth] for path in used for depth in range(1, 5)}
    assert loaded.lines == [path for path in wanted.lines() if path in parents]
    assert loaded.counters == wanted.counters
    return [d for d in loaded.drawn if len(d.path) == 4 and LOSS not in d.args and BLOCK not in d.args]


class Loaded(NamedTuple):
    """What the engine has."""

    drawn: list[Drawn]
    lines: list[tuple[str, ...]]
    counters: dict[tuple[str, ...], list[tuple[int, int]]]


def load(path: Path) -> Loaded:
    result = load_trace(path, SLICES_SQL, ARGS_SQL, TRACKS_SQL, COUNTERS_SQL)
    assert result.is_clean, (result.errors, result.stats)
    rows, arg_rows, tracks, counts = result.rows
    args: dict[int, dict[str, object]] = {}
    for arg_set, key, kind, integer, real, text in arg_rows:
        value = {"bool": bool(integer), "string": text, "real": real}.get(kind, integer)
        args.setdefault(arg_set, {})[key.removeprefix("debug.")] = value
    about = {ident: (parent, name) for ident, parent, name, *_ in tracks}

    def path_of(ident: int | None) -> tuple[str, ...]:
        return () if ident is None else (*path_of(about[ident][0]), about[ident][1])

    drawn = [
        Drawn(path_of(of), ts, dur, depth, name or "", with_category(args.get(arg_set, {}), category))
        for ts, dur, name, depth, of, category, arg_set in rows
    ]
    counters: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for of, ts, value in counts:
        counters.setdefault(path_of(of), []).append((ts, int(value)))
    return Loaded(drawn, lines(tracks), counters)


def with_category(args: dict[str, object], category: str | None) -> tuple[tuple[str, object], ...]:
    return tuple(sorted((args | ({"category": category} if category else {})).items()))


def lines(tracks) -> list[tuple[str, ...]]:
    """Paths of the engine's tracks from the top of the picture to its end."""
    assert all(ordering == "explicit" for *_, ordering, _ in tracks)
    below: dict[int | None, list[tuple[int, int, str]]] = {}
    for ident, parent, name, _, rank in tracks:
        below.setdefault(parent, []).append((rank, ident, name))

    def under(parent: int | None, path: tuple[str, ...]):
        for _, ident, name in sorted(below.get(parent, [])):
            yield (*path, name)
            yield from under(ident, (*path, name))

    return list(under(None, ()))


@pytest.mark.parametrize(("path", "how"), list(cases()))
def test_golden_launches(path: Path, how: tuple[str, bool], tmp_path: Path) -> None:
    assert check(open_launch(path), tmp_path / "t.pftrace", counters="sm", group_by=how[0], lanes=how[1])


@pytest.mark.parametrize("how", HOWS, ids=str)
@pytest.mark.parametrize("path", GOLDEN[-1:], ids=lambda p: p.stem)
def test_both_formats_show_the_same(path: Path, how: tuple[str, bool], tmp_path: Path) -> None:
    """Times, names, categories and lines; and depths, but on lines with regions of no length."""
    options = {"group_by": how[0], "lanes": how[1]}
    with (tmp_path / "t.pftrace").open("wb") as sink:
        write_perfetto(open_launch(path), sink, PerfettoOptions(base="zero", **options))
    drawn = load(tmp_path / "t.pftrace").drawn
    native = [d for d in drawn if len(d.path) == 4 and LOSS not in d.args]
    with (tmp_path / "t.json").open("wb") as sink:
        write_chrome(open_launch(path), sink, ChromeOptions(**options))
    chrome = slices(tmp_path / "t.json")
    pointed = {d.path[-2:] for d in native if not d.dur}
    ours = Counter(
        (d.ts, d.dur, d.name, BLOCK in d.args, d.path[-2:], d.path[-2:] not in pointed and d.depth)
        for d in native
    )
    theirs = Counter()
    for s in chrome:
        group = s.process if how[0] == "block" else f"{s.process} {s.pid}"
        line = group, s.thread
        if s.category != "loss":
            theirs[s.ts, s.dur, s.name, s.category == "block", line, line not in pointed and s.depth] += 1
    assert ours == theirs


@settings(max_examples=12, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # slow: as it comes
@given(
    made=st.one_of(corrupted_launches(), random_launches()),
    how=st.sampled_from(HOWS),
    long_line=st.sampled_from([0, 64]),
)
def test_hostile_launches(made, how, long_line, tmp_path_factory) -> None:
    source = Launch(TraceBuffer(made.spec, made.words))
    path = tmp_path_factory.mktemp("t") / "t.pftrace"
    with mock.patch("mgpu_trace.export.perfetto_chunk._LONG_LINE", long_line):
        check(source, path, counters="sm", group_by=how[0], lanes=how[1], args=("block", "cycles"))


def test_names_of_every_kind(tmp_path: Path) -> None:
    names = (
        "Init", 'q"uote', "new\nline", "tab\tand\x01\x7f", "🔥 é \u2028", "\ud83d alone", "ends in \\", "\\",
        "", "</script>,]}", "a\x00b", "n" * 1_000_000, "\\u0041", "[No name]", " ",
    )  # fmt: skip
    events = [(enter(i, 100 * i), leave(i, 100 * i + 50)) for i in range(len(names))]
    roles = {0: "the \x01\n'\"role\"' 🔥" + "r" * 3000}
    buffer = launch(
        track(7, 3, *(e for pair in events for e in pair)), words=100, names=names, kernel="\ud800"
    )
    assert len(check(Launch(buffer), tmp_path / "t.pftrace.gz", roles=roles)) == len(names)


def test_more_levels_than_the_engine_has(tmp_path: Path) -> None:
    n = 600
    deep = [enter(i % 3, 10 * i) for i in range(n)] + [
        leave(i % 3, 10 * (2 * n - i)) for i in reversed(range(n))
    ]
    drawn = check(Launch(launch(track(0, 1, *deep), words=3 + 4 * n)), tmp_path / "t.pftrace")
    assert len(drawn) == n
    assert {d.depth for d in drawn if "deep" not in d.path[-1]} == set(range(1, 512))
    assert len({d.path for d in drawn}) == 2


def test_regions_of_no_length_have_their_own_depth(tmp_path: Path) -> None:
    """Alone, in a row, nested, at both ends of others: as the kernel came by, which JSON cannot say."""
    events = [enter(0, 0), enter(1, 0), leave(1, 0), enter(2, 0), leave(2, 5), enter(1, 5), leave(1, 5)]
    events += [enter(2, 5), leave(2, 9), enter(1, 9), enter(2, 9), leave(2, 9), leave(1, 9), leave(0, 9)]
    events += [enter(1, 9), leave(1, 9)]
    source = Launch(launch(track(0, 1, *events), words=100, sm_clock_mhz=1980.0))
    drawn = check(source, tmp_path / "t.pftrace", lanes=False)
    depths = sorted(
        zip(source.timeline().slices.name.tolist(), source.timeline().slices.depth.tolist(), strict=True)
    )
    assert sorted((source.spec.names.index(d.name), d.depth) for d in drawn) == depths


def test_host_times_are_the_engines(tmp_path: Path) -> None:
    base = 1_700_000_000_123_456_789
    buffer = launch(track(0, 0, enter(0, 0), leave(0, 100)), host_time_before_ns=base)
    assert [d.ts for d in check(Launch(buffer), tmp_path / "t.pftrace")] == [base]


def test_times_near_the_largest(tmp_path: Path) -> None:
    base = 2**63 - 1 - 1000
    buffer = launch(
        track(0, 0, enter(0, 0), enter(1, 7), leave(1, 900), leave(0, 1000)), host_time_before_ns=base
    )
    drawn = check(Launch(buffer), tmp_path / "t.pftrace")
    assert sorted((d.ts, d.dur) for d in drawn) == [(base, 1000), (base + 7, 893)]


def test_files_put_one_behind_the_other(tmp_path: Path) -> None:
    """Launches of two devices: one picture on the host's time, nothing mixed up."""
    parts = []
    for device, ns in ((0, 0), (1, 500), (0, 700)):
        about = {"device": "H100", "device_id": device, "kernel": "k", "sm_clock_mhz": 1000.0, "launch": ns}
        events = enter(0, 0), enter(1, 5), leave(1, 50), leave(0, 100)
        source = Launch(launch(track(9, 0, *events), **about, host_time_before_ns=10**18 + ns))
        with open_output(tmp_path / "part.pftrace") as sink:
            write_perfetto(source, sink)
        parts.append((tmp_path / "part.pftrace").read_bytes())
    (tmp_path / "t.pftrace").write_bytes(b"".join(parts))
    loaded = load(tmp_path / "t.pftrace")
    seen = [(d.ts - 10**18, d.dur, d.name, d.depth, d.path[:2]) for d in loaded.drawn if len(d.path) == 4]
    wanted = []
    for device, ns in ((0, 0), (1, 500), (0, 700)):
        path = (f"H100 · device {device}", f"k · launch {ns}")
        wanted += [(ns, 100, "block (0,0,0)", 0, path)]
        wanted += [(ns, 100, "Init", 1, path), (ns + 5, 45, "load", 2, path)]
    assert seen == wanted
    assert [path for path in loaded.lines if len(path) < 3] == [
        ("H100 · device 0",),
        ("H100 · device 0", "k · launch 0"),
        ("H100 · device 0", "k · launch 700"),
        ("H100 · device 1",),
        ("H100 · device 1", "k · launch 500"),
    ]


def test_arguments(tmp_path: Path) -> None:
    events = [enter(0, 0), leave(0, 3), enter(0, 10), enter(1, 2**31 - 1), leave(1, 2**32 - 2)]
    source = Launch(launch(track(0, 0, *events)), with_index=True)
    drawn = check(source, tmp_path / "t.pftrace", args=("cycles", "index", "block"))
    assert dict(sorted(drawn, key=lambda d: d.ts)[1].args) == {
        "cycles": 2**32 - 12, "index": 1, "block": "0,0,0", "unclosed": True,
    }  # fmt: skip


def test_losses_are_marked(tmp_path: Path) -> None:
    """Marks lie beside the regions, not in them, and findings in the summary."""
    full = [e for i in range(6) for e in (enter(0, 40 * i), leave(0, 40 * i + 30))][:10]
    tracks = (track(0, 2, *full, used=26), track(0, 3, *full))
    source = Launch(launch(*tracks, words=23, grid=(1, 1, 1), block=(256, 1, 1), sm_clock_mhz=1000.0))
    check(source, tmp_path / "t.pftrace")
    drawn = load(tmp_path / "t.pftrace").drawn
    marks = [(d.name, d.path[2], d.depth, d.dur) for d in drawn if LOSS in d.args]
    assert sorted(marks) == [
        ("events lost here", "SM 2", 1, 0),
        ("events overwritten before here", "SM 3", 1, 0),
    ]
    summary = [d for d in drawn if d.path[-1] == "summary"]
    findings = {d.name.split()[0]: d.depth for d in summary if d.depth}
    assert findings == {d.code.id: depth for depth, d in enumerate(source.report, 1)}
