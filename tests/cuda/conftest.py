from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cuda.tools import SHIM, gxx, tool

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@pytest.fixture(scope="session")
def run_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that runs scripts over the shim, with the sanitizers where the compiler has them."""
    folder = tmp_path_factory.mktemp("shim")
    (folder / "empty.cpp").write_text("int main() {}\n")
    probe = [tool("g++"), *SANITIZERS, folder / "empty.cpp", "-o", folder / "empty"]
    has = subprocess.run(probe, capture_output=True).returncode == 0
    return gxx(SHIM / "run_script.cpp", folder / "run_script", *(SANITIZERS if has else ()))
