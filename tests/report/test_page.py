"""The page as its bytes: well-formed, alone, the same each time, and right."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re

import plotly.graph_objects
import plotly.offline
import pytest
from report.odd import PAGES, broken, empty, of_words, pair, unclocked
from report.support import HOSTILE, Element, figures, hostile, launch, read

import mgpu_trace
from mgpu_trace.diagnostics import MgpuTraceError, catalogue, one_line
from mgpu_trace.diagnostics.clip import clipped
from mgpu_trace.pipeline import Launch
from mgpu_trace.report import report_page, write_report
from mgpu_trace.report.compose import compose
from mgpu_trace.synth.bench import bench_launch

MOST_BYTES = 6_000_000
NOTHING = "\u2013"
HEADINGS = ("h1", "h2", "h3", "h4")


@pytest.fixture(scope="module", params=[*PAGES, "pair"])
def page(request: pytest.FixtureRequest) -> Element:
    return read(pair() if request.param == "pair" else report_page(PAGES[request.param]()))


def test_every_figure_is_one_that_plotly_takes(page: Element) -> None:
    """By plotly's own validators, which refuse a property that there is not."""
    for figure in figures(page).values():
        data, layout = strip_theme(figure["data"]), strip_theme(figure["layout"])
        plotly.graph_objects.Figure(data=data, layout=layout)


def strip_theme(value: object) -> object:
    """The same with a colour wherever one of the theme stands."""
    if isinstance(value, dict):
        return {key: strip_theme(one) for key, one in value.items()}
    if isinstance(value, list):
        return [strip_theme(one) for one in value]
    return "#123456" if isinstance(value, str) and value.startswith("theme:") else value


def test_figures_have_a_place_and_places_a_figure(page: Element) -> None:
    places = [box.attributes["data-plot"] for box in page.all("div", class_="plot")]
    assert sorted(filter(None, places)) == sorted(figures(page))


def test_ids_are_unique_and_references_lead_somewhere(page: Element) -> None:
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(set(ids)) == len(ids)
    for element in page.all():
        for key in ("aria-labelledby", "aria-describedby"):
            assert element.attributes.get(key) in (*ids, None)
        link = element.attributes.get("href")
        assert link is None or (link.startswith("#") and link[1:] in ids)


def test_nothing_is_asked_of_the_network(page: Element) -> None:
    for element in page.all():
        assert not {"src", "srcset", "action", "data", "poster", "background"} & set(element.attributes)
        assert element.name not in ("link", "iframe", "object", "embed", "img", "form", "base")
        assert not any(key.startswith("on") for key in element.attributes)
    assert "url(" not in page.one("style").text
    assert "@import" not in page.one("style").text


def test_the_policy_lets_the_scripts_that_are_there_run_and_no_other(page: Element) -> None:
    policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
    assert policy is not None
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    scripts = [script.text for script in page.all("script") if "type" not in script.attributes]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    assert rules["script-src"] == [f"'sha256-{found}'" for found in hashes]
    assert rules["default-src"] == ["'none'"]
    assert rules["img-src"] == ["data:", "blob:"]
    assert not {"connect-src", "font-src", "frame-src", "worker-src"} & set(rules)
    assert len(page.all("script")) == len(scripts) + 1


def test_headings_go_down_one_step_at_a_time(page: Element) -> None:
    levels = [int(element.name[1]) for element in page.all() if element.name in HEADINGS]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert [link.text for link in page.one("nav").all("a")] == [h.text for h in page.all("h2")]


def test_tables_scroll_by_keys_and_name_their_rows_and_columns(page: Element) -> None:
    for box in page.all("div", class_="scroll"):
        assert box.attributes["tabindex"] == "0"
        assert box.attributes["role"] == "region"
        (table,) = box.all("table")
        heads = table.one("thead").all("th")
        assert {head.attributes["scope"] for head in heads} == {"col"}
        for row in table.one("tbody").all("tr"):
            cells = [cell for cell in row.parts if isinstance(cell, Element)]
            assert len(cells) == len(heads)
            assert cells[0].attributes["scope"] == "row"


@pytest.mark.parametrize("name", PAGES)
def test_the_same_launch_gives_the_same_bytes(name: str) -> None:
    assert report_page(PAGES[name](), plots=False) == report_page(PAGES[name](), plots=False)
    if name == "sound":
        assert report_page(launch()) == report_page(launch())


def cells_of(page: Element) -> list[dict[str, str]]:
    """All rows of all tables by column, but for the cost of probes, which only a Launch knows."""
    found = []
    for table in page.all("table"):
        heads = [head.text for head in table.one("thead").all("th")]
        for row in table.one("tbody").all("tr"):
            cells = [cell.text for cell in row.parts if isinstance(cell, Element)]
            found.append(dict(zip(heads, cells, strict=True)))
            found[-1].pop("probe ns", None)
    return found


def test_a_timeline_gives_the_tables_that_a_launch_gives() -> None:
    of_launch, of_timeline = (
        cells_of(read(report_page(made, plots=False))) for made in (launch(), launch().timeline())
    )
    assert of_launch == of_timeline
    assert of_launch


def test_plotly_is_there_once_whole_with_its_licences() -> None:
    page = read(report_page(launch()))
    script = plotly.offline.get_plotlyjs()
    assert [one.text == script for one in page.all("script")].count(True) == 1
    assert "Licensed under the MIT license" in page.all("script")[1].text[:300]


