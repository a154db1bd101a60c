from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import invoke


def _made(path: Path, *args: object) -> Path:
    result = invoke("synth", "-o", path, *args)
    assert result.exit_code == 0, result.stderr
    path.with_suffix(".truth.json").unlink()
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A small sound launch in one file, alone in its folder."""
    return _made(tmp_path / "good.npz", "--grid", 4)


@pytest.fixture
def big(tmp_path: Path) -> Path:
    """A launch whose trace is larger than any pipe's buffer."""
    return _made(tmp_path / "big.npz", "--grid", 64, "--iterations", 100)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A launch in which one track overflowed into the next."""
    return _made(tmp_path / "broken.npz", "--grid", 4, "--fault", "overfull-track")
