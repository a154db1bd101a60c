"""What a notebook shows of a Timeline."""

from __future__ import annotations

import numpy as np
import pytest
from report.support import HOSTILE, broken_events, hostile, launch, read, table_rows

import mgpu_trace
from mgpu_trace.diagnostics import one_line

NAMES = ("total_ns", "self_ns", "mean_ns", "p50_ns", "p99_ns")


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


def test_below_it_is_where_the_time_goes() -> None:
    timeline = launch().timeline()
    facts, regions = read(f"<!DOCTYPE html>\n<html>{timeline._repr_html_()}</html>".encode()).all("table")
    assert "kernel" in facts.text
    table = mgpu_trace.stats(timeline)
    head, *rows = regions.all("tr")
    names = [cell.text for cell in head.all("th")]
    assert names == ["region", "count", *NAMES, "self_share"]
    for row, want in zip(rows, table.rows(), strict=True):
        region, *cells = (cell.text for cell in row.all("td"))
        assert region == want["region"]
        assert [float(cell) for cell in cells] == pytest.approx([want[name] for name in names[1:]], rel=1e-5)


def test_of_many_regions_the_first_few() -> None:
    html = hostile().timeline()._repr_html_()
    assert html.count("<tr><td>") == 8
    assert "<p>and 6 more: mgpu_trace.stats</p>" in html
    assert "<script" not in html
    assert len(html) < 10_000  # one of the names has a million letters


def test_no_slices() -> None:
    words = np.zeros(40, np.uint32)
    spec = mgpu_trace.TraceSpec(grid=(1, 1, 1), block=(128, 1, 1), words_per_track=40)
    empty = mgpu_trace.Launch(mgpu_trace.TraceBuffer.from_flat(words, spec)).timeline()
    assert empty._repr_html_().count("<table>") == 1


def test_its_texts_are_letters_and_findings_are_named() -> None:
    rows = table_rows(hostile().timeline()._repr_html_())
    assert (rows["kernel"], rows["device"], rows["jax version"]) == tuple(map(one_line, HOSTILE[:3]))
    timeline = broken_events().timeline()
    assert timeline.report.has_errors
    assert table_rows(timeline._repr_html_())["findings"].startswith("error MGT")
