from __future__ import annotations

import pytest
from cli_support import invoke

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.diagnostics.explain import explanation_of


@pytest.mark.parametrize("code", catalogue.ALL, ids=lambda c: c.id)
def test_every_code_can_be_explained(code: Code) -> None:
    by_id, by_slug = invoke("explain", code.id.lower()), invoke("explain", code.slug)
    assert by_id.exit_code == by_slug.exit_code == 0
    assert by_id.stdout == by_slug.stdout
    words = by_id.stdout.split()
    told = explanation_of(code)
    for part in ("What it means", told.means, "Why it matters", told.matters, "What to do", told.todo):
        assert " ".join(part.split()) in " ".join(words)
    assert max(map(len, by_id.stdout.splitlines())) <= 100


def test_list_has_every_code_once() -> None:
    lines = invoke("explain", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [c.id for c in catalogue.ALL]


@pytest.mark.parametrize(
    ("typed", "offered"), [("MGT310x", "MGT310"), ("overful-track", "overfull-track"), ("qqq", "--list")]
)
def test_an_unknown_code_is_a_usage_error_that_offers_the_nearest(typed: str, offered: str) -> None:
    result = invoke("explain", typed)
    assert result.exit_code == 2
    assert offered in result.stderr
    assert typed in result.stderr


def test_without_a_code_it_says_what_to_give() -> None:
    result = invoke("explain")
    assert result.exit_code == 2
    assert "--list" in result.stderr
