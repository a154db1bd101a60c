"""The JSON schemas of docs/cli.md."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
from cli_support import ROOT


def schema(title: str) -> Any:
    """The schema of that title; a fault in it is one of the documentation."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    schemas = [json.loads(b) for b in re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]
    found = next(s for s in schemas if s["title"] == title)
    jsonschema.Draft202012Validator.check_schema(found)
    return found
