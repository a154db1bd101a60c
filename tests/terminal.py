"""What a person sees on a terminal, and JSON that is one in any language."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from typing import Any

from cli_support import command, environment


def strict(text: str) -> Any:
    """Parsed JSON, without the NaN and Infinity that Python would take."""

    def refused(name: str) -> None:
        raise AssertionError(name)

    return json.loads(text, parse_constant=refused)


def on_terminal(columns: int, *args: object) -> tuple[list[str], int]:
    """The lines on a terminal of that many columns, without their styles, and the exit status."""
    leader, follower = pty.openpty()
    try:
        with subprocess.Popen(
            command(*args),
            env=environment(COLUMNS=str(columns), TERM="xterm"),
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=subprocess.DEVNULL,
        ) as child:
            os.close(follower)
            shown = b"".join(iter(lambda: _read(leader), b""))
            status = child.wait()
    finally:
        os.close(leader)
    text = shown.decode().replace("\r\n", "\n")
    return re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines(), status


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # the other end is closed
        return b""
