"""Words inside sentences and tables: numbers with their noun, and names that may be a megabyte long."""

from __future__ import annotations

from typing import Final

MAX_SAID: Final = 100


def clipped(text: str, most: int = MAX_SAID) -> str:
    """``text``, cut with an ellipsis where it is longer than ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def counted(n: int, noun: str) -> str:
    """``n`` and ``noun`` in the right number: ``1 track``, ``2 tracks``, ``2 launches``."""
    if n == 1:
        return f"{n} {noun}"
    return f"{n} {noun}{'es' if noun.endswith(('s', 'ch')) else 's'}"
