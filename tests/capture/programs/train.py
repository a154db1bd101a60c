"""A program that knows nothing of any capture: ``train.py FOLDER [WHAT...]``.

It launches a kernel on four devices, another one twice on one of them, waits for no more than it needs,
and ends as told: ``status=N``, ``raise``, ``kill``, ``exit-now`` (without Python's own end), ``wait`` for a
signal. ``child`` starts another of its kind first, ``rank=N/PORT`` makes it one of two processes,
``elsewhere`` goes to another folder, ``silent`` asks for no profiles, ``last`` launches on four devices as
the last thing that it does, and nothing else.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from kernels import OUT, ZEROS, jax, marked, pallas_kernel, shard_map, sim


def wait_for_signal() -> None:
    (OUT / "ready").touch()
    time.sleep(60)


def main(what: list[str]) -> int:
    rank = next((word for word in what if word.startswith("rank=")), None)
    if rank is not None:
        number, port = map(int, rank.removeprefix("rank=").split("/"))
        jax.distributed.initialize(f"127.0.0.1:{port}", 2, number)
    if "elsewhere" in what:
        os.chdir("/")
    if "child" in what:
        subprocess.run([sys.executable, __file__, str(OUT / "child")], check=True)
    asks = 0 if "silent" in what else 16
    if "last" in what:
        sim.spoil = lambda _: time.sleep(0.2)
        shard_map(pallas_kernel("train_step"))(marked())
        return 0
    if rank is None:
        kernel = shard_map(pallas_kernel("train_step", profile_space=asks))
        kernel(marked())
    else:
        kernel = jax.jit(pallas_kernel("train_step", profile_space=asks))
        kernel(ZEROS)
    other = jax.jit(pallas_kernel("evaluate", profile_space=asks))
    value = float(other(other(ZEROS))[0])
    sys.stdout.write(f"{value} {sys.argv[2:]} {os.getcwd()}\n")
    sys.stdout.flush()
    if "wait" in what:
        wait_for_signal()
    if "kill" in what or "exit-now" in what:
        time.sleep(1)  # for what is under way
        if "kill" in what:
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(5)
    if "raise" in what:
        raise RuntimeError("the program's own")
    return next((int(word.removeprefix("status=")) for word in what if word.startswith("status=")), 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[2:]))
