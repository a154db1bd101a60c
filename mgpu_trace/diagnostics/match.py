"""Which codes a pasted text belongs to: ids, sentences that JAX says, and what comes near them.

A sentence is found by its letters and digits in their order, whatever stands between them, so that
wrapping, quotes, boxes and case do not matter; where a value stands in it, any text may stand
(:mod:`mgpu_trace.diagnostics.whole`). Only where nothing is found so, what is nearly a sentence
counts (:mod:`mgpu_trace.diagnostics.alike`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.diagnostics.alike import alike
from mgpu_trace.diagnostics.clip import clipped
from mgpu_trace.diagnostics.pasted import Pasted
from mgpu_trace.diagnostics.sentences import known_sentences
from mgpu_trace.diagnostics.whole import Hit, last_whole

__all__ = ["Match", "matches"]

_MAX_SAID: Final = 200
_IDS: Final = re.compile(rb"(?<![a-z0-9_])mgt\d{3}(?![a-z0-9_])")
_NEAR: Final = 2000  # characters before a sentence, in which the frames that raised it stand
_GENERAL: Final = 0.8
_KEY: Final = re.compile(r"[A-Za-z0-9-]{1,99}")


@dataclass(frozen=True, slots=True)
class Match:
    """A code that a text belongs to.

    Attributes
    ----------
    code
        The code.
    score
        1: its id or a whole sentence of JAX's was found. 0.8: a whole sentence, which Python or NumPy
        say about anything, and nothing near it tells of JAX. At most 0.75: something like a sentence.
    sentence
        The sentence, as the catalogue has it; None where the text names the code itself.
    excerpt
        What it was found by, on one line, as it stands in the text.
    """

    code: Code
    score: float
    sentence: str | None
    excerpt: str


def matches(text: str) -> tuple[Match, ...]:
    """The codes that ``text`` belongs to, best first, each once.

    First those whose ids stand in it, in their order. Then those of which a whole sentence stands in
    it, the last one first: in a traceback that is the error that was raised in the end. If there are
    none of either, also those of which part of a sentence, or nearly one, is found.

    Parameters
    ----------
    text
        Anything: an id, a slug, a sentence, a traceback, a log. The time is linear in its size.
    """
    key = text.strip()
    named = catalogue.find(key) if _KEY.fullmatch(key) else None
    if named is not None:
        return (Match(named, 1.0, None, key),)
    pasted = Pasted(text)
    found = [*_by_id(pasted), *_by_sentence(pasted)]
    if not found or found[0].score < 1:
        found += _by_likeness(pasted)
    best: dict[str, Match] = {}
    for match in found:
        best.setdefault(match.code.id, match)
    return tuple(best.values())


def _by_id(pasted: Pasted) -> Iterator[Match]:
    spans: dict[bytes, tuple[int, int]] = {}
    for found in _IDS.finditer(pasted.clean):
        spans.setdefault(found[0], found.span())
    for key, span in spans.items():
        code = catalogue.find(key.decode())
        if code is not None:
            yield Match(code, 1.0, None, pasted.excerpt(*span))


def _by_sentence(pasted: Pasted) -> list[Match]:
    hits = [hit for sentence in known_sentences() if (hit := last_whole(pasted, sentence))]
    whole = [hit for hit in hits if not any(hit.is_part_of(other) for other in hits)]
    # Of two that end at the same place, the one with more marks in common; then the lower code.
    whole.sort(key=lambda hit: (-_score(pasted, hit), -hit.stop, -hit.punctuation(pasted)))
    return [_match(pasted, hit, _score(pasted, hit)) for hit in whole]


def _score(pasted: Pasted, hit: Hit) -> float:
    if not hit.sentence.is_general:
        return 1.0
    near = pasted.clean[max(0, hit.start - _NEAR) : hit.stop]
    return 1.0 if any(word in near for word in (b"mosaic", b"pallas", b"/jax/")) else _GENERAL


def _match(pasted: Pasted, hit: Hit, score: float) -> Match:
    stop = hit.stop
    if hit.sentence.ends_in_value:
        stop += len(pasted.line_after(stop))
    excerpt = clipped(pasted.excerpt(hit.start, stop), _MAX_SAID)
    return Match(hit.sentence.code, score, hit.sentence.upstream.sentence, excerpt)


def _by_likeness(pasted: Pasted) -> Iterator[Match]:
    for found in alike(pasted, known_sentences()):
        excerpt = clipped(pasted.excerpt(found.start, found.stop), _MAX_SAID)
        yield Match(found.sentence.code, found.score, found.sentence.upstream.sentence, excerpt)
