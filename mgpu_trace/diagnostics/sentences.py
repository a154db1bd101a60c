"""The sentences that JAX says, taken apart so that they can be looked for in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.diagnostics.explain import Place, Upstream, explanation_of
from mgpu_trace.diagnostics.pasted import squeeze

__all__ = ["PLACEHOLDER", "Part", "Sentence", "Word", "known_sentences", "versions_of"]

PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")

# Words that do not tell what a sentence is about.
COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been both but by can does each either error for from got had has have if in "
        "into is it its must neither no not of on only or set so supported than that the them then there "
        "this to too try unsupported was when where which will with you",
    )
)
_WORD: Final = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Part:
    """Letters and digits of a sentence without a value in between, and whether words end at its ends."""

    letters: bytes
    opens_word: bool
    closes_word: bool


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a sentence; ``weight`` grows with what it tells, a value may stand before it."""

    text: str
    weight: float
    after_value: bool

    @property
    def is_common(self) -> bool:
        return self.text in COMMON


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that belongs to a code.

    Attributes
    ----------
    code, upstream
        What it belongs to, and how the catalogue has it.
    parts
        What stands between its values, in order.
    words
        The same as words.
    is_weak
        It has so few words that it could be about anything.
    """

    code: Code
    upstream: Upstream
    parts: tuple[Part, ...]
    words: tuple[Word, ...]

    @property
    def n_letters(self) -> int:
        return sum(len(part.letters) for part in self.parts)

    @property
    def is_weak(self) -> bool:
        return len({word.text for word in self.words if not word.is_common}) < 3

    @property
    def texts(self) -> list[bytes]:
        """What stands around its values, in lower case."""
        return [t.encode("ascii", "replace").lower() for t in PLACEHOLDER.split(self.upstream.sentence)]

    @property
    def begins_in_value(self) -> bool:
        return not squeeze(PLACEHOLDER.split(self.upstream.sentence)[0])

    @property
    def ends_in_value(self) -> bool:
        return not squeeze(PLACEHOLDER.split(self.upstream.sentence)[-1])

    @property
    def is_general(self) -> bool:
        """Python or NumPy say it, about anything."""
        return not any(place.module.split(".")[0] == "jax" for place in self.upstream.where)


@cache
def known_sentences() -> tuple[Sentence, ...]:
    """Every sentence of the catalogue that has words of its own."""
    found = (_taken_apart(code, said) for code in catalogue.ALL for said in explanation_of(code).upstream)
    return tuple(sentence for sentence in found if sentence.parts)


def _taken_apart(code: Code, said: Upstream) -> Sentence:
    texts = PLACEHOLDER.split(said.sentence)
    parts, words = [], []
    for i, text in enumerate(texts):
        letters = squeeze(text)
        if len(letters) > 1:
            joined_before = i > 0 and text[0].isalnum()
            joined_after = i < len(texts) - 1 and text[-1].isalnum()
            parts.append(Part(letters, not joined_before, not joined_after))
        for j, word in enumerate(_WORD.findall(text.lower())):
            words.append(Word(word, weight_of(word), after_value=i > 0 and j == 0))
    return Sentence(code, said, tuple(parts), tuple(words))


def weight_of(word: str) -> float:
    """How much ``word`` tells: nothing of a common one, more of a long one."""
    return 1.0 if word in COMMON else float(min(len(word), 12))


def versions_of(place: Place) -> str:
    """The versions of JAX that say something there, in words; empty for a place outside JAX, in all."""
    if place.since and place.since == place.until:
        return f"JAX {place.since}"
    if place.since and place.until:
        return f"JAX {place.since} to {place.until}"
    if place.since or place.until:
        return f"JAX {place.since} and later" if place.since else f"JAX up to {place.until}"
    return "every JAX from 0.4.33" if place.module.split(".")[0] == "jax" else ""
