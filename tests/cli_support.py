"""Running the command line in tests: in this process, and as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from mgpu_trace_cli.main import main

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"


def invoke(*args: object, **kwargs: Any) -> Result:
    """Run a command in this process; standard output and error apart."""
    return CliRunner().invoke(main, [str(a) for a in args], **kwargs)


def environment(**more: str) -> dict[str, str]:
    """An environment in which a new Python imports what this one does."""
    path = os.pathsep.join(p for p in sys.path if p)
    return {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "error", **more}


def command(*args: object) -> list[str]:
    """The command line as a process: -P keeps the current folder off its path."""
    return [sys.executable, "-P", "-m", "mgpu_trace_cli", *map(str, args)]


def process(*args: object, **kwargs: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command as a process of its own, with its output captured unless told otherwise."""
    kwargs.setdefault("env", environment())
    kwargs.setdefault("stdout", subprocess.PIPE)
    kwargs.setdefault("stderr", subprocess.PIPE)
    return subprocess.run(command(*args), timeout=120, **kwargs)


def is_one_error(stderr: str | bytes, code: str) -> bool:
    """Whether ``stderr`` is one ``error[CODE]`` line and the line that says where more is told."""
    text = stderr.decode() if isinstance(stderr, bytes) else stderr
    lines = text.splitlines()
    return (
        len(lines) == 2
        and lines[0].startswith(f"error[{code}]: ")
        and lines[1] == f"  more: mgpu-trace explain {code}"
    )
