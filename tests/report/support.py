"""Launches whose every text is hostile, and a page read back by Python's own parser."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any

import numpy as np

from mgpu_trace.model import TraceBuffer
from mgpu_trace.pipeline import Launch
from mgpu_trace.spec import TraceSpec
from mgpu_trace.synth import SynthConfig, synthesise

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    "<b>bold</b> &lt;i&gt; &amp;lt; &#60;",
    '<a href="javascript:window.hacked = 3">link</a>',
    "%{meta[0]} %{x} {{ }} ${window.hacked = 4}",
    "$\\alpha$ `code` <!-- comment --> ]]>",
    '"><svg onload=alert(1)> \' "',
    "line\nbreak\r\ttab \x00 \x1b[31m \u2028 \u202e \ud800 end",
    "theme:ink",
    "2024-01-01",
    "12",
    "x" * 1_000_000,
    "",
)
VOID = {"br", "meta", "link", "col", "input", "img"}


def launch(config: SynthConfig | None = None, seed: int = 0, **spec: Any) -> Launch:
    """A synthetic launch; ``spec`` says otherwise what is said about it."""
    made = synthesise(config or SynthConfig(kernel="made"), seed)
    return Launch(TraceBuffer.from_flat(made.words.reshape(-1), replace(made.spec, **spec)))


def hostile(n_regions: int = len(HOSTILE)) -> Launch:
    """Each region has one of the names; two regions have the same one."""
    names = [*HOSTILE, HOSTILE[0]][: n_regions + 1]
    n = len(names)
    events = np.zeros((n, 2), np.uint32)
    events[:, 0] = np.arange(n)
    rows = []
    for track in range(2):
        clock, row = 100 * track, [1000 + track, track, 4 * n]
        for name in range(n):
            row += [name, clock + 10, name | 2**31, clock + 30 + 7 * name]
            clock += 50 + 7 * name
        rows.append(row)
    words = np.array(rows, np.uint32)
    spec = TraceSpec(
        grid=(2, 1, 1), block=(128, 1, 1), words_per_track=words.shape[1], names=tuple(names),
        kernel=HOSTILE[0], device=HOSTILE[1], jax_version=HOSTILE[2], sm_clock_mhz=1000.0,
        assumed=(HOSTILE[3], HOSTILE[7]),
    )  # fmt: skip
    return Launch(
        TraceBuffer.from_flat(words.reshape(-1), spec), source=f"/tmp/{HOSTILE[0]}/{HOSTILE[6]}.npy"
    )


def broken_events() -> Launch:
    """A launch of which no track can be read."""
    made = launch()
    words = np.full_like(made.buffer.words, 0xFFFFFFFF)
    return Launch(TraceBuffer.from_flat(words.reshape(-1), made.spec))


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    parts: list[Any] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def all(self, name: str | None = None, **attributes: str) -> list[Element]:
        """The elements below it of that name and with those attributes, in order."""
        found = []
        for part in self.parts:
            if isinstance(part, Element):
                wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
                if name in (None, part.name) and wanted.items() <= part.attributes.items():
                    found.append(part)
                found += part.all(name, **attributes)
        return found

    def one(self, name: str | None = None, **attributes: str) -> Element:
        (found,) = self.all(name, **attributes)
        return found


class _Reader(HTMLParser):
    """Strict: an end tag ends what was begun last."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({key for key, _ in attrs}) == len(attrs)
        element = Element(tag, dict(attrs))
        self.open[-1].parts.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def read(page: bytes) -> Element:
    """The elements of a page; everything that was opened is closed."""
    text = page.decode()
    assert text.startswith("<!DOCTYPE html>\n")
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1
    return reader.open[0].one("html")


def figures(page: Element) -> dict[str, Any]:
    """The figures as the page's script reads them."""
    return dict(json.loads(page.one(id="figures").text))


def table_rows(html: str) -> dict[str, str]:
    """The rows of a first table of two columns."""
    rows = read(f"<!DOCTYPE html>\n<html>{html}</html>".encode()).all("table")[0].all("tr")
    return {row.one("th").text: row.one("td").text for row in rows}
