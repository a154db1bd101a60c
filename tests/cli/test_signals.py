"""A request to end leaves nothing half written."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from cli_support import command, environment

# Waits in the middle of writing until it is told to end.
SLOW = """
import sys, time
import mgpu_trace.export.chrome as chrome
from mgpu_trace_cli.main import main
write = chrome.write_chrome
def slow(source, sink, options):
    found = write(source, sink, options)
    print("writing", file=sys.stderr, flush=True)
    time.sleep(60)
    return found
chrome.write_chrome = slow
main()
"""


def _heed_signals() -> None:
    """What the tests were started with (nohup, a background job) may ignore signals: the child must not."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_ending_leaves_nothing_half_written(
    good: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    run = [command()[0], "-P", "-c", SLOW, "dump", str(good), "-o", str(tmp_path / "out.json")]
    with subprocess.Popen(
        run, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, preexec_fn=_heed_signals
    ) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == b"writing\n"
            process.send_signal(number)
            said = process.communicate(timeout=30)[1]
        finally:
            process.kill()
    assert process.returncode == status
    assert said == b""
    assert os.listdir(tmp_path) == ["good.npz"]


def test_what_is_ignored_stays_ignored(good: Path, tmp_path: Path) -> None:
    """As nohup does it."""
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    sent = SLOW.replace("time.sleep(60)", "import os, signal; os.kill(os.getpid(), signal.SIGHUP)")
    run = [command()[0], "-P", "-c", ignoring + sent, "dump", str(good), "-o", str(tmp_path / "out.json")]
    done = subprocess.run(run, env=environment(), capture_output=True, timeout=60)
    assert done.returncode == 0
    assert (tmp_path / "out.json").exists()
