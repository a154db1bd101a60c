"""What Perfetto's engine does with Chrome JSON: the facts that the writer is built on (docs/perfetto.md).

Written by hand, so that a new engine that behaves otherwise is told apart from a fault of the writer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from perfetto_engine import (
    ARGS_SQL,
    SLICES_SQL,
    EngineResult,
    EngineSlice,
    load_trace,
    needs_engine,
    slices,
    slices_of,
)

pytestmark = needs_engine

US = 1000


def x(tid: int, ts: float, dur: float, name: str, pid: int = 1) -> str:
    return json.dumps({"ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "name": name})


def meta(name: str, pid: int, tid: int, /, **args: object) -> str:
    return json.dumps({"ph": "M", "pid": pid, "tid": tid, "name": name, "args": args})


def trace(path: Path, events: Iterable[str], tail: str = "") -> Path:
    path = path / "trace.json"
    path.write_text('{"traceEvents":[\n' + ",\n".join(events) + "\n]" + tail + "}", encoding="utf-8")
    return path


def load(path: Path, *events: str, tail: str = "") -> EngineResult:
    return load_trace(trace(path, events, tail), SLICES_SQL, ARGS_SQL)


def depths(seen: list[EngineSlice], tid: int) -> dict[str | None, int]:
    return {s.name: s.depth for s in seen if s.tid == tid}


def test_order_and_depth(tmp_path: Path) -> None:
    """Time, then the longer one, then the place in the file; a slice of no length is never beside another."""
    seen = slices(
        trace(
            tmp_path,
            [
                *(x(11, 1, 5, "first"), x(11, 1, 5, "second")),
                *(x(12, 1, 3, "short"), x(12, 1, 5, "long")),
                *(x(13, 5, 1, "late"), x(13, 1, 5, "early")),
                *(x(14, 1, 0, "z1"), x(14, 1, 0, "z2")),
                *(x(15, 1, 1, "before"), x(15, 2, 0, "joint"), x(15, 2, 1, "after")),
                *(x(16, 0, 9, "around"), x(16, 9, 0, "at its end")),
                *(x(17, 1, 0, "at its start"), x(17, 1, 1, "begins")),
            ],
        )
    )
    assert depths(seen, 11) == {"first": 0, "second": 1}
    assert depths(seen, 12) == {"long": 0, "short": 1}
    assert depths(seen, 13) == {"early": 0, "late": 1}
    assert depths(seen, 14) == {"z1": 0, "z2": 1}
    assert depths(seen, 15) == {"before": 0, "after": 0, "joint": 1}
    assert depths(seen, 16) == {"around": 0, "at its end": 0}
    assert depths(seen, 17) == {"begins": 0, "at its start": 1}


def test_crossing_slices_are_dropped_and_counted(tmp_path: Path) -> None:
    crossing = (x(11, 0, 10, "a"), x(11, 5, 10, "b"))
    too_long = (x(12, 0, 10, "parent"), x(12, 1, 9.001, "a nanosecond longer"))
    result = load(tmp_path, *crossing, *too_long)
    assert result.stats == (("slice_drop_overlapping_complete_event", "error", 2),)
    assert [s.name for s in slices_of(result)] == ["a", "parent"]


def test_beyond_512_levels_the_depth_is_lost_without_a_word(tmp_path: Path) -> None:
    result = load(tmp_path, *(x(11, i, 2000 - 2 * i, f"level {i}") for i in range(514)))
    assert result.is_clean
    by_name = {s.name: s for s in slices_of(result)}
    assert by_name["level 511"].depth == 511
    assert [by_name[f"level {i}"].depth for i in (512, 513)] == [0, 0]
    assert by_name["level 513"].ts == 513 * US


def test_spaces_between_tokens_do_not_matter(tmp_path: Path) -> None:
    seen = slices(
        trace(
            tmp_path,
            [
                '{"ph":"X","pid":   0,"tid": 1000,"ts":      12.345,"dur":    0.001,"name":"a"}',
                '{"ph":"X","pid":0   ,"tid":1000 ,"ts":14.345  ,"dur":0.001 ,"name":"b"  }   ',
                '{"ph":"X","pid":0,"tid":1000,"ts": 16.5,"dur":0.250,"name":"c","args":{"n":  1}  }      ',
            ],
        )
    )
    assert [(s.ts, s.dur, s.name) for s in seen] == [(12345, 1, "a"), (14345, 1, "b"), (16500, 250, "c")]
    assert seen[2].args == {"n": 1}


@pytest.mark.parametrize(
    ("what", "event", "tail"),
    [
        ("leading zeros", '{"ph":"X","pid":0,"tid":9,"ts":0012.5,"dur":1,"name":"a"}', ""),
        ("a final backslash", x(9, 1, 1, "ends in \\"), ""),
        ("a raw newline in metadata", x(9, 1, 1, "a"), ',"metadata":{"k":"a\nb"}'),
        ("a raw DEL in metadata", x(9, 1, 1, "a"), ',"metadata":{"k":"\x7f"}'),
    ],
    ids=lambda value: value if " " in value and '"' not in value else "",
)
def test_what_costs_the_whole_file(tmp_path: Path, what: str, event: str, tail: str) -> None:
    result = load(tmp_path, x(8, 0, 1, "sound"), event, tail=tail)
    assert result.errors
    assert result.rows == ([], [])


def test_metadata_may_hold_any_escaped_text(tmp_path: Path) -> None:
    facts = {
        "text": 'a\n\0é🔥\ud83d" \\ x',
        "deep": {"list": [1, {"k\\": None}], "brace": '}]{["'},
        "end": "\\",
    }
    tail = f',"metadata":{json.dumps(facts)}'
    assert load(tmp_path, x(9, 1, 1, "a"), tail=tail).is_clean


def test_names(tmp_path: Path) -> None:
    """Text as it stands in the file, escapes and all, unless a quote is escaped in it."""
    in_file = ("a\\nb", "a\\nb\\" + '"c', "\\u005c", "é🔥", "\x01\x7f", "}{,]", "n" * 1_000_000)
    shown = ("a\\nb", 'a\nb"c', "\\u005c", "é🔥", "\x01\x7f", "}{,]", "n" * 1_000_000)
    events = [
        f'{{"ph":"X","pid":1,"tid":9,"ts":{10 * i},"dur":1,"name":"{n}"}}' for i, n in enumerate(in_file)
    ]
    assert [s.name for s in slices(trace(tmp_path, events))] == list(shown)


def test_empty_names(tmp_path: Path) -> None:
    result = load(tmp_path, x(9, 1, 1, ""), meta("thread_name", 1, 9, name=""))
    assert result.stats == (("json_parser_failure", "error", 1),)
    assert [s.name for s in slices_of(result)] == ["[No name]"]


def test_ids_and_where_metadata_stands(tmp_path: Path) -> None:
    """Names may come after the slices, the last one counts; ids are 32-bit, and tid 0 is the pid."""
    top = 2**32 - 1
    ids = [(1, 7), (2, 7), (5, top), (top, 9), (0, 9), (6, 2**32), (65535, 0), (0, 0)]
    seen = slices(
        trace(
            tmp_path,
            [
                *(x(tid, 10, 1, f"{pid}/{tid}", pid) for pid, tid in ids),
                meta("thread_name", 1, 7, name="first"),
                meta("thread_name", 1, 7, name="last"),
                meta("process_name", 1, 0, name="SM"),
                meta("thread_sort_index", 1, 7, sort_index=-(2**40)),
                meta("process_sort_index", 1, 0, sort_index=2**40),
            ],
        )
    )
    got = {s.name: (s.pid, s.tid) for s in seen}
    moved = {"6/4294967296": (6, 6), "65535/0": (65535, 65535)}
    assert got == {f"{pid}/{tid}": (pid, tid) for pid, tid in ids} | moved
    assert [(s.process, s.thread) for s in seen if s.name == "1/7"] == [("SM", "last")]


def test_args(tmp_path: Path) -> None:
    args = {"truncated": True, "cycles": 2**63 - 1, "list": [1], "nothing": None, "text": "x"}
    event = {"ph": "X", "pid": 1, "tid": 9, "ts": 1, "dur": 1, "name": "a", "args": args}
    (seen,) = slices(trace(tmp_path, [json.dumps(event)]))
    assert seen.args == {"truncated": True, "cycles": 2**63 - 1, "list[0]": 1, "text": "x"}


def test_a_cut_file_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text('{"traceEvents":[' + x(9, 1, 1, "a"), encoding="utf-8")
    assert load_trace(path).errors == ("finalize: JSON trace file is incomplete",)


def test_rows_come_back_exactly(tmp_path: Path) -> None:
    """The wrapper itself: types, 64-bit integers, empty answers, answers of several batches."""
    path = trace(tmp_path, [x(9, 1, 1, "a")])
    count = "with recursive n(i) as (select 0 union all select i + 1 from n where i < 200000)"
    many = f"{count} select i, 'r' from n"
    one = "select 1, 'a', 0.5, null, x'00ff', -9223372036854775808, ''"
    result = load_trace(path, one, "select ts from slice where 0", many)
    assert result.rows[0] == [(1, "a", 0.5, None, b"\x00\xff", -(2**63), "")]
    assert result.rows[1] == []
    assert result.rows[2] == [(i, "r") for i in range(200_001)]
    with pytest.raises(AssertionError, match="no such table"):
        load_trace(path, "select * from nothing_like_it")
