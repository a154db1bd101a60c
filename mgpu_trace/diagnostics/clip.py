"""Text from files inside sentences and tables: a name may be a megabyte long."""

from __future__ import annotations

from typing import Final

MAX_SAID: Final = 100


def clipped(text: str, most: int = MAX_SAID) -> str:
    """``text``, cut with an ellipsis where it is longer than ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
