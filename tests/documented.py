"""The JSON schemas of the documentation."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
from cli_support import ROOT


def schema(title: str) -> Any:
    """The schema of that title; a fault in it is one of the documentation."""
    pages = [
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("cli.md", "analysis.md", "tables.md")
    ]
    blocks = re.findall(r"^```json\n(.*?)^```$", "\n".join(pages), re.MULTILINE | re.DOTALL)
    schemas = [json.loads(block) for block in blocks]
    found = next(s for s in schemas if s["title"] == title)
    jsonschema.Draft202012Validator.check_schema(found)
    return found
