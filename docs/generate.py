"""Write docs/codes.md from the catalogue; with --check, only say whether it is up to date.

python docs/generate.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

from mgpu_trace.diagnostics import Code, catalogue
from mgpu_trace.diagnostics.explain import explanation_of

PAGE = Path(__file__).parent / "codes.md"

HEAD = """\
# Codes

Everything that `mgpu-trace` can find wrong. `mgpu-trace explain CODE` prints the same words. Only errors
change the exit status; a code is never renumbered or reused.

<!-- Made by docs/generate.py from mgpu_trace/diagnostics/catalogue; edit it there. -->
"""

GROUPS = {
    "1": "The file",
    "2": "The spec, the size and the launch",
    "3": "Headers of tracks",
    "4": "Events and nesting",
    "5": "Clocks",
    "6": "Output",
    "7": "Capture",
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
    return (
        f"### {code.id} {code.slug}\n\n"
        f"*{code.severity.label}*: {code.summary}\n\n"
        f"**What it means.** {told.means}\n\n"
        f"**Why it matters.** {told.matters}\n\n"
        f"**What to do.** {told.todo}\n"
    )


def main() -> int:
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        sys.stderr.write("docs/codes.md is stale: run python docs/generate.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
