"""``mgpu-trace open`` as a process of its own, with a browser that only fetches."""

from __future__ import annotations

import gzip
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli_support import FIXTURES, command, environment, process
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

GEMM = FIXTURES / "golden" / "hopper_gemm.npy"
BROWSER = Path(__file__).parent / "browser_that_fetches.py"
OTHER_PORT = "warning[MGT615]"

JSON = b'{"traceEvents":[{"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"a"}]}\n'


def packets(n: int = 200, name: str = "SM") -> bytes:
    trace = Trace()
    for i in range(n):
        packet = trace.packet.add()
        packet.trusted_packet_sequence_id = 1
        packet.track_descriptor.uuid = i + 1
        packet.track_descriptor.name = name
    return bytes(trace.SerializeToString())


MADE = {"a.json": JSON, "b.json.gz": gzip.compress(JSON), "c.pftrace": packets()}


def with_browser(got: Path, **more: str) -> dict[str, str]:
    words = [sys.executable, str(BROWSER), "%s", str(got)]
    return environment(BROWSER=shlex.join(words).replace("'%s'", "%s"), **more)


def open_(*args: object, **kwargs: Any) -> subprocess.CompletedProcess[bytes]:
    """On any free port: 9001 may be taken on the machine of whoever runs the tests."""
    return process("open", "--port", 0, "--timeout", 60, *args, **kwargs)


def traces_in(got: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in got.iterdir() if path.suffix != ".facts"}


def findings(stderr: bytes) -> list[str]:
    return [line[: line.index("]") + 1] for line in stderr.decode().splitlines() if "[MGT" in line[:15]]


def heed_signals() -> None:
    """What the tests were started with (nohup, a background job) may ignore signals: the child must not."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def serving(
    *args: object, viewer: str = "https://ui.perfetto.dev/", **more: str
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process while it serves, and the URL of the trace."""
    run = command("open", "--port", 0, "--print-url", "--timeout", 60, *args)
    with subprocess.Popen(
        run,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        preexec_fn=heed_signals,
    ) as child:
        try:
            assert child.stdout is not None
            page = child.stdout.readline().decode().strip()
            assert page.startswith(viewer)
            yield child, page.partition("url=")[2]
        finally:
            child.kill()
