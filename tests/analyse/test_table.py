"""The form of an answer."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from mgpu_trace.analyse.table import HTML_ROWS, Table


def test_rows_are_ready_for_json() -> None:
    """NaN and infinities become None, everything else Python's own types."""
    table = Table(
        "t",
        {
            "name": ["a", 'b"'],
            "none": [None, "x"],
            "n": np.array([1, 2**62]),
            "ns": np.array([np.nan, 0.1]),
            "share": np.array([np.inf, -np.inf]),
            "flag": np.array([True, False]),
        },
    )
    assert json.loads(json.dumps(table.rows(), allow_nan=False)) == [
        {"name": "a", "none": None, "n": 1, "ns": None, "share": None, "flag": True},
        {"name": 'b"', "none": "x", "n": 2**62, "ns": 0.1, "share": None, "flag": False},
    ]


def test_no_rows() -> None:
    empty = Table("t", {"name": [], "n": np.zeros(0, np.int64)})
    assert (len(empty), empty.rows()) == (0, [])
    assert len(Table("t", {})) == 0


def test_take_keeps_the_kind_of_each_column() -> None:
    table = Table("t", {"name": ["a", "b", "c"], "n": np.arange(3)}, {"fact": 1})
    taken = table.take(np.array([2, 0]))
    assert taken.rows() == [{"name": "c", "n": 2}, {"name": "a", "n": 0}]
    assert (taken.facts, taken["n"].dtype) == ({"fact": 1}, np.int64)
    assert len(table.take(np.zeros(0, np.int64))) == 0


@pytest.mark.parametrize("n", [0, 1, 5, 6, 7, 20])
def test_rows_in_parts_are_the_rows(n: int) -> None:
    table = Table("t", {"name": [str(i) for i in range(n)], "n": np.arange(n)})
    parts = list(table.in_parts(6))
    assert [row for part in parts for row in part] == table.rows()
    assert all(0 < len(part) <= 6 for part in parts)


class Cells(HTMLParser):
    """Tags and texts of a piece of HTML, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a & b", '"><img src=x onerror=1>', "&lt;"])
def test_names_in_a_notebook_are_text(name: str) -> None:
    shown = Cells(Table("t", {name: [name], "n_ns": np.array([1.5])})._repr_html_())
    assert {*shown.tags} <= {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert shown.texts == [name, "n_ns", name, "1.5"]


def test_a_notebook_shows_the_first_rows_of_many() -> None:
    n = HTML_ROWS + 7
    shown = Cells(Table("t", {"n": np.arange(n)})._repr_html_())
    assert shown.tags.count("td") == HTML_ROWS
    assert shown.texts[-1] == f"the first {HTML_ROWS} of {n} rows"
    assert Cells(Table("t", {"n": np.arange(HTML_ROWS)})._repr_html_()).tags.count("p") == 0
