"""Two launches on one page: what diff says, in its words and as a plot."""

from __future__ import annotations

import pytest
from report.odd import PAGES, pair
from report.support import Element, figures, launch, read

import mgpu_trace
from mgpu_trace.report.compose import compose
from mgpu_trace.synth import SynthConfig

NOTHING = "\u2013"


def test_of_two_launches_the_comparison_comes_first_and_says_what_diff_says() -> None:
    page = read(pair(plots=False))
    assert next(section.attributes["id"] for section in page.all("section")) == "diff"
    old, new = (launch(SynthConfig(n_iterations=n, kernel="made"), seed=n) for n in (4, 6))
    rows = mgpu_trace.diff(old, new).rows()
    lines = page.one("section", id="diff").one("table").one("tbody").all("tr")
    heads = [head.text.replace(" ", "_") for head in page.one("section", id="diff").one("thead").all("th")]
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        cells = dict(zip(heads, (c for c in line.parts if isinstance(c, Element)), strict=True))
        assert cells["region"].text == row["region"]
        assert cells["verdict"].text == (row["verdict"] or NOTHING)
        assert cells["verdict"].attributes.get("class") in {
            "slower": ("worse",), "faster": ("better",), None: ("number",)
        }.get(row["verdict"], (None,))  # fmt: skip
        for name in ("mean_change", "mean_low", "mean_high", "effect", "mean_old_ns", "count_new"):
            value = row[name]
            said = cells[name].attributes.get("data-value")
            assert said is None if value is None else float(said or "") == value
    assert any(row["verdict"] == "slower" for row in rows)


def test_the_plot_of_changes_has_the_intervals_of_diff() -> None:
    old, new = (launch(SynthConfig(n_iterations=n, kernel="made"), seed=n) for n in (4, 6))
    rows = mgpu_trace.diff(old, new).rows()
    figure = figures(read(pair()))["changes"]
    names = figure["layout"]["yaxis"]["ticktext"]
    seen = {}
    for trace in figure["data"]:
        errors = trace["error_x"]
        for x, y, up, down in zip(trace["x"], trace["y"], errors["array"], errors["arrayminus"], strict=True):
            seen[names[y]] = (trace["marker"]["color"], x - down, x, x + up)
    colours = {"slower": "theme:worse", "faster": "theme:better"}
    assert set(seen) == {row["region"] for row in rows if row["mean_change"] is not None}
    for row in rows:
        colour, *places = seen[row["region"]]
        assert colour == colours.get(row["verdict"], "theme:quiet")
        at = row["mean_change"]
        ends = [at if row[f"mean_{end}"] is None else row[f"mean_{end}"] for end in ("low", "high")]
        assert places == pytest.approx([ends[0], at, ends[1]], rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("name", ["broken", "empty", "unclocked"])
def test_two_that_cannot_be_compared_still_make_a_page_that_says_why(name: str) -> None:
    for old, new in ((launch(), PAGES[name]()), (PAGES[name](), launch())):
        made = compose(new, before=old, plots=False)
        code = "MGT650" if name == "unclocked" else "MGT651"
        assert code in {finding.code.id for finding in made.findings}
        page = read(made.content)
        assert "cannot be compared" in page.one("section", id="diff").text
        assert f"error {code}" in page.one("section", id="findings").text
        assert [section.attributes["id"] for section in page.all("section")][-1] == "before"
