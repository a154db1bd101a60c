"""HTML that cannot be broken by what is in it: every string is data until it is called markup.

Names, messages and paths come from files. A plain ``str`` given to :func:`tag` is escaped; only what
was built here is :class:`Markup` and goes through as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Final

from mgpu_trace.diagnostics import one_line
from mgpu_trace.diagnostics.clip import MAX_SAID, clipped

# Far beyond any sentence: names are cut much earlier, and this holds whatever else a file can bring.
MAX_TEXT: Final = 4000
_VOID: Final = frozenset(("br", "meta", "link", "col"))
_CODE: Final = re.compile(r"`([^`]+)`")


class Markup(str):
    """HTML as it stands."""

    __slots__ = ()


Part = str | Markup


def text(said: str) -> Markup:
    """Data as HTML: one line, cut where it is endless, escaped."""
    return said if isinstance(said, Markup) else Markup(escape(one_line(clipped(said, MAX_TEXT))))


def name_said(name: str, most: int = MAX_SAID) -> str:
    """A name in a cell or on an axis: one line, cut; an empty one would look like one that is missing."""
    return clipped(one_line(clipped(name)), most) or "(empty)"


def joined(parts: Iterable[Part], between: str = "") -> Markup:
    """Parts one after the other; what is between them is markup."""
    return Markup(between.join(map(text, parts)))


def tag(name: str, /, *parts: Part, **attributes: str | bool | None) -> Markup:
    """An element. Attributes are data too; ``class_`` and ``for_`` lose their underscore, others get ``-``.

    True is an attribute without a value; False and None leave it out.
    """
    said = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{joined(parts)}</{name}>")


def prose(said: str) -> Markup:
    """A sentence of the catalogue: what stands between backquotes is code."""
    return Markup(_CODE.sub(r"<code>\1</code>", text(said)))


def lines(said: str) -> Markup:
    """Several lines as they stand, for ``<pre>``."""
    return joined(said.split("\n"), "\n")


def rows_of(pairs: Iterable[tuple[str, Part]]) -> Markup:
    """Terms and what they are, as a list of definitions."""
    return tag("dl", *(tag("div", tag("dt", term), tag("dd", what)) for term, what in pairs))
