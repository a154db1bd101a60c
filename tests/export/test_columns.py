"""Parquet, Arrow and CSV, read by pyarrow, DuckDB and the csv module, against the Timeline."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from strategies import Made, corrupted_launches, random_launches, sound_launches

from mgpu_trace.analyse.select import parse_selection
from mgpu_trace.export import columns
from mgpu_trace.export.chrome import ChromeOptions
from mgpu_trace.export.columns import write_arrow, write_csv, write_parquet
from mgpu_trace.export.output import write_trace
from mgpu_trace.model import TraceBuffer
from mgpu_trace.pipeline import Launch, open_launch
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth import bench_launch

Rows = list[dict[str, Any]]


def of_parquet(data: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(data))


def of_arrow(data: bytes) -> pa.Table:
    return ipc.open_file(data).read_all()


READ: dict[Callable[..., Any], Callable[[bytes], pa.Table]] = {
    write_parquet: of_parquet,
    write_arrow: of_arrow,
}
BOTH = pytest.mark.parametrize("write", READ, ids=lambda w: w.__name__)


def launch_of(made: Made, **how: Any) -> Launch:
    return Launch(TraceBuffer.from_flat(made.words.reshape(-1), made.spec), **how)


def written(write: Callable[..., Any], source: Any, options: Any = None) -> bytes:
    sink = io.BytesIO()
    write(source, sink, options)
    return sink.getvalue()


def rows_of_csv(data: bytes, like: pa.Table) -> Rows:
    """The rows of a CSV, each value as the type of its column says."""
    reads: dict[str, Callable[[str], Any]] = {
        "bool": lambda text: {"true": True, "false": False}[text],
        "double": float,
    }
    found = []
    for row in csv.DictReader(io.StringIO(data.decode(), newline="")):
        values: dict[str, Any] = {}
        for name, text in row.items():
            kind = like.schema.field(name).type
            if pa.types.is_dictionary(kind):
                values[name] = text
            else:
                values[name] = None if text == "" else reads.get(str(kind), int)(text)
        found.append(values)
    return found


@given(sound_launches() | corrupted_launches() | random_launches())
def test_all_formats_hold_what_the_timeline_holds(made: Made) -> None:
    timeline = launch_of(made).timeline()
    table = timeline.to_arrow()
    rows = table.to_pylist()
    for write, read in READ.items():
        back = read(written(write, launch_of(made)))
        assert back.to_pylist() == rows
        assert back.schema.equals(table.schema)
        assert [f.metadata for f in back.schema] == [f.metadata for f in table.schema]
    assert rows_of_csv(written(write_csv, launch_of(made)), table) == rows


@BOTH
@given(made=corrupted_launches())
def test_the_metadata_says_what_was_found(write: Callable[..., Any], made: Made) -> None:
    launch = launch_of(made)
    back = READ[write](written(write, launch))
    about = json.loads(back.schema.metadata[b"mgpu-trace"])
    assert about["schema"] == "mgpu-trace/slices"
    assert about["spec"] == launch.spec.to_dict()
    assert about["clock"] == launch.clock.to_dict()
    assert about["diagnostics"] == [d.to_dict() for d in launch.report]
    assert about["n_lost_events"] == launch.n_lost_events
    assert about["n_tracks"] == len(launch.tracks)
    assert about["ns"].startswith("null" if launch.clock.rate_mhz is None else "from")


def test_duckdb_reads_parquet_with_its_metadata(tmp_path: Path) -> None:
    buffer = bench_launch(6, 3, 102)
    path = tmp_path / "x.parquet"
    write_trace(Launch(buffer), path)
    con = duckdb.connect()
    con.execute("SELECT region, count(*), sum(dur_cyc) FROM read_parquet(?) GROUP BY ALL", [str(path)])
    slices = Launch(buffer).timeline().slices
    name_of = buffer.spec.name_of
    assert sorted(con.fetchall()) == sorted(
        (name_of(i), int((slices.name == i).sum()), int(slices.dur_cyc[slices.name == i].sum()))
        for i in np.unique(slices.name).tolist()
    )
    con.execute("SELECT name FROM parquet_schema(?)", [str(path)])
    assert [name for (name,) in con.fetchall()][1:] == pq.read_schema(path).names


@BOTH
def test_runs_become_groups_of_rows(write: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows, however they are cut: runs of the decoder, groups of rows, dictionaries that grow."""
    monkeypatch.setattr(columns, "_ROWS", 64)
    buffer = bench_launch(9, 3, 202)
    buffer = TraceBuffer(replace(buffer.spec, names=None), buffer.words)
    launch = Launch(buffer)
    launch._decoder.run_events = 300
    data = written(write, launch)
    assert READ[write](data).to_pylist() == Launch(buffer).timeline().to_arrow().to_pylist()
    if write is write_parquet:
        assert pq.ParquetFile(io.BytesIO(data)).num_row_groups > 10
    else:
        assert ipc.open_file(data).num_record_batches > 10


