"""The sentences that JAX says, taken apart so that they can be looked for in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.diagnostics.explain import Place, Upstream, explanation_of
from mgpu_trace.diagnostics.pasted import squeeze

__all__ = ["PLACEHOLDER", "Part", "Sentence", "is_weak", "known_sentences", "telling", "versions_of"]

PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")
_WORD: Final = re.compile(r"[a-z0-9]+")
_COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been both but by can does each either error for from got had has have if in "
        "into is it its must neither no not of on only or set so supported than that the them then there "
        "this to too try unsupported was when where which will with you",
    )
)


def telling(words: Iterable[str | None]) -> set[str]:
    """The words among ``words`` that tell what a sentence is about; values, None or empty, do not."""
    return {word for word in words if word and word not in _COMMON}


def is_weak(words: set[str]) -> bool:
    """Whether a sentence with these telling words could be about anything: two words are too few."""
    return len(words) < 3


@dataclass(frozen=True, slots=True)
class Part:
    """Letters and digits of a sentence without a value in between, and whether words end at its ends."""

    letters: bytes
    opens_word: bool
    closes_word: bool


@dataclass(frozen=True)
class Sentence:
    """A sentence that belongs to a code.

    Attributes
    ----------
    code, upstream
        What it belongs to, and how the catalogue has it.
    """

    code: Code
    upstream: Upstream

    @cached_property
    def text(self) -> str:
        """What a text that says it has in it: Python says no more of a KeyError than its kind and key."""
        said = self.upstream
        return f"KeyError: {said.sentence}" if said.raises == "KeyError" else said.sentence

    @cached_property
    def texts(self) -> list[str]:
        """What stands around its values."""
        return PLACEHOLDER.split(self.text)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The letters and digits of those texts that have more than one."""
        last = len(self.texts) - 1
        return tuple(
            Part(letters, i == 0 or not text[0].isalnum(), i == last or not text[-1].isalnum())
            for i, text in enumerate(self.texts)
            if len(letters := squeeze(text)) > 1
        )

    @cached_property
    def words(self) -> tuple[str | None, ...]:
        """Its words in lower case; None for a value."""
        words: list[str | None] = []
        for text in self.texts:
            words += [*_WORD.findall(text.lower()), None]
        return tuple(words[:-1])

    @cached_property
    def telling(self) -> set[str]:
        """Those of its words that tell what it is about."""
        return telling(self.words)

    @cached_property
    def n_letters(self) -> int:
        """How many letters and digits it has of its own."""
        return sum(len(part.letters) for part in self.parts)

    @cached_property
    def is_weak(self) -> bool:
        """Whether it could be about anything."""
        return is_weak(self.telling)

    @property
    def begins_in_value(self) -> bool:
        return not squeeze(self.texts[0])

    @property
    def ends_in_value(self) -> bool:
        return not squeeze(self.texts[-1])

    @cached_property
    def is_general(self) -> bool:
        """Python or NumPy say it, about anything."""
        return not any(place.module.split(".")[0] == "jax" for place in self.upstream.where)


@cache
def known_sentences() -> tuple[Sentence, ...]:
    """Every sentence of the catalogue that has words of its own."""
    found = (Sentence(code, said) for code in catalogue.ALL for said in explanation_of(code).upstream)
    return tuple(sentence for sentence in found if sentence.parts)


def versions_of(place: Place) -> str:
    """The versions of JAX that say something there, in words; empty for a place outside JAX, in all."""
    if place.since and place.since == place.until:
        return f"JAX {place.since}"
    if place.since and place.until:
        return f"JAX {place.since} to {place.until}"
    if place.since or place.until:
        return f"JAX {place.since} and later" if place.since else f"JAX up to {place.until}"
    return "every JAX from 0.4.33" if place.module.split(".")[0] == "jax" else ""
