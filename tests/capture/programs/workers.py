"""Launches in two workers of multiprocessing: ``workers.py FOLDER METHOD``."""

from __future__ import annotations

import multiprocessing
import sys


def work(number: int) -> None:
    from kernels import ZEROS, jax, pallas_kernel

    kernel, x = jax.jit(pallas_kernel(f"worker_{number}")), ZEROS
    for _ in range(3):
        x = kernel(x)
    x.block_until_ready()


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    workers = [context.Process(target=work, args=(number,)) for number in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(max(abs(worker.exitcode or 0) for worker in workers))
