"""What a register or a byte holds while a kernel's text is followed: a number, or where it came from.

A number that is known keeps the names of the special registers that it was computed from. What is not known
(a clock, a word of the input) is kept byte by byte, so that it can be followed through copies of any width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

WORD_MASK = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Number:
    """A known number.

    Attributes
    ----------
    value
        Unsigned; of an address, the bytes from the start of ``base``.
    base
        The memory that it is an address in, or nothing.
    made_from
        The special registers that it depends on: none for a number that stands in the text.
    """

    value: int
    base: str = ""
    made_from: frozenset[str] = frozenset()

    def signed(self, bits: int) -> int:
        low = self.value & (1 << bits) - 1
        return low - (1 << bits) if low >> (bits - 1) else low


@dataclass(frozen=True, slots=True)
class Reading:
    """A special register, read by a thread: the ``serial``-th thing that it did."""

    register: str
    thread: tuple[int, ...]
    serial: int


@dataclass(frozen=True, slots=True)
class Stale:
    """A byte of memory that nobody wrote."""

    base: str
    byte: int


@dataclass(frozen=True, slots=True)
class Computed:
    """The result of an instruction that the machine does not follow."""

    opcode: str
    thread: tuple[int, ...]
    serial: int


Origin = Reading | Stale | Computed | Number
# One byte: of what, and which byte of it.
Part = tuple[Origin, int]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Bytes of which only the origin is known, lowest first."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, origin: Origin, n_bytes: int) -> Unknown:
        return cls(tuple((origin, k) for k in range(n_bytes)))


Value = Number | Unknown


def to_parts(value: Value, n_bytes: int) -> tuple[Part, ...]:
    """The lowest bytes of ``value``."""
    if isinstance(value, Unknown):
        return (value.parts + tuple((Number(0), k) for k in range(8)))[:n_bytes]
    return tuple((value, k) for k in range(n_bytes))


def from_parts(parts: tuple[Part, ...]) -> Value:
    """A value of these bytes: a number where they are four or more of one number's lowest, in order."""
    first = parts[0][0]
    if (
        len(parts) >= 4
        and isinstance(first, Number)
        and all(part == (first, k) for k, part in enumerate(parts))
    ):
        return first
    return Unknown(parts)


def whole(value: Value) -> Origin | None:
    """What a value of four bytes is, where it is one thing and all of it."""
    parts = to_parts(value, 4)
    first = parts[0][0]
    return first if all(part == (first, k) for k, part in enumerate(parts)) else None


def merged(numbers: list[Number]) -> frozenset[str]:
    """All that the numbers depend on."""
    return frozenset().union(*[number.made_from for number in numbers])


Arithmetic = Callable[[list[int], int], int]

# By the first word of the opcode: from operands (signed where the type is) and bits to the result.
ARITHMETIC: dict[str, Arithmetic] = {
    "add": lambda v, bits: v[0] + v[1],
    "sub": lambda v, bits: v[0] - v[1],
    "mul": lambda v, bits: v[0] * v[1],
    "mad": lambda v, bits: v[0] * v[1] + v[2],
    "div": lambda v, bits: v[0] // v[1],
    "rem": lambda v, bits: v[0] % v[1],
    "min": lambda v, bits: min(v),
    "max": lambda v, bits: max(v),
    "and": lambda v, bits: v[0] & v[1],
    "or": lambda v, bits: v[0] | v[1],
    "xor": lambda v, bits: v[0] ^ v[1],
    "not": lambda v, bits: ~v[0],
    "shl": lambda v, bits: v[0] << v[1] if v[1] < bits else 0,
    "shr": lambda v, bits: v[0] >> min(v[1], bits),
    "selp": lambda v, bits: v[0] if v[2] else v[1],
    "cvt": lambda v, bits: v[0],
    "cvta": lambda v, bits: v[0],
}

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}
