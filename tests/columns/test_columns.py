"""The columns of slices, against what a Timeline says of each slice, one by one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from strategies import Made, corrupted_launches, random_launches, sound_launches

from mgpu_trace.columns.fields import LAUNCH, NAMES, SLICES, TABLES, TRACKS
from mgpu_trace.columns.regions import Regions, Texts
from mgpu_trace.columns.slices import SliceColumns, slice_fields
from mgpu_trace.model import Timeline, TraceBuffer, TrackFlag
from mgpu_trace.pipeline import Launch
from mgpu_trace.spec import TraceSpec


def launch_of(made: Made, **how: Any) -> Launch:
    return Launch(TraceBuffer.from_flat(made.words.reshape(-1), made.spec), **how)


def row_of(timeline: Timeline, i: int) -> dict[str, Any]:
    """What docs/tables.md says of slice ``i``, from the Timeline's own columns, one value at a time."""
    slices, tracks, spec, clock = timeline.slices, timeline.tracks, timeline.spec, timeline.clock
    track = int(slices.track[i])
    (x, y, z), unit = spec.place_of(track)
    start, dur = int(slices.start_cyc[i]), int(slices.dur_cyc[i])
    known = clock.rate_mhz is not None

    def ns(cyc: int) -> int:
        return int(clock.to_ns(np.array([track], np.int32), np.array([cyc], np.int64))[0])

    lost = int(tracks.flags[track]) & (TrackFlag.TRUNCATED | TrackFlag.OVERFULL)
    return {
        "track": track,
        "block": track // spec.tracks_per_block,
        "block_x": x,
        "block_y": y,
        "block_z": z,
        "unit": unit,
        "sm": int(tracks.sm[track]),
        "region": spec.name_of(int(slices.name[i])),
        "name_id": int(slices.name[i]),
        "depth": int(slices.depth[i]),
        "lane": int(slices.lane[i]),
        "start_cyc": start,
        "dur_cyc": dur,
        "begin_ns": ns(start) if known else None,
        "end_ns": ns(start + dur) if known else None,
        "dur_ns": dur * clock.ns_per_cyc if known else None,
        "closed": bool(slices.closed[i]),
        "truncated": not slices.closed[i] and bool(lost),
    }


@given(sound_launches() | corrupted_launches() | random_launches())
def test_every_row_is_what_the_timeline_says(made: Made) -> None:
    timeline = launch_of(made).timeline()
    table = timeline.to_arrow()
    assert table.to_pylist() == [row_of(timeline, i) for i in range(len(timeline.slices))]


@given(sound_launches())
def test_with_a_rate_the_times_are_the_clocks(made: Made) -> None:
    made.spec = replace(made.spec, sm_clock_mhz=1755.0)
    timeline = launch_of(made).timeline()
    table = timeline.to_arrow()
    begin, end = timeline.clock.begin_end_ns(
        timeline.slices.track, timeline.slices.start_cyc, timeline.slices.dur_cyc
    )
    assert table["begin_ns"].to_pylist() == begin.tolist()
    assert table["end_ns"].to_pylist() == end.tolist()
    assert table["dur_ns"].to_pylist() == [d * (1000.0 / 1755.0) for d in timeline.slices.dur_cyc.tolist()]


def test_the_schema_has_every_unit_and_says_what_may_be_unknown() -> None:
    for fields in TABLES.values():
        for field in fields:
            arrow = field.to_arrow()
            suffix = field.name.rpartition("_")[2]
            if suffix in ("ns", "cyc", "mhz", "ppm"):
                assert field.unit == suffix
                assert arrow.metadata[b"unit"] == suffix.encode()
            elif field.name != "words_per_track":
                assert b"unit" not in arrow.metadata
            assert arrow.nullable == field.may_be_null
            assert arrow.metadata[b"description"]
    for fields in (SLICES, TRACKS, LAUNCH, NAMES):
        names = [field.name for field in fields]
        assert len(set(names)) == len(names)


def timeline_of(spec: TraceSpec, rows: list[list[int]]) -> Timeline:
    words = np.zeros((spec.n_tracks, spec.words_per_track), np.uint32)
    for i, row in enumerate(rows):
        words[i, : len(row)] = row
    return Launch(TraceBuffer.from_flat(words.reshape(-1), spec)).timeline()


EXIT = 1 << 31


def named(*names: str, ids: tuple[int, ...] = (0, 1, 2)) -> Timeline:
    """One track with a slice of each id."""
    events = [word for i in ids for word in (i, 100 * i, i | EXIT, 100 * i + 10)]
    spec = TraceSpec(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=3 + len(events), names=names or None)
    return timeline_of(spec, [[5, 1, len(events), *events]])


def test_names_that_are_no_text_are_replaced_and_counted() -> None:
    table = named("ok", "half \ud83d of one", "\0nul\0").to_arrow()
    assert table["region"].to_pylist() == ["ok", "half \ufffd of one", "\0nul\0"]
    about = json.loads(table.schema.metadata[b"mgpu-trace"])
    (found,) = [d for d in about["diagnostics"] if d["code"] == "MGT604"]
    assert found["count"] == 1
    assert about["spec"]["names"][1] == "half \ud83d of one"


