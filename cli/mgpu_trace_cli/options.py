"""The options that several commands take, and the types that read their values.

Every refusal says what the option takes, so that nobody needs the manual to correct it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any, Final, TypeVar

import click

from mgpu_trace.layout import HEADER_WORDS, Scope, Word2
from mgpu_trace.spec import Dim3, SpecOptions, is_sm_clock

Command = TypeVar("Command", bound=Callable[..., Any])


class Told(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """A value read by ``parse``; where that raises ValueError, the user is told what is taken."""

    def __init__(self, name: str, takes: str, parse: Callable[[str], object]) -> None:
        self.name = name
        self._takes = takes
        self._parse = parse

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The name as it stands: click would write a literal such as none in capitals."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError:
            self.fail(f"takes {self._takes}; {shown(value)} is not that", param, ctx)


def shown(value: str) -> str:
    """``value`` in quotes, cut where it is long."""
    return repr(value if len(value) <= 60 else value[:57] + "...")


MOST: Final = 2**31 - 1  # CUDA's largest dimension; no other number of a launch comes near


def count(text: str, least: int = 1, most: int = MOST) -> int:
    """A plain decimal number in a range: int() also takes 1_000, signs, and other scripts' digits."""
    if not re.fullmatch(r"[0-9]{1,20}", text.strip()) or not least <= int(text) <= most:
        raise ValueError
    return int(text)


def sizes(text: str, most: int = 3) -> tuple[int, ...]:
    """Positive numbers with commas or ``x`` between them."""
    found = tuple(count(part) for part in re.split("[,x]", text))
    if len(found) > most:
        raise ValueError
    return found


def padded(sizes: tuple[int, ...]) -> Dim3:
    """One to three sizes as three: the others are 1."""
    x, y, z = (*sizes, *(1,) * (3 - len(sizes)))
    return (x, y, z)


def _clock(text: str) -> float:
    mhz = float(text)  # which also takes 1_980, and the digits of other scripts
    if not is_sm_clock(mhz) or "_" in text or not text.isascii():
        raise ValueError
    return mhz


def _names(text: str) -> tuple[str, ...]:
    from mgpu_trace.read.names import parse_names

    return parse_names(text)


_SIZES_TAKE: Final = f"one to three positive numbers up to {MOST}, such as 132, 2,3,1 or 2x3x1"
SIZES: Final = Told("X[,Y[,Z]]", _SIZES_TAKE, sizes)
DIM3: Final = Told("X[,Y[,Z]]", _SIZES_TAKE, lambda text: padded(sizes(text)))
WORDS: Final = Told(
    "WORDS",
    f"a whole number above {HEADER_WORDS}, the words of one track (3 of them are its header)",
    lambda text: count(text, HEADER_WORDS + 1),
)
UNITS: Final = Told("UNITS", f"a whole number from 1 to {MOST}", count)
COUNT: Final = Told("N", f"a whole number from 1 to {MOST}", count)
CLOCK: Final = Told("MHZ", "the SM clock in MHz, such as 1980 (from 1 to 100000)", _clock)
NAMES: Final = Told("A,B,...|FILE", "names with commas between them, or a file of names", _names)
BUFFER_SUFFIXES: Final = (".npz", ".npy", ".bin", ".u32")
SCOPE: Final = click.Choice([s.label for s in Scope])


def member(ctx: click.Context, param: click.Parameter, value: str | None) -> Scope | Word2 | None:
    """Turn the text that a Choice let through into the Scope or Word2 that it names."""
    if value is None:
        return None
    return Scope[value.upper()] if param.name == "scope" else Word2(value)


Decorator = Callable[[Any], Any]
scope_option: Final = click.option("--scope", type=SCOPE, callback=member, help="Whose events share a track.")
_SPEC_OPTIONS: Final = (
    click.option("--grid", type=SIZES, help="Blocks of the grid: 132, 2,3,1 or 2x3x1."),
    click.option("--block", type=SIZES, help="Threads of a block: 384 or 128,2,1."),
    click.option(
        "--entries",
        "words_per_track",
        type=WORDS,
        help="Words of one track, header included (JAX: entries_per_warpgroup).",
    ),
    click.option("--profile-space", type=UNITS, help="The same, as Pallas's profile_space."),
    click.option(
        "--names",
        type=NAMES,
        help="Names of the regions in the order of their ids, or a file: a JSON list, or one a line.",
    ),
    click.option("--sm-clock-mhz", type=CLOCK, help="The SM clock during the launch."),
    click.option(
        "--word2",
        type=click.Choice([w.value for w in Word2]),
        callback=member,
        help="What word 2 of a header counts; used+3: JAX up to 0.7.2. Default: look.",
    ),
    click.option(
        "--bounds-checked/--no-bounds-checked",
        default=None,
        help="Whether the kernel dropped events that did not fit (JAX 0.11.1).",
    ),
    click.option("--jax-version", metavar="VERSION", help="The JAX that made the kernel, such as 0.10.2."),
    click.option("--device", metavar="NAME", help="The GPU, such as H100."),
    click.option("--kernel", metavar="NAME", help="The kernel's name."),
)


def spec_options_with(scope: Decorator) -> Callable[[Command], Command]:
    """A decorator that gives a command the options that say what a launch was, with that --scope.

    The command takes them as ``options``. Sizes said with fewer than three numbers are filled up
    with 1.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def gathered(*args: Any, **kwargs: Any) -> Any:
            told = {field.name: kwargs.pop(field.name) for field in fields(SpecOptions)}
            if told["words_per_track"] is not None and told["profile_space"] is not None:
                raise click.UsageError("--entries and --profile-space say the same thing; give one of them")
            for field in ("grid", "block"):
                told[field] = None if told[field] is None else padded(told[field])
            return command(*args, options=SpecOptions(**told), **kwargs)

        for option in (*reversed(_SPEC_OPTIONS), scope):
            gathered = option(gathered)
        return gathered  # type: ignore[return-value]

    return decorate


spec_options: Final = spec_options_with(scope_option)
array_option: Final = click.option(
    "--array", metavar="NAME", help="The array of an .npz that is the buffer, where it holds several."
)


def with_folders(ctx: click.Context, param: click.Parameter, files: tuple[str, ...]) -> tuple[str, ...]:
    """:func:`unfolded` as a callback of click."""
    return unfolded(files)


def unfolded(files: Sequence[str]) -> tuple[str, ...]:
    """The files, and in place of a folder the buffers in it; one without any stays, to be refused."""
    found: list[str] = []
    for file in files:
        inside = sorted(os.listdir(file)) if os.path.isdir(file) else []
        buffers = [n for n in inside if n.endswith(BUFFER_SUFFIXES) and not n.startswith(".")]
        found += [os.path.join(file, name) for name in buffers] or [file]
    return tuple(found)


def files_argument(required: bool = True) -> Decorator:
    """The FILEs of a command, of which a folder stands for the buffers in it."""
    metavar = "FILE..." if required else "[FILE]..."
    return click.argument("files", metavar=metavar, nargs=-1, required=required, callback=with_folders)


json_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON (schemas: docs/cli.md, docs/analysis.md)."
)
allow_empty_option: Final = click.option(
    "--allow-empty", is_flag=True, help="A launch without one event is no error (MGT305)."
)
