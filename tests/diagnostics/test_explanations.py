"""Every explanation has all its parts, and what it says of JAX is so in the JAX at hand."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from cli_support import ROOT

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.diagnostics.explain import Place, Upstream, explanation_of
from mgpu_trace.diagnostics.sentences import PLACEHOLDER, versions_of

OLDEST = (0, 4, 33)
SAID = [
    (code, said, place)
    for code in catalogue.ALL
    for said in explanation_of(code).upstream
    for place in said.where
]
IN_JAX = [one for one in SAID if one[2].module.split(".")[0] == "jax"]


@pytest.mark.parametrize("code", catalogue.ALL, ids=lambda c: c.id)
def test_has_all_parts(code: Code) -> None:
    told = explanation_of(code)
    assert "TODO" not in repr(told)
    for text in (told.means, told.matters, told.when, told.todo, *told.situations):
        assert text.rstrip(")").endswith((".", "?")), text
    assert told.situations
    assert told.before
    assert told.after
    assert told.before != told.after
    for line in f"{told.before}\n{told.after}".splitlines():
        assert len(line) <= 88, line
        assert line == line.rstrip()
        assert line.isprintable()


@pytest.mark.parametrize("code", catalogue.ALL, ids=lambda c: c.id)
def test_related_codes_are_others_that_exist(code: Code) -> None:
    related = explanation_of(code).related
    assert len(set(related)) == len(related)
    assert code.id not in related
    assert all(key in {c.id for c in catalogue.ALL} for key in related)


@pytest.mark.parametrize("code", catalogue.ALL, ids=lambda c: c.id)
def test_the_page_has_all_parts(code: Code) -> None:
    page = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    section = page.split(f"### {code.id} {code.slug}\n")[1].split("\n### ")[0]
    told = explanation_of(code)
    for heading in ("What it means", "When it happens", "Common situations", "Why it matters", "What to do"):
        assert f"**{heading}.**" in section
    assert f"```text\n{told.before}\n```" in section
    assert f"```text\n{told.after}\n```" in section
    assert section.count("\n- ") == len(told.situations) + len(told.upstream)
    for said in told.upstream:
        assert f"{said.raises}: {said.sentence}" in section
    for key in told.related:
        assert f"[{key} " in section


@pytest.mark.parametrize(("code", "said", "place"), SAID, ids=lambda v: getattr(v, "id", None) or "-")
def test_a_sentence_does_not_begin_with_its_kind(code: Code, said: Upstream, place: Place) -> None:
    assert re.fullmatch(r"[A-Za-z_.]+", said.raises)
    assert not said.sentence.startswith(said.raises)


@pytest.mark.parametrize(("code", "said", "place"), IN_JAX, ids=lambda v: getattr(v, "id", None) or "-")
def test_versions_are_in_order(code: Code, said: Upstream, place: Place) -> None:
    since, until = (release(v) if v else None for v in (place.since, place.until))
    assert since is None or since > OLDEST
    assert until is None or until >= (since or OLDEST)
    assert versions_of(place)


# ---- against the source of the JAX at hand


def release(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.match(r"\d+(?:\.\d+)*", version)[0].split("."))  # type: ignore[index]


@cache
def source_of(module: str) -> ast.Module | None:
    """The module as JAX has it, parsed and not run; None where this JAX has no such module."""
    top = importlib.util.find_spec("jax")
    if top is None or top.origin is None:
        pytest.skip("JAX is not installed (mgpu-trace[jax])")
    path = Path(top.origin).parent.joinpath(*module.split(".")[1:])
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return ast.parse(file.read_text(encoding="utf-8"))
    return None


def functions_in(tree: ast.Module, name: str) -> list[ast.AST]:
    """The functions or methods of that qualified name, however deep; typing.overload makes several."""
    found: list[ast.AST] = [tree]
    for part in name.split("."):
        found = [inner for outer in found for inner in definitions_in(outer) if inner.name == part]
    return list(found)


def definitions_in(node: ast.AST) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """What ``node`` defines itself, also under an if or a with, not what its own definitions define."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        else:
            yield from definitions_in(child)


def sentences_in(node: ast.AST) -> set[str]:
    """Each string of the function, with {} where a value stands and single spaces."""
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            found.add(normal(one.value))
        elif isinstance(one, ast.JoinedStr):
            values = (v.value if isinstance(v, ast.Constant) else "{}" for v in one.values)
            found.add(normal("".join(map(str, values))))
    return found


def normal(text: str) -> str:
    return " ".join(PLACEHOLDER.sub("{}", text).split())


@pytest.mark.parametrize(
    ("code", "said", "place"), IN_JAX, ids=[f"{c.id}-{p.function}-{i}" for i, (c, _, p) in enumerate(IN_JAX)]
)
def test_jax_says_it_there_in_these_versions_and_in_no_other(
    code: Code, said: Upstream, place: Place
) -> None:
    pytest.importorskip("jax", reason="JAX is not installed (mgpu-trace[jax])", exc_type=ImportError)
    installed = release(metadata.version("jax"))
    says = release(place.since or "0") <= installed <= release(place.until or "9999")
    if place.until:  # 0.12.0.1 is a build of 0.12.0
        says = says or installed[:3] == release(place.until)
    tree = source_of(place.module)
    functions = [] if tree is None else functions_in(tree, place.function)
    assert any(normal(said.sentence) in sentences_in(function) for function in functions) == says


def test_the_test_above_can_fail() -> None:
    tree = ast.parse('class A:\n  def f(self):\n    def g():\n      raise E(f"a {x!r}" " b " f"{y=}")\n')
    (inner,) = functions_in(tree, "A.f.g")
    assert normal("a {n} b y={m}") in sentences_in(inner)
    assert normal("a {n} b {m}") not in sentences_in(inner)
    assert not functions_in(tree, "A.g")