@pytest.mark.parametrize("names", [(), ("a",), ("a", "a", "a"), ("", "b", "")])
def test_ids_that_are_equal_by_name_or_have_none(names: tuple[str, ...]) -> None:
    timeline = named(*names)
    table = timeline.to_arrow()
    assert table["region"].to_pylist() == [timeline.spec.name_of(i) for i in range(3)]
    assert table["name_id"].to_pylist() == [0, 1, 2]
    dictionary = table["region"].chunk(0).dictionary.to_pylist()
    assert len(set(dictionary)) == len(dictionary)


def test_ids_far_beyond_the_table() -> None:
    timeline = named("a", ids=(0, 2**20 - 1, 7))
    assert timeline.to_arrow()["region"].to_pylist() == ["a", "name 1048575 (unknown)", "name 7 (unknown)"]


def test_numbers_of_names_do_not_depend_on_how_they_are_met() -> None:
    ids = np.array([5, 0, 3, 5, 1, 0], np.int32)
    for n_known in (0, 2, 6):
        for step in (1, 2, 6):
            regions = Regions(lambda i: f"n{i % 4}", n_known, Texts())
            parts = [regions.numbers(ids[i : i + step]) for i in range(0, 6, step)]
            column = regions.texts.column(np.concatenate(parts))
            assert column.to_pylist() == [f"n{i % 4}" for i in ids.tolist()]


def test_texts_that_come_after_a_column_without_any() -> None:
    texts = Texts()
    nothing = texts.column(np.zeros(2, np.int32), np.ones(2, np.bool_))
    assert nothing.to_pylist() == [None, None]
    assert len(nothing.dictionary) == 1  # DuckDB 1.1 does not survive an empty one
    assert texts.column(np.array([texts.number_of("a")], np.int32)).to_pylist() == ["a"]


def test_columns_that_were_not_asked_for_are_left_out() -> None:
    made = named("a", "b", "c")
    assert not {"role", "index", "removed_cyc"} & set(made.to_arrow().column_names)
    slices = made.slices
    more = replace(slices, index=np.arange(3), removed_cyc=np.array([4, 5, 6]))
    names = [field.name for field in slice_fields(more, {0: "tma"})]
    assert names == [field.name for field in SLICES]
    columns = SliceColumns(made, {0: "tma"})
    assert columns.column("index", more).to_pylist() == [0, 1, 2]
    assert columns.column("removed_cyc", more).to_pylist() == [4, 5, 6]
    assert columns.column("role", more).to_pylist() == ["tma"] * 3


def test_places_in_a_grid_of_three_axes() -> None:
    spec = TraceSpec(grid=(2, 3, 4), block=(256, 1, 1), words_per_track=7)
    timeline = timeline_of(spec, [[5, 1, 4, 0, 10, EXIT, 20]] * spec.n_tracks)
    rows = timeline.to_arrow().to_pylist()
    assert len(rows) == spec.n_tracks == 48
    assert rows == [row_of(timeline, i) for i in range(48)]
    places = [(row["block_x"], row["block_y"], row["block_z"], row["unit"]) for row in rows]
    assert places == [(x, y, z, u) for x in range(2) for y in range(3) for z in range(4) for u in range(2)]


def test_an_open_slice_is_truncated_only_where_its_track_lost_its_tail() -> None:
    spec = TraceSpec(grid=(3, 1, 1), block=(128, 1, 1), words_per_track=7)
    last_is_overfull = [[5, 1, 2, 0, 10], [5, 1, 4, 0, 10, EXIT, 20], [5, 1, 6, 0, 10, 1, 20]]
    timeline = timeline_of(spec, last_is_overfull)
    assert int(timeline.tracks.flags[2]) & TrackFlag.OVERFULL
    table = timeline.to_arrow()
    assert table["closed"].to_pylist() == [False, True, False, False]
    assert table["truncated"].to_pylist() == [False, False, True, True]


def test_no_slices_are_a_table_without_rows() -> None:
    spec = TraceSpec(grid=(2, 1, 1), block=(128, 1, 1), words_per_track=9)
    table = timeline_of(spec, []).to_arrow()
    assert table.num_rows == 0
    assert table.column_names == [f.name for f in SLICES if f.name not in ("role", "index", "removed_cyc")]


@given(sound_launches())
def test_other_libraries_read_the_same(made: Made) -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    timeline = launch_of(made).timeline()
    rows = timeline.to_arrow().to_pylist()
    assert timeline.to_polars().to_dicts() == rows
    assert polars.DataFrame(timeline).to_dicts() == rows
    assert pa.table(timeline).to_pylist() == rows
    frame = timeline.to_pandas()
    assert list(frame.columns) == list(timeline.to_arrow().column_names)
    for name in frame.columns:
        values = [None if pandas.isna(v) else v for v in frame[name].tolist()]
        assert values == [row[name] for row in rows]
    assert json.loads(frame.attrs["mgpu-trace"])["spec"] == timeline.spec.to_dict()


def test_columns_without_arithmetic_share_memory() -> None:
    timeline = named("a", "b", "c")
    chunk = timeline.to_arrow()["dur_cyc"].chunk(0)
    assert chunk.buffers()[1].address == timeline.slices.dur_cyc.ctypes.data
