"""Whatever a text holds, it stays a text: in HTML, in an attribute, in JSON, and in Plotly's labels."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace.diagnostics import one_line
from mgpu_trace.report.markup import MAX_TEXT, Markup, joined, lines, name_said, prose, tag, text
from mgpu_trace.report.plots import Figure, as_json, said

TEXTS = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(
    ("</script>", "<!--", "&lt;", "a\nb", "\x00", "\ud800", "'\"", "]]>", "%{x}")
)


class Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


@given(TEXTS, TEXTS)
def test_texts_and_attributes_come_back_as_one_line(inside: str, attribute: str) -> None:
    read = Reader(tag("p", inside, title=attribute))
    assert read.tags == [("p", {"title": one_line(attribute)})]
    assert "".join(read.texts) == one_line(inside)


@given(TEXTS)
def test_prose_and_lines_have_no_tags_but_their_own(inside: str) -> None:
    assert {name for name, _ in Reader(prose(inside)).tags} <= {"code"}
    assert Reader(lines(inside)).tags == []


def test_what_is_markup_goes_through() -> None:
    inner = tag("b", "1 < 2")
    assert tag("p", "a & ", inner, class_="x", hidden=True, title=None) == (
        '<p class="x" hidden>a &amp; <b>1 &lt; 2</b></p>'
    )
    assert joined(["<", Markup("<br>")], ", ") == "&lt;, <br>"
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert prose("say `x<y` so") == "say <code>x&lt;y</code> so"


def test_endless_texts_are_cut() -> None:
    assert len(text("x" * 10**6)) == MAX_TEXT
    assert name_said("y" * 10**6, 9) == "yyyyyyyy…"
    assert name_said("") == "(empty)"


# What Plotly makes of a label: its tags, then its entities (plotly.js, lib/svg_text_utils.js).
PLOTLY_TAG = re.compile(r"<[^<>]*>")


@given(TEXTS)
def test_labels_have_no_tag_for_plotly_and_read_as_they_are(name: str) -> None:
    label = said(name)
    assert not PLOTLY_TAG.search(label)
    assert not {"<", ">"} & set(label)
    assert set(re.findall(r"&[^;]*;?", label)) <= {"&amp;", "&lt;", "&gt;"}
    assert unescape(label) == name_said(name)


@given(st.lists(TEXTS))
def test_figures_come_back_and_hold_no_letter_of_a_tag(names: list[str]) -> None:
    figure = Figure("a", "", "", [{"text": names, "x": [1.5, None]}], {"height": 1})
    raw = as_json([figure])
    assert not {"<", ">"} & set(raw)
    assert raw.isascii()
    assert json.loads(raw) == {"a": {"data": [{"text": names, "x": [1.5, None]}], "layout": {"height": 1}}}


def test_numbers_that_json_lacks_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        as_json([Figure("a", "", "", [{"x": [float("nan")]}], {})])
