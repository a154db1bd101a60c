"""What Perfetto's engine does with TrackEvents: the facts of docs/perfetto.md that the writer goes by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from perfetto_engine import load_trace, needs_engine

pytestmark = needs_engine

Event = pb.TrackEvent
BEGIN, END, INSTANT = Event.TYPE_SLICE_BEGIN, Event.TYPE_SLICE_END, Event.TYPE_INSTANT
SLICES = "select ts, dur, name, depth from slice order by id"


def loaded(path: Path, events: list[tuple[int, int, str]], *sql: str) -> Any:
    """The engine's answers about one plain track with these ``(ts, kind, name)``."""
    trace = pb.Trace()
    packet = trace.packet.add(trusted_packet_sequence_id=1, sequence_flags=1)
    packet.track_descriptor.uuid = 7
    packet.track_descriptor.name = "line"
    for ts, kind, name in events:
        packet = trace.packet.add(trusted_packet_sequence_id=1, timestamp=ts)
        packet.track_event.track_uuid = 7
        packet.track_event.type = kind
        if name:
            packet.track_event.name = name
    path.write_bytes(trace.SerializeToString())
    result = load_trace(path, *sql)
    assert not result.errors
    return result


def test_equal_times_keep_the_order_of_the_file(tmp_path: Path) -> None:
    events = [(5, BEGIN, "a"), (5, BEGIN, "b"), (5, END, ""), (5, BEGIN, "c"), (9, END, ""), (9, END, "")]
    result = loaded(tmp_path / "t", events, SLICES)
    assert result.is_clean
    assert result.rows[0] == [(5, 4, "a", 0), (5, 0, "b", 1), (5, 4, "c", 1)]


def test_packets_need_not_be_in_the_order_of_time(tmp_path: Path) -> None:
    events = [(20, BEGIN, "later"), (30, END, ""), (5, BEGIN, "a"), (9, END, "")]
    result = loaded(tmp_path / "t", events, SLICES)
    assert result.is_clean
    assert result.rows[0] == [(5, 4, "a", 0), (20, 10, "later", 0)]


def test_of_two_instants_at_one_time_the_second_lies_in_the_first(tmp_path: Path) -> None:
    """So marks are slices of no length, which end before the next one begins."""
    rows = [
        loaded(tmp_path / "t", events, SLICES).rows[0]
        for events in (
            [(5, INSTANT, "a"), (5, INSTANT, "b")],
            [(5, BEGIN, "a"), (5, END, ""), (5, BEGIN, "b"), (5, END, "")],
        )
    ]
    assert rows == [[(5, 0, "a", 0), (5, 0, "b", depth)] for depth in (1, 0)]


def test_an_end_closes_the_innermost_and_one_too_many_says_nothing(tmp_path: Path) -> None:
    result = loaded(tmp_path / "t", [(1, BEGIN, "a"), (2, END, ""), (3, END, "")], SLICES)
    assert result.is_clean
    assert result.rows[0] == [(1, 1, "a", 0)]


@pytest.mark.parametrize("n", [512, 513])
def test_512_levels(tmp_path: Path, n: int) -> None:
    """A deeper slice is not opened, and its end closes another one."""
    events = [(i, BEGIN, f"s{i}") for i in range(n)] + [(2 * n - i, END, "") for i in reversed(range(n))]
    result = loaded(tmp_path / "t", events, SLICES)
    right = [(i, 2 * n - 2 * i, f"s{i}", i) for i in range(n)]
    assert (result.rows[0] == right) == (n <= 512)


def test_a_name_is_cut_at_nul(tmp_path: Path) -> None:
    result = loaded(tmp_path / "t", [(1, BEGIN, "a\0b"), (2, END, "")], "select hex(name) from slice")
    assert result.is_clean
    assert result.rows[0] == [("61",)]