def test_without_plots_the_page_is_small_and_needs_no_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "plotly.offline", None)
    made = report_page(launch(), plots=False)
    assert len(made) < 100_000
    assert not read(made).all("figure")
    with pytest.raises(MgpuTraceError) as caught:
        report_page(launch())
    assert caught.value.diagnostic.code is catalogue.MISSING_EXTRA


def test_hostile_texts_are_shown_as_they_are() -> None:
    page = read(report_page(hostile(), plots=False))
    names = [row.all("th")[0].text for row in page.one("section", id="time").one("tbody").all("tr")]
    wanted = [one_line(clipped(name)) or "(empty)" for name in (*HOSTILE, HOSTILE[0])]
    assert sorted(names) == sorted(wanted)
    assert page.one("h1").text == HOSTILE[0]
    told = dict(
        zip(*([e.text for e in page.one("section", id="launch").all(n)] for n in ("dt", "dd")), strict=True)
    )
    assert (told["kernel"], told["device"], told["JAX"]) == HOSTILE[:3]


def test_a_million_events_stay_under_six_megabytes() -> None:
    made = Launch(bench_launch())
    page = report_page(made)
    assert made.n_slices > 490_000
    assert len(page) < MOST_BYTES


def test_many_regions_and_many_sms_stay_under_six_megabytes() -> None:
    n = 3000
    rows = [
        [1000, track, 4 * n, *(w for i in range(n) for w in (i, 90 * i, i | 2**31, 90 * i + 20 + i % 50))]
        for track in range(400)
    ]
    names = tuple("<" * 90 + str(i) for i in range(n))
    made = of_words(rows, names=names)
    page = report_page(made)
    assert len(page) < MOST_BYTES
    assert f"The first 200 of {n} rows." in page.decode()


def test_the_table_says_what_stats_says() -> None:
    made = launch()
    rows = mgpu_trace_stats(made)
    table = read(report_page(made, plots=False)).one("section", id="time").one("table")
    heads = [head.text.replace(" ", "_") for head in table.one("thead").all("th")]
    for row, line in zip(rows, table.one("tbody").all("tr"), strict=True):
        cells = [cell for cell in line.parts if isinstance(cell, Element)]
        for name, cell in zip(heads, cells, strict=True):
            value = row[name]
            if isinstance(value, str):
                assert cell.text == value
            elif value is None:
                assert "data-value" not in cell.attributes
            else:
                assert float(cell.attributes["data-value"] or "") == value
                assert re.sub("[,%]", "", cell.text) == shown(name, value)


def shown(name: str, value: float) -> str:
    if name.endswith("share"):
        return f"{100 * value:.1f}"
    return str(value) if isinstance(value, int) else f"{value:.3f}" if name == "cv" else f"{value:.1f}"


def mgpu_trace_stats(made: Launch) -> list[dict[str, object]]:
    from mgpu_trace.analyse.stats import stats

    return stats(made).rows()


def test_without_a_rate_all_times_are_cycles() -> None:
    page = read(report_page(unclocked()))
    text = page.one("main").text
    assert "SM clock rate unknown: times are in cycles" in text
    assert not re.search(
        r"\d ns\b(?!;)", re.sub(r"quantised to \d+ ns|aligned to \d+ ns", "", text.split("What MGT")[0])
    )
    suffixes = {small.text for small in page.all("small")}
    assert suffixes == {"cyc"}
    with pytest.raises(MgpuTraceError) as caught:
        report_page(unclocked(), unit="ns")
    assert caught.value.diagnostic.code is catalogue.NO_RATE


def test_findings_come_with_their_explanations_and_can_be_accepted() -> None:
    page = read(report_page(broken()))
    findings = page.one("section", id="findings").all("li", class_="error")
    assert findings
    found = broken()
    found.scan()
    assert [f.all("h3")[0].text.split(" ")[1] for f in findings] == [
        d.code.id for d in found.report if d.severity.label == "error"
    ]
    assert all("What to do" in f.one("details").text for f in findings)
    accepted = read(compose(empty(), accepted=[catalogue.NO_EVENTS]).content)
    assert "MGT305" in read(report_page(empty())).one("section", id="findings").text
    assert "MGT305" not in accepted.one("section", id="findings").text


def test_what_was_assumed_is_said() -> None:
    page = read(report_page(launch(assumed=("the block is 384 threads",)), plots=False))
    assert "the block is 384 threads" in page.one("section", id="launch").text


def test_a_report_is_written_whole_or_not_at_all(tmp_path: pytest.TempPathFactory) -> None:
    path = f"{tmp_path}/r.html"
    write_report(launch(), path, plots=False)
    with open(path, "rb") as stream:
        assert stream.read() == report_page(launch(), plots=False)
    with pytest.raises(MgpuTraceError) as caught:
        write_report(launch(), f"{tmp_path}/none/r.html", plots=False)
    assert caught.value.diagnostic.code is catalogue.OUTPUT_FOLDER
    assert mgpu_trace.__version__ in report_page(launch(), plots=False).decode()


def test_roles_have_a_table_of_their_own() -> None:
    page = read(report_page(launch(), roles={0: "tma", 1: HOSTILE[0]}, plots=False))
    _, by_role = page.one("section", id="time").all("table")
    names = [row.all("th")[0].text for row in by_role.one("tbody").all("tr")]
    assert sorted(names) == sorted(["tma", HOSTILE[0], "warpgroup 2"])
