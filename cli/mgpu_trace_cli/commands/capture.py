"""``mgpu-trace capture``: run a program and keep every profiled launch."""

from __future__ import annotations

import sys
from typing import Any, Final

import click

from mgpu_trace_cli.aspython import AsPython
from mgpu_trace_cli.options import COUNT, UNITS, Told, count

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace capture -o traces/ -- python -c 'print("no kernels here")'
"""

BYTES: Final = Told("BYTES", "a positive whole number of bytes", lambda text: count(text, 1, 10**18))


@click.command(cls=AsPython, epilog=EXAMPLE, context_settings={"allow_interspersed_args": False})
@click.option("-o", "--output", "folder", metavar="FOLDER", required=True, help="Where the files go.")
@click.option("-m", "module", metavar="MODULE", help="Run a Python module: -m MODULE ARGS.")
@click.option("--kernel", metavar="GLOB", help="Keep kernels whose name matches.")
@click.option("--every", type=COUNT, default="1", help="Keep the first launch of a kernel, then every Nth.")
@click.option("--launches", type=COUNT, help="Keep at most N launches of a kernel on a device.")
@click.option("--max-bytes", type=BYTES, help="Keep at most so many bytes of buffers.")
@click.option("--profile-space", type=UNITS, help="Profile Pallas kernels that do not ask for it.")
@click.option("--keep-json", is_flag=True, help="Let JAX write its own JSON too.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what went wrong.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def capture(module: str | None, command: tuple[str, ...], quiet: bool, **asked: Any) -> int:
    """Run a program and keep the buffer of every profiled launch.

    COMMAND is any command, after --; its Pythons capture without a change to their code. Each launch
    becomes KERNEL-pPROCESS-dDEVICE-LAUNCH.npz. The exit status is the command's own.
    """
    from mgpu_trace.capture.settings import CaptureSettings
    from mgpu_trace_cli.capturing import run_captured

    if not asked["folder"]:
        raise click.BadParameter("takes the name of a folder", param_hint="'-o'")
    words = [sys.executable, "-m", module, *command] if module is not None else list(command)
    if not words:
        raise click.UsageError("give a COMMAND after --, such as -- python train.py, or -m MODULE")
    return run_captured(words, CaptureSettings(**asked), quiet)
