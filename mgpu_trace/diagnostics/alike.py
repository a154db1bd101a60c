"""What is not a whole sentence: a piece of one, cut off or with an ellipsis in it, or nearly one.

Only whole messages count, each a line or the end of the text. So nothing is found in prose that has
words in common with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from mgpu_trace.diagnostics.pasted import Pasted, squeeze
from mgpu_trace.diagnostics.sentences import Sentence, is_weak, telling

__all__ = ["Alike", "alike"]

# Characters from the end of the text: much more than the longest sentence, its values and a box around
# them, and so little that a log of short lines takes no long time.
_MAX_TEXT: Final = 1 << 13
# Words of a message: twice those of the longest sentence, so that values have room.
_MAX_WORDS: Final = 120
# Below the 0.8 of a whole sentence that Python says about anything.
_BEST_SCORE: Final = 0.75
# The share of letters that a mistyped sentence has at least in common with the right one: two wrong ones in
# the shortest leave 0.87. Others' sentences come near 0.8 ("tile size is not a multiple of the warp size").
_NEARLY: Final = 0.85

_KIND: Final = re.compile(rb".*(?:error|exception|warning)[^a-z0-9\n]+")
_WORD: Final = re.compile(rb"[a-z0-9]+|\.\.\.|\?")


@dataclass(frozen=True, slots=True)
class Alike:
    """A sentence that ``text[start:stop]`` is like; ``score`` is at most 0.75."""

    sentence: Sentence
    score: float
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a message; ``text`` is empty for an ellipsis.

    ``goes_on``: it may belong to the same value as the word before it.
    """

    text: str
    goes_on: bool


@dataclass(frozen=True, slots=True)
class _Message:
    """A message at ``text[start:stop]``, and its words."""

    start: int
    stop: int
    words: list[_Word]


def alike(pasted: Pasted, sentences: Sequence[Sentence]) -> list[Alike]:
    """The sentences of which a message is a piece, or else is nearly one; best first."""
    spans = list(dict.fromkeys(_messages(pasted)))[::-1]  # of two alike, the one said last
    messages = [_Message(*span, words) for span in spans if (words := _words(pasted, *span))]
    found = [a for message in messages for a in _pieces(message, sentences)]
    if not found:
        found = [a for message in messages for a in _nearly(pasted, message, sentences)]
    return sorted(found, key=lambda a: -a.score)


def _messages(pasted: Pasted) -> Iterator[tuple[int, int]]:
    """Where messages stand, after the kind of the error: each line, and all from the last such kind on."""
    end = len(pasted.clean)
    start = last = max(0, end - _MAX_TEXT)
    for line in pasted.clean[start:].splitlines(keepends=True):
        kind = _KIND.match(line)
        if kind:
            last = start + kind.end()
        yield (last if kind else start), start + len(line)
        start += len(line)
    yield last, end


def _words(pasted: Pasted, start: int, stop: int) -> list[_Word]:
    """The words of a message; none if they are too few or too many to be of a sentence."""
    words: list[_Word] = []
    for found in _WORD.finditer(pasted.clean, start, stop):
        gap, start = pasted.clean[start : found.start()], found.end()
        if found[0].isalnum():
            words.append(_Word(found[0].decode(), b"," in gap or not re.search(rb"\s", gap)))
        elif found[0] == b"..." or pasted.text[found.start()] == "…":
            words.append(_Word("", goes_on=False))
    is_it = len(words) <= _MAX_WORDS and not is_weak(telling(word.text for word in words))
    return words if is_it else []


def _pieces(message: _Message, sentences: Sequence[Sentence]) -> Iterator[Alike]:
    """The sentences that the message is a piece of, with enough of their words to tell what it is about."""
    told = telling(word.text for word in message.words)
    for sentence in sentences:
        if not is_weak(told & sentence.telling):
            own = _own_words(message.words, sentence.words)
            if not is_weak(telling(own)):
                share = len("".join(own)) / sentence.n_letters
                yield Alike(sentence, round(_BEST_SCORE * min(share, 1), 2), message.start, message.stop)


def _own_words(words: list[_Word], said: tuple[str | None, ...]) -> tuple[str, ...]:
    """The words of ``said`` that ``words`` has, if it is a piece of it, from anywhere on; else none.

    ``said`` has None for a value, which is nothing, or words that belong together. ``at`` has the places
    in it that the words so far lead to, and the words found on the way, most of them if there are several.
    """
    said = (*said, "")
    at: dict[int, tuple[str, ...]] = dict.fromkeys(range(len(said)), ())
    in_value: dict[int, tuple[str, ...]] = {}
    for n, word in enumerate(words):
        for i, own in in_value.items():
            _keep(at, i + 1, own)
        if not at:
            return ()
        for i in range(min(at), len(said) - 1):
            if i in at and (said[i] is None or not word.text):  # a value may be missing; "..." is anything
                _keep(at, i + 1, at[i])
        if not word.text:
            in_value = {}
            continue
        in_value = in_value if word.goes_on else {}
        cut_before, cut_after = (not words[m : m + 1] or not words[m].text for m in (n - 1, n + 1))
        reached: dict[int, tuple[str, ...]] = {}
        for i, own in at.items():
            wanted = said[i]
            if wanted is None:
                _keep(in_value, i, own)
            elif wanted == word.text:
                _keep(reached, i + 1, (*own, wanted))
            elif (cut_before and wanted.endswith(word.text)) or (cut_after and wanted.startswith(word.text)):
                _keep(reached, i + 1, own)
        at = reached
    return max([*at.values(), *in_value.values()], key=len, default=())


def _keep(places: dict[int, tuple[str, ...]], i: int, own: tuple[str, ...]) -> None:
    if i not in places or len(own) > len(places[i]):
        places[i] = own


def _nearly(pasted: Pasted, message: _Message, sentences: Sequence[Sentence]) -> Iterator[Alike]:
    """The sentences that the message is but for a few letters; not weak ones, nor what others say too."""
    compared = SequenceMatcher[str](autojunk=False)
    compared.set_seq2(squeeze(pasted.clean[message.start : message.stop].decode()).decode())
    bounds = (compared.real_quick_ratio, compared.quick_ratio, compared.ratio)  # the quick ones first
    for sentence in sentences:
        if not sentence.is_weak and not sentence.is_general:
            compared.set_seq1(b"".join(part.letters for part in sentence.parts).decode())
            if all(bound() >= _NEARLY for bound in bounds):
                score = round(_BEST_SCORE * compared.ratio(), 2)
                yield Alike(sentence, score, message.start, message.stop)
