"""Names as JSON strings that every Perfetto version loads (docs/perfetto.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

EMPTY_NAME: Final = "(empty name)"

# JSON must escape the quote, the backslash and the control characters (DEL is none of them, but a
# raw one in the metadata fails the whole file in Perfetto v52); everything else is written as raw
# UTF-8, because an escaped surrogate pair fails the whole file in v53 to v58.
_ESCAPES: Final = {i: f"\\u{i:04x}" for i in (*range(32), 0x7F)} | {0x22: '\\"', 0x5C: "\\\\"}


def json_string(text: str) -> bytes:
    r"""``text`` as a JSON string in UTF-8, quotes included.

    Lone surrogates are not text and become U+FFFD. A string that ends in a backslash fails the whole
    file in Perfetto v52, so that last one is written as ``\u005c``.
    """
    body = text.translate(_ESCAPES)
    if text.endswith("\\"):
        body = body[:-2] + "\\u005c"
    try:
        return b'"' + body.encode() + b'"'
    except UnicodeEncodeError:
        clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in body)
        return b'"' + clean.encode() + b'"'


def shown_name(name: str) -> str:
    """What a viewer is given for a region's name: never empty."""
    return name or EMPTY_NAME


def is_altered(name: str) -> bool:
    """Whether a name cannot be written as it is."""
    try:
        return not name.encode()  # at once: a name may be a megabyte long
    except UnicodeEncodeError:
        return True


def json_bytes(value: Any) -> bytes:
    """JSON with the strings of :func:`json_string`, which ``json.dumps`` cannot be told to write."""
    if isinstance(value, str):
        return json_string(value)
    if isinstance(value, Mapping):
        return b"{" + b",".join(json_string(str(k)) + b":" + json_bytes(v) for k, v in value.items()) + b"}"
    if isinstance(value, list | tuple):
        return b"[" + b",".join(map(json_bytes, value)) + b"]"
    return json.dumps(value, allow_nan=False).encode()
