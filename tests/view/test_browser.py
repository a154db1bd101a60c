"""``mgpu-trace open --offline`` in a real browser: Chromium without a screen, and Perfetto's own UI.

``MGPU_TRACE_PICTURES=docs/images`` saves what it saw there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_support import FIXTURES, command, environment, invoke
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackDescriptor, TrackEvent

import mgpu_trace

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (mgpu-trace[browser])"
)
pytest.importorskip("viztracer", reason="viztracer is not installed (mgpu-trace[ui])")

GEMM = FIXTURES / "golden" / "hopper_gemm.npy"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
WAIT_MS = 20_000
ATTEMPTS = 5
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser with an empty profile of its own."""
    with playwright.sync_playwright() as driver:
        profile = tmp_path_factory.mktemp("profile")
        window = {"width": 1400, "height": 860}
        browser = driver.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=list(FLAGS), headless=True, viewport=window
        )
        yield browser
        browser.close()


@contextmanager
def opened(chromium: Any, file: Path) -> Iterator[Any]:
    """The UI with the trace in it, as the command opens it."""
    run = command("open", file, "--offline", "--port", 0, "--print-url", "--timeout", 120)
    with subprocess.Popen(run, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            url = child.stdout.readline().decode().strip()
            page = chromium.new_page()
            page.set_default_timeout(WAIT_MS)
            page.goto(url)
            page.wait_for_selector(".pf-track")
            yield page
            page.close()
        finally:
            child.kill()


def titles(page: Any) -> list[str]:
    return list(page.locator(".pf-track .pf-track__title-popup").all_text_contents())


def expand(page: Any) -> None:
    """Unfold all lines."""
    button = page.locator(".pf-timeline-toolbar button").first  # its title says what it would do next
    if button.get_attribute("title") == "Collapse all":  # some are unfolded from the start
        button.click()
    playwright.expect(button).to_have_attribute("title", "Expand all", timeout=WAIT_MS)
    button.click()
    inner = page.locator(".pf-track__title-popup", has_text=re.compile("block|lane|warpgroup"))
    playwright.expect(inner).not_to_have_count(0, timeout=WAIT_MS)


def expect_found(page: Any, text: str, n: int) -> None:
    """The search box finds ``n`` slices; while the UI still loads it may have to be asked again."""
    box = page.locator(".pf-omnibox input")
    count = page.locator(".pf-omnibox__stepthrough-current")
    for attempt in range(ATTEMPTS):
        box.press("Escape")  # what was searched before
        box.fill(text)
        box.press("Enter")
        try:
            playwright.expect(count).to_have_text(re.compile(rf"^\d+ / {n}$"), timeout=WAIT_MS / ATTEMPTS)
        except AssertionError:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return


def select_next(page: Any, name: str) -> tuple[int, int]:
    """Select the next slice that the search has found; start and duration that the panel shows, in ns."""
    page.locator(".pf-omnibox__stepthrough button").last.click()
    details = page.locator(".pf-details-shell")
    playwright.expect(details).to_contain_text("Duration", timeout=WAIT_MS)
    told = [line.strip() for line in details.inner_text().splitlines() if line.strip()]
    assert told[told.index("Name") + 1] == name
    start = re.sub(r"\D", "", told[told.index("Start time") + 1])  # 00:00:00.000 000 171, in parts
    return int(start), duration_ns(told[told.index("Duration") + 1])


def duration_ns(text: str) -> int:
    """Such as ``1us 20ns``."""
    units = {"ns": 1, "us": 1000, "µs": 1000, "ms": 1_000_000}
    return sum(int(n) * units[unit] for n, unit in re.findall(r"(\d+) ?(ns|us|µs|ms)", text))


def badge(page: Any) -> int:
    """How many badges tell of errors in the trace."""
    return int(page.locator(".pf-topbar__error-box").count())


def picture(page: Any, name: str, height: int | None = None) -> None:
    """Save what is on the screen, down to there, where pictures are wanted."""
    folder = os.environ.get("MGPU_TRACE_PICTURES")
    if folder:
        page.wait_for_timeout(2000)  # what is drawn on canvases cannot be asked for
        width = page.viewport_size["width"]
        clip = {"x": 0, "y": 0, "width": width, "height": height} if height else None
        page.screenshot(path=Path(folder) / name, clip=clip)


@pytest.mark.parametrize("suffix", [None, ".pftrace"])
def test_a_launch_in_the_ui(chromium: Any, suffix: str | None, tmp_path: Path) -> None:
    """The buffer itself, and the other format that it can be dumped to."""
    file = tmp_path / f"gemm{suffix}" if suffix else GEMM
    if suffix:
        mgpu_trace.write_trace(mgpu_trace.load(GEMM), file)
    timeline = mgpu_trace.load(GEMM)
    names = [timeline.spec.name_of(int(name)) for name in timeline.slices.name]
    sms = [f"SM {sm}" for sm in sorted({int(sm) for sm in timeline.tracks.sm})]
    with opened(chromium, file) as page:
        assert badge(page) == 0
        expand(page)
        assert [title for title in titles(page) if title.startswith("SM")] == sms
        for name in sorted(set(names)):
            expect_found(page, name, sum(name in other for other in names))
        expect_found(page, "wgmma", names.count("wgmma"))
        start_ns, dur_ns = select_next(page, "wgmma")
        assert dur_ns in {
            dur for name, start, dur in slices_of(timeline) if (name, start) == ("wgmma", start_ns)
        }
        assert badge(page) == 0
        if suffix is None:
            picture(page, "open.png")


WAVES = ("--sms", 2, "--resident", 2, "--grid", 20, "--block", 256, "--iterations", 3)
# The pictures of docs/perfetto.md.
HOWS = {
    "sm": ("--group-by", "sm"),
    "sm-no-lanes": ("--no-lanes",),
    "block": ("--group-by", "block"),
    "unit": ("--group-by", "unit"),
}


@pytest.mark.parametrize(
    ("name", "suffix"), [(name, ".pftrace") for name in HOWS] + [("sm", ".json"), ("unit", ".json")]
)
def test_every_picture_in_the_ui(chromium: Any, name: str, suffix: str, tmp_path: Path) -> None:
    """Ten blocks on each of two SMs, two at a time: groups and lines in order, regions and blocks."""
    buffer, trace = tmp_path / "made.npy", tmp_path / f"trace{suffix}"
    assert invoke("synth", "-o", buffer, *WAVES).exit_code == 0
    about = ("--kernel", "gemm", "--device", "H100", "--role", "0=tma", "--role", "1=mma")
    assert invoke("dump", buffer, "-o", trace, "-q", *about, *HOWS[name]).exit_code == 0
    timeline = mgpu_trace.load(buffer)
    n_wgmma = sum(region == "wgmma" for region, *_ in slices_of(timeline))
    with opened(chromium, trace) as page:
        assert badge(page) == 0
        expand(page)
        shown = [title for title in titles(page) if title not in ("H100", "gemm", "summary")]
        wanted = picture_of(timeline, name)
        if suffix == ".json":
            # The id of the thread, or of a role's process, is part of the title; and v52 does not go by
            # the order that is given to processes.
            shown = [re.sub(r"^(.*lane.*|tma|mma) \d+$", r"\1", title) for title in shown]
            shown, wanted = by_group(shown), by_group(wanted)
        assert shown == wanted
        if suffix == ".pftrace":
            page.keyboard.press("Control+b")  # without the sidebar
            picture(page, f"{name}.png", height=700)
        expect_found(page, "wgmma", n_wgmma)
        start_ns, dur_ns = select_next(page, "wgmma")
        assert ("wgmma", start_ns, dur_ns) in slices_of(timeline)
        if name in ("sm", "unit"):  # elsewhere it is the name of a group or of lines, which are found too
            expect_found(page, "block (7,0,0)", 2)
        assert badge(page) == 0


def by_group(titles: list[str]) -> list[list[str]]:
    """Each group with its lines; the groups by name."""
    groups: list[list[str]] = []
    for title in titles:
        if "lane" in title:
            groups[-1].append(title)
        else:
            groups.append([title])
    return sorted(groups)


def picture_of(timeline: mgpu_trace.Timeline, name: str) -> list[str]:
    """Titles from the top down, of a launch with two lanes on every SM."""
    roles = ("tma", "mma")
    if name == "unit":
        lanes = [f"SM {sm} · lane {lane}" for sm in (0, 1) for lane in (1, 2)]
        return [title for role in roles for title in (role, *lanes)]
    where = timeline.tracks.sm[::2].tolist()
    if name == "block":
        blocks = [f"block ({block},0,0)" for block in range(len(where))]
        return [
            title
            for block, sm in zip(blocks, where, strict=True)
            for title in (block, *(f"{role} · SM {sm}" for role in roles))
        ]
    shown = []
    for sm in (0, 1):
        mine = [f"block ({block},0,0)" for block, on in enumerate(where) if on == sm]
        lines = ["lane 1", "lane 2"] if name == "sm" else mine
        shown += [f"SM {sm}", *(f"{line} · {role}" for line in lines for role in roles)]
    return shown


def slices_of(timeline: mgpu_trace.Timeline) -> list[tuple[str, int, int]]:
    """Name, start and length of each slice, in ns, by the clock alone and not as a trace has them."""
    slices, clock = timeline.slices, timeline.clock
    start = clock.to_ns(slices.track, slices.start_cyc)
    end = clock.to_ns(slices.track, slices.start_cyc + slices.dur_cyc)
    return [
        (timeline.spec.name_of(int(name)), int(begin), int(until - begin))
        for name, begin, until in zip(slices.name, start, end, strict=True)
    ]


def packet(trace: Trace, **fields: Any) -> TracePacket:
    made = trace.packet.add(trusted_packet_sequence_id=1, **fields)
    assert isinstance(made, TracePacket)
    return made


def test_a_trace_of_packets_in_the_ui(chromium: Any, tmp_path: Path) -> None:
    """Made here with Perfetto's own classes: SMs in an order that is not that of their names, with lanes."""
    trace = Trace()
    explicit = TrackDescriptor.ChildTracksOrdering.EXPLICIT
    packet(trace, track_descriptor=TrackDescriptor(uuid=1, name="device", child_ordering=explicit))
    for rank, sm in enumerate((10, 2, 7)):
        of_sm = TrackDescriptor(
            uuid=10 + sm, parent_uuid=1, name=f"SM {sm}", sibling_order_rank=rank, child_ordering=explicit
        )
        lane = TrackDescriptor(uuid=100 + sm, parent_uuid=10 + sm, name=f"block of {sm}")
        packet(trace, track_descriptor=of_sm)
        packet(trace, track_descriptor=lane)
        for i in range(5):
            begin = TrackEvent(type=TrackEvent.TYPE_SLICE_BEGIN, track_uuid=lane.uuid, name="mma")
            packet(trace, timestamp=1000 * i + 5, track_event=begin)
            end = TrackEvent(type=TrackEvent.TYPE_SLICE_END, track_uuid=lane.uuid)
            packet(trace, timestamp=1000 * i + 128, track_event=end)
    path = tmp_path / "made.pftrace"
    path.write_bytes(trace.SerializeToString())
    with opened(chromium, path) as page:
        assert badge(page) == 0
        expand(page)
        shown = [title for title in titles(page) if title.startswith(("SM", "block"))]
        assert shown == [f"{what} {sm}" for sm in (10, 2, 7) for what in ("SM", "block of")]
        expect_found(page, "mma", 15)
        assert select_next(page, "mma")[1] == 123


def test_the_badge_can_be_seen(chromium: Any, tmp_path: Path) -> None:
    """An error in the trace is what the tests above would find."""
    path = tmp_path / "crossing.json"
    events = [{"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": ts, "dur": 10} for ts in (0, 5)]
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    with opened(chromium, path) as page:
        page.wait_for_selector(".pf-topbar__error-box")
        assert badge(page) == 1


def test_the_page_reaches_nothing_but_us(chromium: Any) -> None:
    asked: list[str] = []
    chromium.on("response", lambda response: asked.append(response.url))
    with opened(chromium, GEMM) as page:
        here = re.match(r"http://127\.0\.0\.1:\d+/", page.url)
        assert here is not None
        assert [url for url in asked if not url.startswith((here[0], "data:", "blob:"))] == []
        assert any("trace_processor" in url for url in asked)
