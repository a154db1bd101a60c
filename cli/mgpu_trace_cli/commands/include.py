"""``mgpu-trace include``: where the CUDA C++ headers are."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import click

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace include
"""


@click.command(epilog=EXAMPLE)
def include() -> None:
    """Print the folder of mgpu_trace.cuh, for nvcc -I.

    Nothing else is printed: nvcc -I"$(mgpu-trace include)" kernel.cu. What the headers do is in
    docs/cuda.md.
    """
    click.echo(str(files("mgpu_trace") / "include"))
