"""Write docs/codes.md from the catalogue; with --check, only say whether it is up to date.

python docs/generate.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.diagnostics.explain import Place, Upstream, explanation_of
from mgpu_trace.diagnostics.sentences import versions_of

PAGE = Path(__file__).parent / "codes.md"

HEAD = """\
# Codes

Everything that `mgpu-trace` can find wrong. `mgpu-trace explain CODE` prints the same words. Only errors
change the exit status; a code is never renumbered or reused.

<!-- Made by docs/generate.py from mgpu_trace/diagnostics (catalogue and explanations); edit it there. -->
"""

GROUPS = {
    "1": "The file",
    "2": "The spec, the size and the launch",
    "3": "Headers of tracks",
    "4": "Events and nesting",
    "5": "Clocks",
    "6": "Output",
    "7": "Capture",
    "8": "What only JAX says",
    "9": "Our own bugs",
}


def page() -> str:
    """The whole page."""
    parts = [HEAD, _overview()]
    for digit, title in GROUPS.items():
        codes = [c for c in catalogue.ALL if c.id[3] == digit]
        if codes:
            parts += [f"## {title}\n", *map(_section, codes)]
    return "\n".join(parts)


def _overview() -> str:
    rows = [f"| [{c.id}](#{_anchor(c)}) | {c.severity.label} | {c.summary} |" for c in catalogue.ALL]
    return "\n".join(["| code | severity | |", "|---|---|---|", *rows, ""])


def _anchor(code: Code) -> str:
    return f"{code.id} {code.slug}".lower().replace(" ", "-")


def _section(code: Code) -> str:
    told = explanation_of(code)
    parts = [
        f"### {code.id} {code.slug}",
        f"*{code.severity.label}*: {code.summary}",
        f"**What it means.** {_prose(told.means)}",
        f"**When it happens.** {_prose(told.when)}",
        "**Common situations.**",
        "\n".join(f"- {_prose(text)}" for text in told.situations),
        f"**Why it matters.** {_prose(told.matters)}",
        f"**What to do.** {_prose(told.todo)}",
        f"Before:\n\n```text\n{told.before}\n```",
        f"After:\n\n```text\n{told.after}\n```",
    ]
    if told.upstream:
        parts += ["**What JAX or Python says.**", "\n".join(map(_said, told.upstream))]
    if told.related:
        parts.append(f"Related: {', '.join(map(_link, told.related))}")
    return "\n\n".join(parts) + "\n"


def _said(said: Upstream) -> str:
    places = [f"  - `{p.module}`, `{p.function}`{_versions(p)}" for p in said.where]
    return "\n".join([f"- {_quoted(f'{said.raises}: {said.sentence}')}", *places])


def _versions(place: Place) -> str:
    versions = versions_of(place)
    return f": {versions}" if versions else ""


def _quoted(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _prose(text: str) -> str:
    """``text`` with what Markdown would read as something else escaped."""
    return re.sub(r"[\\`*<\[]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)


def _link(key: str) -> str:
    code = catalogue.find(key)
    assert code is not None, key
    return f"[{code.id} {code.slug}](#{_anchor(code)})"


def main() -> int:
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        sys.stderr.write("docs/codes.md is stale: run python docs/generate.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
