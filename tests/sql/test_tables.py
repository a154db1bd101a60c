"""What SQL answers, against NumPy, plain Python and the Timeline."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import FIXTURES
from hypothesis import given, settings
from strategies import Made, corrupted_launches, random_launches, sound_launches

import mgpu_trace
from mgpu_trace.analyse.select import parse_selection
from mgpu_trace.model import TraceBuffer, TrackFlag, occurrence
from mgpu_trace.pipeline import Launch, open_launch
from mgpu_trace.sql.session import Session, query
from mgpu_trace.synth import bench_launch

GEMM = FIXTURES / "golden/hopper_gemm.npy"
GOLDEN = sorted((FIXTURES / "golden").glob("*.npy"))


def launch_of(made: Made) -> Launch:
    return Launch(TraceBuffer.from_flat(made.words.reshape(-1), made.spec))


def rows(sql: str, *sources: Any, **how: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = query(sql, *sources, **how).to_pylist()
    return found


@settings(max_examples=30)
@given(sound_launches() | corrupted_launches() | random_launches())
def test_slices_are_the_columns_of_the_timeline(made: Made) -> None:
    timeline = launch_of(made).timeline()
    found = query("SELECT * EXCLUDE (file, role, index, removed_cyc) FROM slices", launch_of(made))
    assert found.to_pylist() == timeline.to_arrow().to_pylist()
    more = query("SELECT file, role, index, removed_cyc FROM slices", timeline).to_pydict()
    n = len(timeline.slices)
    assert more["file"] == more["role"] == [None] * n
    assert more["removed_cyc"] == [0] * n
    assert more["index"] == occurrence(timeline.slices.track, timeline.slices.name).tolist()


@settings(max_examples=30)
@given(corrupted_launches() | random_launches())
def test_tracks_are_the_headers(made: Made) -> None:
    launch = launch_of(made)
    timeline = launch.timeline()
    tracks, spec = timeline.tracks, timeline.spec
    n_slices = Counter(timeline.slices.track.tolist())
    expected = []
    for i in range(len(tracks)):
        (x, y, z), unit = spec.place_of(i)
        flags = int(tracks.flags[i])
        expected.append(
            {
                "track": i,
                "block": i // spec.tracks_per_block,
                "block_x": x,
                "block_y": y,
                "block_z": z,
                "unit": unit,
                "sm": int(tracks.sm[i]),
                "start_ns": int(tracks.start_ns[i]),
                "n_events": int(tracks.n_events[i]),
                "n_skipped": int(tracks.n_skipped[i]),
                "n_slices": n_slices[i],
                "overfull": bool(flags & TrackFlag.OVERFULL),
                "overwritten": bool(flags & TrackFlag.OVERWRITTEN),
                "broken": bool(flags & TrackFlag.BROKEN),
                "full": bool(flags & TrackFlag.FULL),
                "truncated": bool(flags & TrackFlag.TRUNCATED),
                "unreadable": bool(flags & TrackFlag.UNREADABLE),
            }
        )
    assert rows("SELECT * EXCLUDE (file, role, first_ns, origin_cyc) FROM tracks", launch) == expected


@settings(max_examples=30)
@given(sound_launches() | corrupted_launches())
def test_launch_and_names(made: Made) -> None:
    launch = launch_of(made)
    (row,) = rows("SELECT * FROM launch", launch)
    timeline, spec = launch.timeline(), launch.spec
    assert (row["grid_x"], row["grid_y"], row["grid_z"]) == spec.grid
    assert (row["threads_x"], row["threads_y"], row["threads_z"]) == spec.block
    for name in ("words_per_track", "n_blocks", "tracks_per_block", "n_tracks", "kernel", "device"):
        assert row[name] == getattr(spec, name)
    assert row["scope"] == spec.scope.label
    assert row["n_slices"] == len(timeline.slices)
    assert row["n_lost_events"] == launch.n_lost_events
    assert row["sm_clock_mhz"] == launch.clock.rate_mhz
    assert row["sm_clock_source"] == launch.clock.rate_source
    severities = Counter(d.severity.label for d in timeline.report)
    assert (row["n_errors"], row["n_warnings"]) == (severities["error"], severities["warning"])
    end_ns = launch.scan().end_ns if launch.clock.rate_mhz is not None else None
    assert row["duration_ns"] == end_ns

    counts = Counter(timeline.slices.name.tolist())
    known = range(len(spec.names or ()))
    expected = [(i, spec.name_of(i), counts[i]) for i in sorted({*known, *counts})]
    found = rows("SELECT name_id, region, n_slices FROM names", launch)
    assert [tuple(row.values()) for row in found] == expected


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_a_group_by_is_what_numpy_adds_up(path: Path) -> None:
    timeline = mgpu_trace.load(path)
    slices = timeline.slices
    sql = """SELECT name_id, region, count(*) n, sum(dur_cyc) s, min(dur_cyc) least, max(dur_cyc) most,
             avg(dur_cyc) mean, sum(dur_ns) ns FROM slices GROUP BY ALL ORDER BY name_id"""
    found = rows(sql, timeline)
    assert len(found) == len(np.unique(slices.name))
    for row in found:
        mine = slices.dur_cyc[slices.name == row["name_id"]]
        assert row["region"] == timeline.spec.name_of(row["name_id"])
        assert (row["n"], row["s"]) == (len(mine), mine.sum())
        assert (row["least"], row["most"]) == (mine.min(), mine.max())
        assert row["mean"] == pytest.approx(mine.mean(), rel=1e-12)
        if timeline.clock.rate_mhz is None:
            assert row["ns"] is None
        else:
            assert row["ns"] == pytest.approx(mine.sum() * timeline.clock.ns_per_cyc, rel=1e-12)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_the_duration_is_the_end_of_the_last_slice(path: Path) -> None:
    launch = open_launch(path)
    known = launch.clock.rate_mhz is not None
    found = rows("SELECT duration_ns, (SELECT max(end_ns) FROM slices) AS last_ns FROM launch", launch)
    end_ns = launch.scan().end_ns if known else None
    assert found == [{"duration_ns": end_ns, "last_ns": end_ns}]


def test_tracks_place_their_slices() -> None:
    """origin_cyc and start_cyc give one axis for the SM, on which slices of a track follow each other."""
    launch = open_launch(GEMM)
    sql = """SELECT t.origin_cyc + s.start_cyc AS begin_cyc, s.begin_ns, t.first_ns, s.start_cyc
             FROM slices s JOIN tracks t USING (file, track)"""
    found = rows(sql, launch)
    assert len(found) == launch.n_slices
    for row in found:
        assert abs(row["begin_cyc"] * launch.clock.ns_per_cyc - row["begin_ns"]) < 1.0
        assert row["begin_ns"] >= row["first_ns"]


def test_several_files_are_told_apart(session: Session) -> None:
    sql = "SELECT file, count(*) n, count(DISTINCT region) n_names FROM slices GROUP BY ALL"
    found = {row["file"]: (row["n"], row["n_names"]) for row in session.ask(sql).to_pylist()}
    for path in GOLDEN:
        timeline = mgpu_trace.load(path)
        names = {timeline.spec.name_of(int(i)) for i in timeline.slices.name}
        assert found.pop(path.name, (0, 0)) == (len(timeline.slices), len(names))
    assert not found
    regions = session.ask("SELECT file, track, start_cyc, lane, region FROM slices ORDER BY ALL").to_pylist()
    expected = []
    for path in GOLDEN:
        timeline = mgpu_trace.load(path)
        columns = [timeline.to_arrow()[name].to_pylist() for name in ("track", "start_cyc", "lane", "region")]
        expected += [(path.name, *row) for row in zip(*columns, strict=True)]
    assert [tuple(row.values()) for row in regions] == sorted(expected)
    files = session.ask("SELECT file FROM launch").to_pydict()["file"]
    assert files == [path.name for path in GOLDEN]


def test_roles_are_names_of_units(session: Session) -> None:
    found = session.ask("SELECT DISTINCT unit, role FROM slices ORDER BY unit").to_pylist()
    assert found[0] == {"unit": 0, "role": "tma"}
    assert {row["role"] for row in found[1:]} == {None}
    assert session.ask("SELECT count(*) FROM tracks WHERE role = 'tma' AND unit <> 0").to_pylist() == [
        {"count_star()": 0}
    ]


def test_a_selection_keeps_what_depends_on_the_rest() -> None:
    """The occurrence of a name is the one in its whole track, also where the ones before are not there."""
    launch = Launch(bench_launch(3, 2, 102))
    launch.selection = parse_selection(["time=1us:"])
    whole = Launch(bench_launch(3, 2, 102), with_index=True)
    whole.selection = launch.selection
    expected = whole.timeline().slices.index.tolist()
    assert query("SELECT index FROM slices", launch).to_pydict()["index"] == expected
    assert min(expected) > 0
    part = open_launch(GEMM)
    part.selection = parse_selection(["sm=1"])
    assert rows("SELECT DISTINCT sm FROM tracks", part) == [{"sm": 1}]


def test_nothing_in_it() -> None:
    spec = mgpu_trace.TraceSpec(grid=(2, 1, 1), block=(128, 1, 1), words_per_track=9)
    empty = Launch(TraceBuffer.from_flat(np.zeros(spec.n_words, np.uint32), spec))
    broken = np.full(spec.n_words, 0xFFFFFFFF, np.uint32)
    for launch in (empty, Launch(TraceBuffer.from_flat(broken, spec))):
        assert rows("SELECT * FROM slices", launch) == []
        assert rows("SELECT count(*) n, sum(dur_cyc) s, max(region) r FROM slices", launch) == [
            {"n": 0, "s": None, "r": None}
        ]
        assert rows("SELECT n_slices, duration_ns FROM launch", launch)[0]["n_slices"] == 0
        assert [row["track"] for row in rows("SELECT track FROM tracks", launch)] == [0, 1]
    assert rows("SELECT count(*) n FROM slices") == [{"n": 0}]


def test_hostile_names_are_data() -> None:
    names = ("'; DROP TABLE slices; --", "\ud800", "a\0b", "", '"')
    events = [word for i in range(5) for word in (i, 100 * i, i | 1 << 31, 100 * i + 10)]
    spec = mgpu_trace.TraceSpec(
        grid=(1, 1, 1), block=(128, 1, 1), words_per_track=3 + len(events), names=names, kernel="\ud800k"
    )
    launch = Launch(TraceBuffer.from_flat(np.array([5, 1, len(events), *events], np.uint32), spec))
    kept = ["'; DROP TABLE slices; --", "\ufffd", "a\0b", "", '"']
    assert query("SELECT region FROM slices", launch).to_pydict()["region"] == kept
    assert query("SELECT region FROM names", launch).to_pydict()["region"] == kept
    assert rows("SELECT kernel FROM launch", launch) == [{"kernel": "\ufffdk"}]
