from __future__ import annotations

import runpy

from cli_support import ROOT

from mgpu_trace.diagnostics import catalogue


def test_the_page_of_codes_is_what_the_catalogue_says() -> None:
    generator = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    page = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    assert page == generator["page"](), "run: python docs/generate.py"


def test_every_code_has_its_section_and_its_link() -> None:
    page = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    for code in catalogue.ALL:
        assert page.count(f"### {code.id} {code.slug}\n") == 1
        assert page.count(f"\n| [{code.id}](#{code.id.lower()}-{code.slug}) |") == 1
