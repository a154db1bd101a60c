"""Many files: how many processes work on them, and what need not be done again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import click

from mgpu_trace_cli.options import Command, Told, count

JOBS: Final = Told("N", "a number of processes from 1 to 1024", lambda text: count(text, 1, 1024))
# A worker takes about 0.3 s to start: as long as one process needs for so much, or for so many files.
_WORTH_BYTES: Final = 64 << 20
_WORTH_FILES: Final = 16

jobs_option: Final = click.option(
    "--jobs", type=JOBS, help="Processes for several FILEs. Default: all cores, where that pays."
)


def many_options(command: Command) -> Command:
    """Give a command --jobs and --resume."""
    resume = click.option(
        "--resume", is_flag=True, help="Leave out what was made before and is newer than its FILE."
    )
    return jobs_option(resume(command))


def jobs_for(files: Sequence[str], jobs: int | None) -> int:
    """How many processes to use: as asked, or all cores where they are worth starting."""
    from mgpu_trace.batch import usable_cores

    if jobs is not None:
        return jobs
    if len(files) < 2 or (len(files) < _WORTH_FILES and sum(map(_bytes, files)) < _WORTH_BYTES):
        return 1
    return usable_cores()


def _bytes(file: str) -> int:
    try:
        return os.stat(file).st_size
    except OSError:
        return 0


def is_made(file: str, path: str) -> bool:
    """Whether the output of ``file`` is there, and therefore whole, and newer than it and its spec."""
    try:
        made = os.stat(path)
        sources = [os.stat(file)]
    except OSError:
        return False
    spec = os.path.splitext(file)[0] + ".json"
    if os.path.isfile(spec):
        sources.append(os.stat(spec))
    return made.st_size > 0 and all(made.st_mtime_ns > source.st_mtime_ns for source in sources)
