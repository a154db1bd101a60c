"""What the catalogue tells a person about a code: the explanations, read when they are asked for.

They are data, one TOML file for each module of the catalogue in ``explanations/``, one table for
each code. docs/codes.md is made from them, and ``mgpu-trace explain`` prints them.
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from mgpu_trace.diagnostics import Code, catalogue

__all__ = ["Explanation", "Place", "Upstream", "entry_of", "explanation_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a version of JAX raises a sentence.

    Attributes
    ----------
    module, function
        Such as ``jax.experimental.mosaic.gpu.profiler`` and ``ProfilerSpec.dump``.
    since, until
        The first and the last version of JAX that raises it there. Empty ``since``: before 0.4.33, the
        oldest that was looked at; empty ``until``: 0.12.0.1, the newest that was looked at, still does.
    """

    module: str
    function: str
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A sentence of JAX's (or Python's, out of JAX) that belongs to a code.

    Attributes
    ----------
    sentence
        The text, with ``{...}`` where a value stands.
    raises
        The type of the exception or warning, such as ``ValueError``.
    where
        The places that raise it, newest first.
    """

    sentence: str
    raises: str
    where: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that is told about a code.

    Attributes
    ----------
    means, matters, when, todo
        Paragraphs: what it means, why it matters, when it happens, what to do.
    situations
        Common situations, a sentence or two each.
    before, after
        An example: what goes wrong, and the same put right. Lines of code or of a terminal.
    upstream
        What JAX says about the same thing. May be empty.
    related
        The ids of other codes that are worth reading.
    """

    means: str
    matters: str
    when: str
    situations: tuple[str, ...]
    todo: str
    before: str
    after: str
    upstream: tuple[Upstream, ...]
    related: tuple[str, ...]


def explanation_of(code: Code) -> Explanation:
    """The explanation of ``code``."""
    table = _tables()[code.id]
    paragraphs = {key: " ".join(table[key].split()) for key in ("means", "matters", "when", "todo")}
    return Explanation(
        **paragraphs,
        situations=tuple(" ".join(text.split()) for text in table["situations"]),
        before=table["before"].strip("\n"),
        after=table["after"].strip("\n"),
        upstream=tuple(_upstream(one) for one in table.get("upstream", ())),
        related=tuple(table.get("related", ())),
    )


def entry_of(code: Code) -> dict[str, Any]:
    """The code and its explanation as JSON-ready data (the schema is in docs/cli.md)."""
    said = {"code": code.id, "slug": code.slug, "severity": code.severity.label, "summary": code.summary}
    return said | asdict(explanation_of(code))


def _upstream(table: dict[str, Any]) -> Upstream:
    places = tuple(Place(**place) for place in table["where"])
    return Upstream(table["sentence"], table["raises"], places)


@cache
def _tables() -> dict[str, dict[str, Any]]:
    """The tables of all files, by code id."""
    tables: dict[str, dict[str, Any]] = {}
    for file in sorted(files("mgpu_trace.diagnostics").joinpath("explanations").iterdir(), key=str):
        if file.name.endswith(".toml"):
            tables |= tomllib.loads(file.read_text(encoding="utf-8"))
    assert tables.keys() == {code.id for code in catalogue.ALL}, "a code without explanation"
    return tables
