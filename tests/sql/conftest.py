"""Launches for the tests of SQL."""

from __future__ import annotations

import pytest
from cli_support import FIXTURES

from mgpu_trace.pipeline import open_launch
from mgpu_trace.sql.session import Session


@pytest.fixture(scope="module")
def session() -> Session:
    """All golden launches, by the names of their files; unit 0 is called tma."""
    made = Session({0: "tma"})
    for path in sorted((FIXTURES / "golden").glob("*.npy")):
        made.add(open_launch(path), path.name)
    return made
