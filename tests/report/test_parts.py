"""The plots of overlap, activity and balance against the answers that they are pictures of."""

from __future__ import annotations

import numpy as np
import pytest
from report.odd import PAGES
from report.support import Element, figures, launch, read

from mgpu_trace.analyse.balance import balance
from mgpu_trace.analyse.overlap import overlap
from mgpu_trace.report import report_page
from mgpu_trace.report.columns import COLUMNS
from mgpu_trace.synth import Fault, SynthConfig

CONFIG = SynthConfig(grid=(24, 1, 1), n_sms=5, resident=2, kernel="made")


@pytest.fixture(scope="module")
def page() -> Element:
    return read(report_page(launch(CONFIG)))


def section(page: Element, key: str) -> Element:
    return page.one("section", id=key)


def test_the_matrix_is_what_overlap_says(page: Element) -> None:
    rows = overlap(launch(CONFIG), top=16).rows()
    figure = figures(page)["overlap"]
    across, down = (figure["layout"][axis]["ticktext"] for axis in ("xaxis", "yaxis"))
    (heat,) = figure["data"]
    shown = {
        (a, b): share
        for a, line in zip(down, heat["z"], strict=True)
        for b, share in zip(across, line, strict=True)
    }
    assert shown.keys() == {(row["a"], row["b"]) for row in rows}
    for row in rows:
        assert shown[row["a"], row["b"]] == pytest.approx(row["share"], rel=1e-3)
    assert any(0 < share < 1 for share in shown.values())
    for a, line in zip(down, heat["customdata"], strict=True):
        assert line == [[a, b] for b in across]


def test_activity_adds_up_to_the_time_that_tracks_were_in_regions(page: Element) -> None:
    """By SM: tracks in regions times seconds, over all columns, against the slices themselves."""
    timeline = launch(CONFIG).timeline()
    slices, tracks = timeline.slices, timeline.tracks
    outer = slices.depth == 0
    sm = tracks.sm[slices.track[outer]]
    (heat,) = figures(page)["activity"]["data"]
    widths = np.diff(heat["x"])
    assert len(heat["z"]) == len(heat["y"]) == len(np.unique(sm))
    for name, line in zip(heat["y"], heat["z"], strict=True):
        seconds = slices.dur_cyc[outer][sm == int(name.removeprefix("SM "))].sum() * 1e-9
        seconds *= timeline.clock.ns_per_cyc
        assert np.dot(line, widths) == pytest.approx(seconds, rel=2e-3)
    assert heat["zmax"] == pytest.approx(np.max(heat["z"]), rel=1e-3)


def test_bars_are_the_three_parts_of_the_launch(page: Element) -> None:
    rows = balance(launch(CONFIG)).rows()
    whole = balance(launch(CONFIG)).facts["launch_ns"]
    busy, idle, tail = figures(page)["balance"]["data"]
    for i, row in enumerate(rows):
        assert busy["x"][i] == f"SM {row['sm']}"
        parts = [trace["y"][i] for trace in (busy, idle, tail)]
        wanted = [row["busy_ns"], row["idle_ns"] - row["tail_ns"], row["tail_ns"]]
        assert parts == pytest.approx([value * 1e-9 for value in wanted], rel=1e-5, abs=1e-14)
        assert sum(parts) == pytest.approx(whole * 1e-9, rel=1e-4)
    text = section(page, "balance").one("table").text
    assert "stragglers" in text


def test_the_longest_bubbles_are_listed(page: Element) -> None:
    from mgpu_trace.analyse.bubbles import bubbles

    rows = bubbles(launch(CONFIG), n=10).rows()
    table = section(page, "overlap").all("table")[-1]
    heads = [head.text.replace(" ", "_") for head in table.one("thead").all("th")]
    at = heads.index("dur_ns")
    found = [float(line.all()[at].attributes["data-value"] or "") for line in table.one("tbody").all("tr")]
    assert found == [row["dur_ns"] for row in rows]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("name", [*PAGES, "pair"])
def test_every_column_is_explained(name: str) -> None:
    """In the page, below its table."""
    made = launch(CONFIG), launch(CONFIG, seed=1)
    content = (
        report_page(made[0], before=made[1], roles={0: "tma"}, plots=False)
        if name == "pair"
        else report_page(PAGES[name](), plots=False)
    )
    tables = read(content).all("table")
    for table in tables:
        for head in table.one("thead").all("th"):
            units = [small.text for small in head.all("small")]
            base = head.text.removesuffix(f" {units[0]}") if units else head.text
            assert base.replace(" ", "_") in COLUMNS
    assert bool(tables) is (name not in ("broken", "empty"))


def test_blocks_that_lost_events_are_said() -> None:
    config = SynthConfig(grid=(8, 1, 1), kernel="made", faults=(Fault("overfull-track"),))
    page = read(report_page(launch(config), plots=False))
    assert "that lost events" in section(page, "balance").text


def test_too_many_slices_leave_the_overlap_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mgpu_trace.report.beside.MAX_SLICES", 10)
    page = read(report_page(launch(CONFIG), plots=False))
    assert "Left out" in section(page, "overlap").text
    assert not section(page, "overlap").all("table")


def test_regions_of_one_name_keep_their_rows() -> None:
    """Two of them, or all: a matrix of as many rows and columns as there are ids."""
    timeline = launch(CONFIG).timeline()
    known = timeline.spec.names or ()
    (plain,) = figures(read(report_page(launch(CONFIG))))["overlap"]["data"]
    for alike in ({"wgmma", "store"}, set(known)):
        # Whether it waits goes by the name: all that wait are alike, or none is.
        names = tuple("same" if name in alike else name for name in known)
        (heat,) = figures(read(report_page(launch(CONFIG, names=names))))["overlap"]["data"]
        assert heat["z"] == plain["z"]
        assert [len(line) for line in heat["z"]] == [len(known)] * len(known)
