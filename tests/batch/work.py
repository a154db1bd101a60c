"""Work for workers: a module of its own, which they can import."""

import os
import signal
import time
from pathlib import Path

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue


def slow_square(item):
    """Later items are finished first."""
    n, seconds = item
    time.sleep(seconds)
    return n * n


def odd_ones_fail(n):
    if n % 2:
        raise MgpuTraceError(Diagnostic(catalogue.CANNOT_WRITE, f"no {n}"))
    return n


def killed_on(item):
    n, culprit = item
    if n == culprit:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def killed_once(item):
    """Dies the first time that anybody comes by."""
    n, mark = item
    if n == 3 and not Path(mark).exists():
        Path(mark).write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def process(_):
    return os.getpid()


def breaks(_):
    raise ZeroDivisionError("a fault of ours")
