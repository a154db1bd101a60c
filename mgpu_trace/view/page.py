"""A trace, or another file, under the name that its URL has."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Container
from pathlib import PurePath
from typing import BinaryIO, Final

CONTENT_TYPES: Final = {
    ".css": "text/css",
    ".gz": "application/gzip",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".json": "application/json",
    ".pftrace": "application/octet-stream",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}
_MOST_CHARS: Final = 80


class Page:
    """What is served under one name.

    Parameters
    ----------
    name
        Its name in the URL, with a suffix of :data:`CONTENT_TYPES`.
    file
        Its content, from the first byte to the last; read from several threads.
    """

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name = name
        self.content_type = CONTENT_TYPES[PurePath(name).suffix]
        self.n_bytes = file.seek(0, os.SEEK_END)
        self._file = file
        self._lock = threading.Lock()

    @property
    def path(self) -> str:
        return f"/{self.name}"

    def read(self, offset: int, n_bytes: int) -> bytes:
        """At most ``n_bytes`` from ``offset``; nothing where the file has become shorter."""
        with self._lock:
            self._file.seek(offset)
            return self._file.read(n_bytes)


def page_name(file: str, suffix: str, taken: Container[str] = ()) -> str:
    """A name for the URL that tells which ``file`` it was, and is none of those ``taken``.

    What a URL would have to quote becomes ``_``: to refuse every other path is then a comparison.
    """
    base = "stdin" if file == "-" else PurePath(file).name
    stem = base[: -len(suffix)] if base.lower().endswith(suffix) else PurePath(base).stem
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", stem)[:_MOST_CHARS].strip("._-") or "trace"
    name, n = plain + suffix, 1
    while name in taken:
        n += 1
        name = f"{plain}-{n}{suffix}"
    return name