@BOTH
@pytest.mark.parametrize("select", [["sm=0-1"], ["unit=0", "name=*o*"], ["time=1us:2us"], ["sm=999"]])
def test_a_part_of_a_launch(write: Callable[..., Any], select: list[str]) -> None:
    def part() -> Launch:
        launch = open_launch(Path(__file__).parents[2] / "fixtures/golden/hopper_gemm.npy")
        launch.selection = parse_selection(select)
        return launch

    back = READ[write](written(write, part()))
    assert back.to_pylist() == part().timeline().to_arrow().to_pylist()
    about = json.loads(back.schema.metadata[b"mgpu-trace"])
    assert about["selection"] == json.loads(json.dumps(part().selection.to_dict()))
    assert ("MGT605" in [d["code"] for d in about["diagnostics"]]) == (select == ["sm=999"])


def test_what_is_asked_for_besides(tmp_path: Path) -> None:
    buffer = bench_launch(4, 3, 52)
    options = ChromeOptions(args=["index"], roles={0: "tma", 2: 'mma "2"'})
    tables = []
    for name in ("x.parquet", "x.arrow", "x.csv"):
        write_trace(Launch(buffer, overhead=2, with_index=True), tmp_path / name, options)
    tables = [pq.read_table(tmp_path / "x.parquet"), of_arrow((tmp_path / "x.arrow").read_bytes())]
    slices = Launch(buffer, overhead=2, with_index=True).timeline().slices
    for table in tables:
        assert table["index"].to_pylist() == slices.index.tolist()
        assert table["removed_cyc"].to_pylist() == slices.removed_cyc.tolist()
        roles = {0: "tma", 1: None, 2: 'mma "2"'}
        assert table["role"].to_pylist() == [roles[t % 3] for t in slices.track.tolist()]
        about = json.loads(table.schema.metadata[b"mgpu-trace"])
        assert about["roles"] == {"0": "tma", "2": 'mma "2"'}
        assert about["overhead_removed_cyc"]
    lines = list(csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text("utf-8"), newline="")))
    assert [line["role"] for line in lines] == [role or "" for role in tables[0]["role"].to_pylist()]


HOSTILE = (
    'comma, quote " and\nline',
    "\ud800half",
    "\0",
    "",
    "ünïcode 🚀",
    "'; DROP TABLE slices; --",
    "x" * 9999,
)


def hostile_launch() -> Launch:
    ids = range(len(HOSTILE))
    events = [word for i in ids for word in (i, 100 * i, i | 1 << 31, 100 * i + 10)]
    n_words = 3 + len(events)
    spec = TraceSpec(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=n_words, names=HOSTILE)
    return Launch(TraceBuffer.from_flat(np.array([5, 1, len(events), *events], np.uint32), spec))


def test_hostile_names() -> None:
    kept = [name.replace("\ud800", "\ufffd") for name in HOSTILE]
    for write, read in READ.items():
        assert read(written(write, hostile_launch()))["region"].to_pylist() == kept
        assert [(d.code.id, d.count) for d in write(hostile_launch(), io.BytesIO())] == [("MGT604", 1)]
    data = written(write_csv, hostile_launch())
    found = [row["region"] for row in csv.DictReader(io.StringIO(data.decode(), newline=""))]
    assert found == [name.replace("\0", "\ufffd") for name in kept]
    assert [(d.code.id, d.count) for d in write_csv(hostile_launch(), io.BytesIO())] == [("MGT604", 2)]


def test_csv_is_plain_where_it_can_be(tmp_path: Path) -> None:
    buffer = bench_launch(1, 1, 12)
    write_trace(Launch(buffer), tmp_path / "x.csv")
    write_trace(Launch(buffer), tmp_path / "x.csv.gz")
    data = (tmp_path / "x.csv").read_bytes()
    assert gzip.decompress((tmp_path / "x.csv.gz").read_bytes()) == data
    head, first = data.decode().splitlines()[:2]
    assert head.startswith("track,block,block_x,block_y,block_z,unit,sm,region,name_id,")
    assert first.split(",")[:7] == ["0"] * 7
    assert first.split(",")[7] == f'"{buffer.spec.name_of(0)}"'
    assert data.endswith(b"\n")


def test_equal_launches_are_equal_files() -> None:
    for write in (*READ, write_csv):
        assert written(write, hostile_launch()) == written(write, hostile_launch())


@BOTH
def test_memory_does_not_grow_with_the_launch(write: Callable[..., Any], tmp_path: Path) -> None:
    peaks = []
    usual = pa.default_memory_pool()
    for n_blocks in (40, 240):
        launch = Launch(bench_launch(n_blocks, 3, 8002))
        counting = pa.proxy_memory_pool(usual)
        pa.set_memory_pool(counting)
        tracemalloc.start()
        try:
            write_trace(launch, tmp_path / f"x.{write.__name__[6:]}")
            peaks.append(tracemalloc.get_traced_memory()[1] + counting.max_memory())
        finally:
            tracemalloc.stop()
            pa.set_memory_pool(usual)
    # Six times the slices: 2.9 million rows of about 90 bytes are 260 MB.
    assert peaks[1] < 1.5 * peaks[0]
    assert peaks[1] < 150 << 20
