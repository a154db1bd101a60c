"""``mgpu-trace synth``: a launch made on purpose, with the truth beside it."""

from __future__ import annotations

from typing import Any, Final

import click

from mgpu_trace_cli.made import FAULT, ROLE, SEED, SMS, START, WORD2, config_of
from mgpu_trace_cli.options import CLOCK, COUNT, DIM3, SCOPE, WORDS, member

EXAMPLE: Final = """\
\b
Example:
  mgpu-trace synth -o made.npy --grid 16 --role load=wait:200,copy:400 --role mma=wait,wgmma:900
  mgpu-trace validate made.npy
"""


@click.command(epilog=EXAMPLE)
@click.option("-o", "--output", required=True, metavar="NAME.npy|NAME.npz", help="Where to write the buffer.")
@click.option("--sms", "n_sms", type=SMS, default=4, show_default=True, help="SMs of the GPU.")
@click.option("--grid", type=DIM3, default="8", show_default=True, help="Blocks of the grid.")
@click.option("--block", type=DIM3, default="384", show_default=True, help="Threads of a block.")
@click.option("--scope", type=SCOPE, callback=member, default="warpgroup", help="Whose events share a track.")
@click.option("--resident", type=COUNT, default=1, show_default=True, help="Blocks of an SM at a time.")
@click.option("--entries", "words_per_track", type=WORDS, help="Words of one track. Default: enough.")
@click.option("--role", "roles", type=ROLE, multiple=True, help="What unit 0, 1, ... of every block does.")
@click.option(
    "--iterations", "n_iterations", type=COUNT, default=4, show_default=True, help="Loops of a role."
)
@click.option("--sm-clock-mhz", type=CLOCK, default="1980", show_default=True, help="The SM clock.")
@click.option("--state-clock/--hide-clock", default=True, help="Whether the spec says the SM clock's rate.")
@click.option("--step-ns", type=COUNT, default=32, show_default=True, help="Step of the global timer.")
@click.option("--start-ns", type=START, default=10**9, show_default=True, help="Global timer at the launch.")
@click.option("--word2", type=WORD2, default="used", help="The header's variant; used+3: JAX up to 0.7.2.")
@click.option("--bounds-checked", is_flag=True, help="Drop events that do not fit, as JAX 0.11.1 can.")
@click.option("--fault", "faults", type=FAULT, multiple=True, help="What to break, by a code's name.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Equal seeds make equal files.")
def synth(output: str, seed: int, **asked: Any) -> None:
    """Write a synthetic launch, with its true timeline beside it.

    NAME.npy gets its spec as NAME.json, NAME.npz holds it; the truth goes into NAME.truth.json.
    A --role is NAME=REGION[:CYCLES],... ; the units after the last one do the same as it.
    A --fault is the name of a code, such as overfull-track, or overfull-track@4 for track 4.
    """
    from mgpu_trace.synth import synthesise, write_synthetic

    try:
        made = synthesise(config_of(asked), seed)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    files = write_synthetic(output, made)
    spec = made.spec
    said = f"{spec.n_tracks} tracks of {spec.words_per_track} words, {len(made.truth)} slices"
    click.echo(f"{said}: {', '.join(map(str, files))}", err=True)
