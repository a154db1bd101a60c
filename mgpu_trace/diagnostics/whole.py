"""Whole sentences in a pasted text, with any text where a value stands in them.

A sentence of few words could be anybody's. Such a one must stand alone on its line, with short values
in it, or the text must name the file of JAX that says it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from mgpu_trace.diagnostics.pasted import Pasted
from mgpu_trace.diagnostics.sentences import Part, Sentence

__all__ = ["Hit", "last_whole"]

MAX_VALUE: Final = 1000  # letters and digits of a value
_MAX_SHORT_VALUE: Final = 200  # characters of a value in a weak sentence
_MAX_TRIES: Final = 200  # places where one sentence is tried, from the end of the text

_LINE_END: Final = re.compile(rb"[^a-z0-9_\n]*\n[^a-z0-9_\n]*")
_LINE_START: Final = re.compile(rb"\n[ \t>|#]*")
# A message starts where its line does, or after a mark that ends what stands before it.
_BEFORE_MESSAGE: Final = re.compile(
    rb"(?:.*[:'\"`(\[\]|>?=])?[^a-z0-9]*(?:(?:info|warning|error|critical|fatal)[^a-z0-9]+)?", re.DOTALL
)
_LAST_WORD: Final = re.compile(rb"\S+\s*$")


@dataclass(frozen=True, slots=True)
class Hit:
    """A sentence at ``text[start:stop]``."""

    sentence: Sentence
    start: int
    stop: int

    def is_part_of(self, other: Hit) -> bool:
        """Whether ``other`` says all of it, and more."""
        inside = other.start <= self.start and self.stop <= other.stop
        return inside and self.sentence.n_letters < other.sentence.n_letters

    def punctuation(self, pasted: Pasted) -> int:
        """How many characters of the sentence, marks and all, stand here in their order; 0 if not all do."""
        here = _marked(pasted.clean[max(0, self.start - 9) : self.stop + 999])
        place, texts = 0, [_marked(text.lower().encode("ascii", "replace")) for text in self.sentence.texts]
        for text in texts:
            found = here.find(text, place)
            if found < 0:
                return 0
            place = found + len(text)
        return sum(map(len, texts))


def _marked(text: bytes) -> bytes:
    """``text`` without spaces, marks that lines start with, and what is not ASCII (boxes are made of it)."""
    return _LINE_START.sub(b"", text).translate(None, b" \t\r\n?")


def last_whole(pasted: Pasted, sentence: Sentence) -> Hit | None:
    """The last place where the whole of ``sentence`` stands.

    Its longest part is looked for, then the others around it, each where it is nearest.
    """
    longest = max(range(len(sentence.parts)), key=lambda i: len(sentence.parts[i].letters))
    letters = sentence.parts[longest].letters
    end = len(pasted.squeezed)
    for _ in range(_MAX_TRIES):
        at = pasted.squeezed.rfind(letters, 0, end)
        if at < 0:
            return None
        spans = _around(pasted, sentence.parts, longest, at)
        if spans is not None:
            hit = Hit(sentence, spans[0][0], spans[-1][1])
            if not sentence.is_weak or (_values_are_short(pasted, spans) and _is_meant(pasted, hit)):
                return hit
        end = at + len(letters) - 1
    return None


def _around(pasted: Pasted, parts: tuple[Part, ...], longest: int, at: int) -> list[tuple[int, int]] | None:
    """Where in the text the parts stand, the longest of them at ``squeezed[at]``; None if one does not."""
    if not _stands_at(pasted, parts[longest], at):
        return None
    places = [at]
    for part in reversed(parts[:longest]):
        place = _find(pasted, part, places[0], forwards=False)
        if place is None:
            return None
        places.insert(0, place)
    for before, part in zip(parts[longest:], parts[longest + 1 :], strict=False):
        place = _find(pasted, part, places[-1] + len(before.letters), forwards=True)
        if place is None:
            return None
        places.append(place)
    return [_span(pasted, part, place) for part, place in zip(parts, places, strict=True)]


def _find(pasted: Pasted, part: Part, edge: int, *, forwards: bool) -> int | None:
    """Where ``part`` stands nearest to ``squeezed[edge]``, with no more than a value in between."""
    reach = MAX_VALUE + len(part.letters)
    low, high = (edge, edge + reach) if forwards else (max(0, edge - reach), edge)
    for _ in range(_MAX_TRIES):
        search = pasted.squeezed.find if forwards else pasted.squeezed.rfind
        place = search(part.letters, low, high)
        if place < 0 or _stands_at(pasted, part, place):
            return None if place < 0 else place
        low, high = (place + 1, high) if forwards else (low, place + len(part.letters) - 1)
    return None


def _span(pasted: Pasted, part: Part, place: int) -> tuple[int, int]:
    return pasted.position(place), pasted.position(place + len(part.letters) - 1) + 1


def _stands_at(pasted: Pasted, part: Part, place: int) -> bool:
    """Whether the letters of ``part`` at ``squeezed[place]`` are whole words where they have to be."""
    start, stop = _span(pasted, part, place)
    return (not part.opens_word or pasted.opens_word(start)) and (
        not part.closes_word or pasted.closes_word(stop)
    )


def _values_are_short(pasted: Pasted, spans: list[tuple[int, int]]) -> bool:
    """Whether each value between the parts is at most one word, or something in brackets or quotes."""
    for (_, start), (stop, _) in pairwise(spans):
        if stop - start > _MAX_SHORT_VALUE:
            return False
        value = _LINE_END.sub(b"", pasted.clean[start:stop]).strip()
        if len(value.split()) > 1 and value[:1] not in (b"<", b"(", b"[", b"{", b"'", b'"', b"`"):
            return False
    return True


def _is_meant(pasted: Pasted, hit: Hit) -> bool:
    """Whether a sentence of few words, that could be about anything, is JAX's.

    It is if it stands alone on its line, or if the text names the file that says it.
    """
    where = hit.sentence.upstream.where
    if any(pasted.names(place.module.replace(".", "/") + ".py") for place in where):
        return True
    before, after = pasted.line_before(hit.start), pasted.line_after(hit.stop)
    if hit.sentence.begins_in_value:
        before = _LAST_WORD.sub(b"", before)
    is_last = hit.sentence.ends_in_value or not any(map(str.isalnum, after.decode("ascii")))
    return is_last and bool(_BEFORE_MESSAGE.fullmatch(before))
