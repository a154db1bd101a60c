"""Where a browser leaves what it got."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def got(tmp_path: Path) -> Path:
    """The folder in which the browser leaves what it got."""
    folder = tmp_path / "got"
    folder.mkdir()
    return folder
