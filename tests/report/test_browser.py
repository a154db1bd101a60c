"""The page in a real browser: Chromium without a screen.

``MGPU_TRACE_PICTURES=docs/images`` saves what it saw there.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from report.odd import PAGES
from report.support import HOSTILE, hostile, launch

from mgpu_trace.diagnostics import one_line
from mgpu_trace.report import report_page
from mgpu_trace.synth import SynthConfig

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (mgpu-trace[browser])"
)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
WAIT_MS = 20_000
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS), headless=True)
        yield browser
        browser.close()


@contextmanager
def opened(chromium: Any, content: bytes, folder: Path, **how: Any) -> Iterator[Any]:
    """The page from the disk; drawn; nothing in the console, and nothing asked for but the file itself."""
    path = folder / "r.html"
    path.write_bytes(content)
    context = chromium.new_context(**({"viewport": DESKTOP} | how))
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.set_default_timeout(WAIT_MS)
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn=yes]", state="attached")
    yield page
    assert said == []
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
    context.close()


def picture(page: Any, name: str) -> None:
    folder = os.environ.get("MGPU_TRACE_PICTURES")
    if folder:
        page.screenshot(path=Path(folder) / name)


def colour(page: Any, selector: str, prop: str) -> tuple[float, ...]:
    """A colour as the browser computes it: red, green and blue from 0 to 255."""
    text = page.eval_on_selector(selector, f"e => getComputedStyle(e).getPropertyValue('{prop}')")
    return tuple(float(part) for part in text[text.index("(") + 1 : text.index(")")].split(",")[:3])


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """The ratio of WCAG 2."""

    def light(rgb: tuple[float, ...]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgb)]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_page(chromium: Any, size: dict[str, int], scheme: str, tmp_path: Path) -> None:
    how = {"viewport": size, "color_scheme": scheme, "has_touch": size is PHONE}
    with opened(chromium, report_page(launch()), tmp_path, **how) as page:
        width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width[0] == width[1]  # nothing but the tables' boxes scrolls sideways
        plots = page.locator("[data-plot]")
        assert plots.count() == 4
        assert page.locator("[data-plot] .main-svg").count() >= plots.count()
        paper = colour(page, "body", "background-color")
        assert (sum(paper) > 380) is (scheme == "light")
        for text in (
            "body",
            ".muted",
            "nav a",
            "summary",
            "[data-plot] .xtick text",
            "[data-plot] .ytick text",
        ):
            # Letters of a plot are SVG: their colour is what they are filled with.
            prop = "fill" if "tick" in text else "color"
            assert contrast(colour(page, text, prop), paper) >= 4.5, text


@pytest.mark.parametrize("name", PAGES)
def test_pages_of_odd_launches(chromium: Any, name: str, tmp_path: Path) -> None:
    """On a phone: drawn as far as there is something to draw, and not wider than the screen."""
    with opened(chromium, report_page(PAGES[name]()), tmp_path, viewport=PHONE) as page:
        width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width[0] == width[1]
        assert page.locator("[data-plot]:not(:has(.main-svg))").count() == 0
        assert page.get_by_text("which is off or was kept from running").count() == 0


def test_the_scheme_changes_while_the_page_is_open(chromium: Any, tmp_path: Path) -> None:
    with opened(chromium, report_page(launch()), tmp_path, color_scheme="light") as page:
        before = colour(page, "[data-plot] .xtick text", "fill")
        page.emulate_media(color_scheme="dark")
        tick = page.locator("[data-plot] .xtick text").first
        was = "rgb({:.0f}, {:.0f}, {:.0f})".format(*before)
        playwright.expect(tick).not_to_have_css("fill", was, timeout=WAIT_MS)
        paper = colour(page, "body", "background-color")
        assert contrast(colour(page, "[data-plot] .xtick text", "fill"), paper) >= 4.5


def test_plots_zoom_by_keys_and_show_all_again(chromium: Any, tmp_path: Path) -> None:
    with opened(chromium, report_page(launch()), tmp_path) as page:
        box = page.locator("[data-plot=durations]")
        ranges = "e => e.layout.xaxis.range.map(Number)"
        first = box.evaluate(ranges)
        box.focus()
        page.keyboard.press("+")
        near = box.evaluate(ranges)
        assert near[1] - near[0] == pytest.approx((first[1] - first[0]) / 2)
        page.keyboard.press("ArrowRight")
        moved = box.evaluate(ranges)
        assert moved[0] - near[0] == pytest.approx((near[1] - near[0]) / 10)
        page.keyboard.press("0")
        assert box.evaluate(ranges) == pytest.approx(first)


def test_the_pointer_shows_what_is_under_it(chromium: Any, tmp_path: Path) -> None:
    with opened(chromium, report_page(launch()), tmp_path) as page:
        page.locator("[data-plot=durations]").scroll_into_view_if_needed()
        page.locator("[data-plot=durations] .points path").first.hover(force=True)
        label = page.locator("[data-plot=durations] .hovertext")
        playwright.expect(label).to_contain_text("p50 of wgmma", timeout=WAIT_MS)


def test_no_button_sends_anything_anywhere(chromium: Any, tmp_path: Path) -> None:
    with opened(chromium, report_page(launch()), tmp_path) as page:
        titles = page.eval_on_selector_all(
            "[data-plot=durations] .modebar-btn", "all => all.map(one => one.dataset.title)"
        )
        assert [title for title in titles if "cloud" in title.lower() or "share" in title.lower()] == []
        assert "Reset axes" in titles
        links = page.eval_on_selector_all("a[href]", "all => all.map(one => one.getAttribute('href'))")
        assert links
        assert all(link.startswith("#") for link in links)


def test_the_keyboard_reaches_everything_in_order(chromium: Any, tmp_path: Path) -> None:
    with opened(chromium, report_page(launch()), tmp_path) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.locator(".skip").bounding_box()["x"] >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        seen = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            seen.add(
                page.evaluate(
                    "(e => e.dataset.plot ? 'plot' : e.classList.contains('scroll') ? 'table' : e.localName)"
                    "(document.activeElement)"
                )
            )
        assert {"plot", "table", "button", "summary"} <= seen


def test_tables_sort_by_a_column(chromium: Any, tmp_path: Path) -> None:
    with opened(chromium, report_page(launch()), tmp_path) as page:
        table = page.locator("#time table").first
        button = table.get_by_role("button", name="count")
        for state, reverse in (("descending", True), ("ascending", False)):
            button.focus()
            page.keyboard.press("Enter")
            head = table.locator("th", has_text="count").first
            assert head.get_attribute("aria-sort") == state
            column = head.evaluate("e => e.cellIndex")
            counts = table.locator("tbody tr").evaluate_all(
                f"rows => rows.map(row => Number(row.cells[{column}].textContent.replace(',', '')))"
            )
            assert counts == sorted(counts, reverse=reverse)


def test_hostile_names_are_letters(chromium: Any, tmp_path: Path) -> None:
    with opened(chromium, report_page(hostile()), tmp_path) as page:
        assert page.evaluate("window.hacked") is None
        shown = page.locator("[data-plot=durations] .ytick text").all_text_contents()
        wanted = [one_line(name[:100]) or "(empty)" for name in (*HOSTILE, HOSTILE[0])]
        wanted = [name if len(name) <= 22 else f"{name[:21]}…" for name in wanted]
        assert sorted(text.replace("\xa0", " ") for text in shown) == sorted(wanted)
        assert page.locator("[data-plot] svg a").count() == 0
        page.locator("[data-plot=durations]").scroll_into_view_if_needed()
        marks = page.locator("[data-plot=durations] .points path")
        labels = page.locator("[data-plot=durations] .hovertext")
        seen = []
        for i in range(len(wanted)):
            page.mouse.move(1, 1)
            playwright.expect(labels).to_have_count(0, timeout=WAIT_MS)
            marks.nth(i).hover(force=True)
            playwright.expect(labels).to_contain_text(re.compile("^p(50|99) of "), timeout=WAIT_MS)
            seen.append(labels.text_content())
        for name in HOSTILE[:7]:
            assert any(name in text for text in seen), name
        assert page.evaluate("window.hacked") is None


def test_what_the_policy_forbids_is_not_run(chromium: Any, tmp_path: Path) -> None:
    """A script that got into the page all the same: the browser says so, and runs nothing of it."""
    made = report_page(launch(), plots=False)
    spoilt = made.replace(b"</main>", b"<script>window.hacked = 5</script></main>")
    assert spoilt != made
    path = tmp_path / "spoilt.html"
    path.write_bytes(spoilt)
    page = chromium.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    assert page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in text for text in said)
    page.close()


def test_the_matrix_and_the_activity_say_what_is_under_the_pointer(chromium: Any, tmp_path: Path) -> None:
    with opened(chromium, report_page(launch()), tmp_path) as page:
        for key, said in (
            ("activity", "tracks in regions"),
            ("overlap", "ran in another track of the block"),
        ):
            box = page.locator(f"[data-plot={key}]")
            box.scroll_into_view_if_needed()
            box.locator(".nsewdrag").hover(force=True)
            playwright.expect(box.locator(".hovertext")).to_contain_text(said, timeout=WAIT_MS)
            assert "%{" not in box.locator(".hovertext").text_content()


def test_two_launches_are_compared_first(chromium: Any, tmp_path: Path) -> None:
    old, new = (launch(SynthConfig(n_iterations=n, kernel="made"), seed=n) for n in (4, 6))
    with opened(chromium, report_page(new, before=old), tmp_path, viewport=PHONE) as page:
        first = page.locator("main section").first
        assert first.get_attribute("id") == "diff"
        assert first.locator("[data-plot=changes] .errorbar").count() >= 5
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_a_plot_can_be_saved_as_a_picture(chromium: Any, tmp_path: Path) -> None:
    """Plotly makes it in the page, from what the policy allows."""
    with opened(chromium, report_page(launch()), tmp_path, accept_downloads=True) as page:
        with page.expect_download() as download:
            page.locator("[data-plot=activity] .modebar-btn").first.click()
        assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "size", "scheme"), [("report.png", DESKTOP, "light"), ("report-phone.png", PHONE, "dark")]
)
def test_a_picture_for_the_docs(chromium: Any, name: str, size: Any, scheme: str, tmp_path: Path) -> None:
    """A launch with something to see in it, on a desk and on a phone."""
    made = launch(SynthConfig(grid=(120, 1, 1), n_sms=16, resident=2, kernel="gemm (synthetic)"))
    with opened(chromium, report_page(made), tmp_path, viewport=size, color_scheme=scheme) as page:
        page.locator("#balance").evaluate("e => e.scrollIntoView({behavior: 'instant'})")
        assert page.locator("[data-plot=activity]").is_visible()
        picture(page, name)
