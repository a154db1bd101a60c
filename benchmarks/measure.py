"""How the benchmarks measure: CPU time, the smallest of several runs, rivals in the same run.

CPU time (user and system) of this process or of a child, because wall time on a shared machine says
little; the smallest, because noise only ever adds. Runs of the two rivals alternate, so that a slow
spell hits both.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


def cpu_seconds(runs: int, *functions: Callable[[], object]) -> list[float]:
    """The smallest CPU time of each function over ``runs`` rounds; each round runs all of them.

    What the imports made (a hundred thousand objects, with JAX) is kept out of garbage collection:
    it is no part of what is measured, and would be gone through again and again during it.
    """
    gc.collect()
    gc.freeze()
    best = [float("inf")] * len(functions)
    for _ in range(runs):
        for i, function in enumerate(functions):
            before = time.process_time()
            function()
            best[i] = min(best[i], time.process_time() - before)
    return best


@dataclass(frozen=True)
class Child:
    """What a finished child used."""

    cpu_seconds: float
    peak_bytes: int


# A child's peak memory counts from before it becomes its own program, so a large benchmark process
# would count as its child's. This small one stands in between.
_BETWEEN = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
"""


def run_child(command: Sequence[str]) -> Child:
    """Run a command to its end; its CPU time and peak resident memory, as the kernel counted them."""
    between = [sys.executable, "-c", _BETWEEN, *command]
    said = subprocess.run(between, stdout=subprocess.PIPE, check=True).stdout
    status, cpu_seconds, peak = json.loads(said)
    if status:
        raise RuntimeError(f"exit status {status}: {' '.join(command)}")
    return Child(cpu_seconds, peak * (1 if sys.platform == "darwin" else 1024))


def child_cpu_seconds(runs: int, *commands: Sequence[str]) -> list[float]:
    """The smallest CPU time of each command over ``runs`` rounds."""
    best = [float("inf")] * len(commands)
    for _ in range(runs):
        for i, command in enumerate(commands):
            best[i] = min(best[i], run_child(command).cpu_seconds)
    return best


def peak_bytes_of_interpreter() -> int:
    """Peak resident memory of a Python that does nothing."""
    return run_child([sys.executable, "-c", "pass"]).peak_bytes


@dataclass(frozen=True)
class Line:
    """One figure: ours, the rival's, their ratio, and what was aimed at."""

    what: str
    ours: str
    rival: str
    ratio: str
    aim: str
    reached: bool

    def __str__(self) -> str:
        mark = "reached" if self.reached else "MISSED"
        return f"{self.what:<34} {self.ours:>22}  {self.rival:>30}  {self.ratio:>22}  aim {self.aim}: {mark}"
