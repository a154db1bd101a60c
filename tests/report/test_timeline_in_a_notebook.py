"""What a notebook shows of a Timeline."""

from __future__ import annotations

from report.support import HOSTILE, broken_events, hostile, launch, table_rows

from mgpu_trace.diagnostics import one_line


def test_a_timeline_is_a_small_table() -> None:
    timeline = launch().timeline()
    rows = table_rows(timeline._repr_html_())
    assert rows["kernel"] == "made"
    assert rows["grid"] == "8x1x1"
    assert rows["block"] == "384x1x1 threads: 3 warpgroups"
    assert rows["tracks"] == "24, 24 with events"
    assert rows["slices"] == str(len(timeline.slices))
    assert rows["clock"] == timeline.clock.describe()
    assert rows["findings"] == "none"


def test_its_texts_are_letters_and_findings_are_named() -> None:
    rows = table_rows(hostile().timeline()._repr_html_())
    assert (rows["kernel"], rows["device"], rows["jax version"]) == tuple(map(one_line, HOSTILE[:3]))
    timeline = broken_events().timeline()
    assert timeline.report.has_errors
    assert table_rows(timeline._repr_html_())["findings"].startswith("error MGT")
