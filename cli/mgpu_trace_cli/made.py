"""What ``synth`` is asked for: its own types of values, and the config that they add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.layout import Word2
from mgpu_trace_cli.options import Told, count

if TYPE_CHECKING:
    from mgpu_trace.synth import SynthConfig

Steps = tuple[tuple[str, int], ...]


def _role(text: str) -> tuple[str, Steps]:
    name, equals, regions = text.partition("=")
    if not (name and equals and regions):
        raise ValueError
    return name, tuple(_step(region) for region in regions.split(","))


def _step(text: str) -> tuple[str, int]:
    name, _, cycles = text.partition(":")
    if not name:
        raise ValueError
    return name, count(cycles) if cycles else 200


def _fault(text: str) -> tuple[str, int | None]:
    kind, at, track = text.partition("@")
    return kind, count(track, 0) if at else None


ROLE: Final = Told("ROLE", "a name and its regions, such as load=wait:200,copy:400", _role)
FAULT: Final = Told("FAULT", "a code's name, such as overfull-track, with @TRACK after it if need be", _fault)
SMS: Final = Told("N", "a number of SMs, from 1 to 1024", lambda text: count(text, most=1024))
WORD2: Final = click.Choice([Word2.USED.value, Word2.USED_PLUS_HEADER.value])
SEED: Final = Told("SEED", "a whole number", lambda text: count(text, 0))
# Far below the 64 bits of the global timer, so that no time of the launch leaves them.
START: Final = Told("NS", "nanoseconds, from 0 to 2**62", lambda text: count(text, 0, 2**62))


def config_of(asked: dict[str, Any]) -> SynthConfig:
    """The config that the options of ``synth`` add up to.

    Raises
    ------
    ValueError
        Where they contradict each other.
    """
    from mgpu_trace.synth import Fault, Region, Role, SynthConfig

    roles = tuple(
        Role(name, (Region("Init", 120),), repeat=tuple(Region(region, cycles) for region, cycles in steps))
        for name, steps in asked.pop("roles")
    )
    faults = tuple(Fault(kind, track) for kind, track in asked.pop("faults"))
    word2 = Word2(asked.pop("word2"))
    if roles:
        asked["roles"] = roles
    return SynthConfig(**asked, word2=word2, faults=faults)
