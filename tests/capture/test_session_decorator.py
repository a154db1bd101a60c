"""What the decorator refuses: a body that runs when the call is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mgpu_trace


def test_functions_whose_body_runs_later_are_refused(tmp_path: Path) -> None:
    session = mgpu_trace.capture(tmp_path)

    async def later() -> None: ...

    def lazily() -> Iterator[int]:
        yield 1

    for function in (later, lazily):
        with pytest.raises(TypeError, match="inside"):
            session(function)
