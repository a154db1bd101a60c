"""The page around the sections: one file that asks the network for nothing.

Its policy names the two scripts by their hashes, so nothing else that may stand in the page is run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from mgpu_trace.report.markup import Markup, Part, joined, tag
from mgpu_trace.report.plots import Figure, as_json

_NO_SCRIPT: Final = "This plot is drawn by JavaScript, which is off or was kept from running."
_KEYS: Final = "Drag, or use the buttons, to zoom; with the keyboard ← → + − and 0 to show all."  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading.

    Attributes
    ----------
    key
        Its id in the page.
    title
        Its heading, and its name in the list of sections.
    parts
        Markup and figures, in order.
    """

    key: str
    title: str
    parts: Sequence[Markup | Figure]


@cache
def asset(name: str) -> Markup:
    """A file of the page's own: no data is ever in it."""
    return Markup(files("mgpu_trace.report").joinpath("assets", name).read_text(encoding="utf-8"))


def whole_page(title: str, head: Part, sections: Sequence[Section], foot: Part, plotly: str | None) -> Markup:
    """The page. Without Plotly's script the figures are left out."""
    figures = [part for section in sections for part in section.parts if isinstance(part, Figure)]
    scripts = [asset("page.js")]
    if plotly is None:
        figures = []
    elif figures:
        scripts.insert(0, _inert(plotly))
    main = tag("main", *(_section(section, bool(figures)) for section in sections), id="main", tabindex="-1")
    body = [
        tag("a", "Skip to the contents", href="#main", class_="skip"),
        tag("header", head, _contents(sections)),
        main,
        tag("footer", foot),
        tag("script", Markup(as_json(figures)), type="application/json", id="figures"),
        *(tag("script", script) for script in scripts),
    ]
    html = tag("html", _head(title, scripts), tag("body", joined(body, "\n")), lang="en")
    return Markup(f"<!DOCTYPE html>\n{html}\n")


def _head(title: str, scripts: Sequence[str]) -> Markup:
    return tag("head", joined(_head_parts(title, scripts), "\n"))


def _head_parts(title: str, scripts: Sequence[str]) -> Iterator[Markup]:
    yield tag("meta", charset="utf-8")
    yield tag("meta", http_equiv="Content-Security-Policy", content=_policy(scripts))
    yield tag("meta", name="viewport", content="width=device-width, initial-scale=1")
    yield tag("meta", name="color-scheme", content="light dark")
    yield tag("meta", name="referrer", content="no-referrer")
    yield tag("title", title)
    yield tag("style", asset("style.css"))


def _policy(scripts: Sequence[str]) -> str:
    """Nothing from anywhere; these scripts; the styles that Plotly sets; pictures that it makes."""
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _inert(script: str) -> Markup:
    """A script in which no letters end its element; its strings mean what they meant."""
    return Markup(script.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


def _contents(sections: Sequence[Section]) -> Markup:
    links = (tag("li", tag("a", section.title, href=f"#{section.key}")) for section in sections)
    return tag("nav", tag("ul", *links), aria_label="Sections")


def _section(section: Section, with_figures: bool) -> Markup:
    heading = f"{section.key}-title"
    parts: list[Part] = [tag("h2", section.title, id=heading)]
    for part in section.parts:
        if not isinstance(part, Figure):
            parts.append(part)
        elif with_figures:
            parts.append(_figure(part))
    return tag("section", joined(parts, "\n"), id=section.key, aria_labelledby=heading)


def _figure(figure: Figure) -> Markup:
    caption = f"plot-{figure.key}-caption"
    height = f"height:{figure.layout['height']}px"
    box = tag(
        "div",
        tag("p", _NO_SCRIPT, class_="muted"),
        class_="plot",
        data_plot=figure.key,
        style=height,
        role="group",
        aria_label=figure.title,
        aria_describedby=caption,
    )
    return tag("figure", box, tag("figcaption", f"{figure.caption} {_KEYS}", id=caption))
