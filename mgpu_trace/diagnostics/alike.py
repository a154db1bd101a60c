"""What is nearly a sentence: one that was cut off, mistyped, or remembered with a word missing.

Words of the text are aligned with words of each sentence (Smith and Waterman's local alignment), only
at the end of a long text and only where enough words of the sentence are near each other.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from mgpu_trace.diagnostics.pasted import Pasted
from mgpu_trace.diagnostics.sentences import Sentence, Word, weight_of

__all__ = ["Alike", "alike"]

_MAX_TEXT: Final = 1 << 16  # characters from the end of the text that are looked at
_MAX_TOKENS: Final = 80  # a text of so many words is looked at as a whole, so that all may be mistyped
_MAX_HITS: Final = 2000  # words of one sentence that are looked at
_MAX_WINDOWS: Final = 30  # places where one sentence is tried
_MAX_FOUND: Final = 5
_WORD: Final = re.compile(rb"[a-z0-9]+")
# Between two words: here a message may have begun or been cut off.
_EDGE: Final = re.compile(rb"[\n\"'|?]|: |\.\.\.")

_MOST: Final = 0.75  # the score of a sentence that is all there but for its marks
_EXTRA_WORD: Final = 0.5  # what a word too many costs, of its weight
_MISSING_WORD: Final = 0.25  # a word that is missing lacks its weight anyway
_MISTYPED: Final = 0.8  # what is left of the weight of a word
_SURE: Final = 0.7  # a sentence with so much of its weight found, a little less of a long one ...
_SURE_IF_LONG: Final = 0.6
_HALF: Final = 0.5  # ... or a piece of one with so much, in which no more is wrong than ...
_SOUND: Final = 0.9
_LONG_PIECE: Final = 4  # a piece with so many telling words is enough


@dataclass(frozen=True, slots=True)
class Alike:
    """A sentence that ``text[start:stop]`` is like; ``score`` is at most 0.75."""

    sentence: Sentence
    score: float
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    stop: int
    after_edge: bool
    before_edge: bool


@dataclass(frozen=True, slots=True)
class _Cell:
    """The best alignment that ends here: its score and where it began."""

    score: float
    token: int
    word: int
    n_telling: int


def alike(pasted: Pasted, sentences: Sequence[Sentence]) -> tuple[Alike, ...]:
    """The sentences that some place of the text is like, best first, one for each code."""
    tokens = _tokens(pasted)
    places: dict[str, list[int]] = {}
    for i, token in enumerate(tokens):
        places.setdefault(token.text, []).append(i)
    best: dict[str, Alike] = {}
    for sentence in sentences:
        for low, high in _windows(sentence, tokens, places):
            found = _aligned(sentence, tokens[low:high])
            known = best.get(sentence.code.id)
            if found is not None and (known is None or found.score > known.score):
                best[sentence.code.id] = found
    ranked = sorted(best.values(), key=lambda a: (-a.score, -a.stop))[:_MAX_FOUND]
    return tuple(a for a in ranked if a.score >= 0.75 * ranked[0].score)


def _tokens(pasted: Pasted) -> list[_Token]:
    first = max(0, len(pasted.clean) - _MAX_TEXT)
    spans = [found.span() for found in _WORD.finditer(pasted.clean, first)]
    bounds = zip(
        [first, *(stop for _, stop in spans)], [*(s for s, _ in spans), len(pasted.clean)], strict=True
    )
    edges = [bool(_EDGE.search(pasted.clean, stop, start)) for stop, start in bounds]
    if edges:
        edges[0] = edges[-1] = True
    return [
        _Token(pasted.clean[start:stop].decode(), start, stop, edges[i], edges[i + 1])
        for i, (start, stop) in enumerate(spans)
    ]


def _windows(
    sentence: Sentence, tokens: list[_Token], places: dict[str, list[int]]
) -> Iterator[tuple[int, int]]:
    """Where enough telling words of the sentence stand near each other, from the end."""
    if len(tokens) <= _MAX_TOKENS:
        yield 0, len(tokens)
        return
    telling = {word.text: word.weight for word in sentence.words if not word.is_common}
    hits = sorted(i for word in telling for i in places.get(word, ()))[-_MAX_HITS:]
    span, enough = 2 * len(sentence.words) + 10, 0.4 * sum(telling.values())
    n_windows, last = 0, len(hits)
    while last > 0 and n_windows < _MAX_WINDOWS:
        high = hits[last - 1]
        first = bisect_left(hits, high - span)
        near = {tokens[i].text for i in hits[first:last]}
        if len(near) >= _LONG_PIECE or sum(telling[word] for word in near) >= enough:
            yield max(0, hits[first] - 5), high + 6
            n_windows, last = n_windows + 1, first
        else:
            last -= 1


def _aligned(sentence: Sentence, tokens: list[_Token]) -> Alike | None:
    """The best alignment of ``tokens`` with the sentence, if it is good enough."""
    words = sentence.words
    row: list[_Cell | None] = [None] * len(words)
    best, last = _Cell(0.0, 0, 0, 0), (0, 0)
    for i, token in enumerate(tokens):
        above, row = row, []
        extra = _EXTRA_WORD * weight_of(token.text)
        for j, word in enumerate(words):
            in_value = j + 1 < len(words) and words[j + 1].after_value
            cell = _less(above[j], 0.02 if in_value else extra)
            cell = _better(cell, _less(row[j - 1] if j else None, _MISSING_WORD * word.weight))
            gain = _likeness(token, word)
            if gain > 0:
                before = (above[j - 1] if j else None) or _Cell(0.0, i, j, 0)
                n_telling = before.n_telling + (not word.is_common)
                cell = _better(_Cell(before.score + gain, before.token, before.word, n_telling), cell)
                if cell is not None and cell.score > best.score:
                    best, last = cell, (i, j)
            row.append(cell)
    return _judged(sentence, tokens, best, last) if best.score else None


def _judged(sentence: Sentence, tokens: list[_Token], cell: _Cell, last: tuple[int, int]) -> Alike | None:
    """The alignment as a finding; None where it is too little, or reads on as something else.

    What is missing at an end was cut off if the text has an edge there; else another word stands in
    its place, and that counts against it.
    """
    words, score = sentence.words, cell.score
    first_token, last_token = tokens[cell.token], tokens[last[0]]
    piece = words[cell.word : last[1] + 1]
    whole_before, whole_after = cell.word == 0, last[1] + 1 == len(words)
    alone = (whole_before or first_token.after_edge) and (whole_after or last_token.before_edge)
    if not whole_before and not first_token.after_edge:
        score -= _EXTRA_WORD * words[cell.word - 1].weight
    if not whole_after and not last_token.before_edge:
        score -= _EXTRA_WORD * words[last[1] + 1].weight
    share = score / sum(word.weight for word in words)
    cut = sum(_cut_off(t, w) for t, w in {(first_token, piece[0]), (last_token, piece[-1])})
    is_sound = alone and score >= _SOUND * (sum(word.weight for word in piece) - cut)
    if sentence.is_weak:
        starts = first_token.after_edge and (last_token.before_edge or sentence.ends_in_value)
        is_it = starts and is_sound and cell.n_telling >= 2 and share >= _SOUND
    elif cell.n_telling >= 3 and share >= (_SURE_IF_LONG if cell.n_telling >= _LONG_PIECE else _SURE):
        is_it = True
    else:
        is_it = is_sound and (cell.n_telling >= _LONG_PIECE or (cell.n_telling >= 2 and share >= _HALF))
    if not is_it:
        return None
    return Alike(sentence, round(_MOST * min(share, 1.0), 2), first_token.start, last_token.stop)


def _likeness(token: _Token, word: Word) -> float:
    """How much of the weight of ``word`` is found in ``token``; 0 if they are different words."""
    if token.text == word.text:
        return word.weight
    if cut := _cut_off(token, word):
        return word.weight - cut
    return word.weight * _MISTYPED if _is_mistyped(token.text, word.text) else 0.0


def _cut_off(token: _Token, word: Word) -> float:
    """How much of the weight of ``word`` was cut off, where ``token`` is a piece of it at an edge."""
    if len(token.text) >= len(word.text):
        return 0.0
    begins = token.before_edge and word.text.startswith(token.text)
    ends = token.after_edge and word.text.endswith(token.text)
    return word.weight * (1 - len(token.text) / len(word.text)) if begins or ends else 0.0


@lru_cache(maxsize=1 << 14)
def _is_mistyped(typed: str, word: str) -> bool:
    if min(len(typed), len(word)) < 4 or abs(len(typed) - len(word)) > 2:
        return False
    return SequenceMatcher(None, typed, word, autojunk=False).ratio() >= 0.75


def _less(cell: _Cell | None, cost: float) -> _Cell | None:
    """``cell`` at a cost; None where nothing would be left, so that an alignment begins anew."""
    if cell is None or cell.score <= cost:
        return None
    return _Cell(cell.score - cost, cell.token, cell.word, cell.n_telling)


def _better(cell: _Cell | None, other: _Cell | None) -> _Cell | None:
    if cell is None or (other is not None and other.score > cell.score):
        return other
    return cell
