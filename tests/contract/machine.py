"""Follow a kernel's text as one thread would run it, and keep what it reads and stores, in order.

Where control and addresses depend on the thread's place only, they are numbers, and every path is the one
that the device takes. Clocks and data stay what they are: readings. Memory is kept byte by byte and shared by
the threads that are given it.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass, field

from contract.ptx import Instruction, Kernel, PtxError
from contract.values import (
    ARITHMETIC,
    COMPARISONS,
    WORD_MASK,
    Computed,
    Number,
    Part,
    Reading,
    Stale,
    Unknown,
    Value,
    from_parts,
    merged,
    to_parts,
)

MAX_STEPS = 100_000
SHARED = "shared"
# Instructions that change neither a register nor memory, as far as one thread sees.
_SILENT = {"bar", "barrier", "fence", "membar", "griddepcontrol", "bra", "ret", "exit"}
# What may be done to an address; "or" sets low bits that are known to be zero.
_OF_ADDRESSES = {"add", "sub", "or", "cvta", "cvt"}
_PLACES = {"tid", "ctaid", "ntid", "nctaid"}
_REGISTER = re.compile(r"%(?:p|r|rd|rs|rq|f|fd|h)\d+")

Memory = dict[tuple[str, int], Part]


@dataclass(frozen=True, slots=True)
class Store:
    """A store that was run; of a vector, all its elements."""

    opcode: str
    address: Number
    values: tuple[Value, ...]
    width_bytes: int


@dataclass(slots=True)
class Thread:
    """One thread of a launch.

    Attributes
    ----------
    place
        The number of every special register that says where the thread is.
    memory
        Shared and global memory, as far as it was written.
    leader
        The first thread of the same warp, which was followed before; None in that thread itself.
    done
        What it read and stored, in order.
    """

    kernel: Kernel
    place: dict[str, int]
    memory: Memory
    leader: Thread | None = None
    done: list[Reading | Store] = field(default_factory=list)
    _registers: dict[str, Value] = field(default_factory=dict)
    _shuffled: list[Value] = field(default_factory=list)
    _steps: int = 0

    @property
    def name(self) -> tuple[int, ...]:
        return tuple(self.place[f"{what}.{axis}"] for what in ("ctaid", "tid") for axis in "xyz")

    def run(self) -> Generator[None, None, None]:
        """Run to the end; stops wherever all threads of the block wait for one another."""
        at = 0
        while at < len(self.kernel.instructions):
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise PtxError(f"{self.name}: no end after {MAX_STEPS} steps")
            instruction = self.kernel.instructions[at]
            at += 1
            if not self._runs(instruction):
                continue
            if instruction.words[0] in ("ret", "exit"):
                return
            if instruction.words[0] == "bra":
                at = self.kernel.labels[instruction.operands[0]]
            elif instruction.words[0] in ("bar", "barrier") and instruction.operands == ("0",):
                yield
            elif instruction.words[0] not in _SILENT:
                self._execute(instruction)

    def _runs(self, instruction: Instruction) -> bool:
        if instruction.guard is None:
            return True
        guard = self._registers[instruction.guard]
        if not isinstance(guard, Number):
            raise PtxError(f"{self.name}: cannot tell whether {instruction} runs")
        return bool(guard.value) != instruction.negated

    def _execute(self, instruction: Instruction) -> None:
        kind = instruction.words[0]
        if kind == "st":
            self._store(instruction)
        elif kind == "ld":
            self._load(instruction)
        elif instruction.operands[0].startswith("["):
            raise PtxError(f"{instruction} writes to memory in a way that is not known here")
        else:
            self._compute(instruction)

    # Memory

    def _address(self, operand: str) -> Number:
        base, _, offset = operand.strip("[] ").partition("+")
        value = self._value(base.strip())
        if not isinstance(value, Number) or not value.base:
            raise PtxError(f"{self.name}: {operand} is no address that is known")
        return Number((value.value + int(offset or 0)) & WORD_MASK, value.base, value.made_from)

    def _store(self, instruction: Instruction) -> None:
        address = self._address(instruction.operands[0])
        width = instruction.bits // 8
        values = tuple(self._value(operand) for operand in instruction.lists[1])
        self.done.append(Store(instruction.opcode, address, values, width))
        parts = [part for value in values for part in to_parts(value, width)]
        for k, part in enumerate(parts):
            self.memory[address.base, address.value + k] = part

    def _load(self, instruction: Instruction) -> None:
        address = self._address(instruction.operands[1])
        if address.base.startswith("param:") and instruction.words[1] == "param":
            # The parameter's value: the address of memory that is called by the parameter's name.
            self._registers[instruction.operands[0]] = Number(0, address.base.removeprefix("param:"))
            return
        width = instruction.bits // 8
        for i, register in enumerate(instruction.lists[0]):
            keys = [(address.base, address.value + i * width + k) for k in range(width)]
            self._registers[register] = from_parts(tuple(self.memory.get(k, (Stale(*k), 0)) for k in keys))

    # Registers

    def _value(self, operand: str) -> Value:
        if operand in self._registers:
            return self._registers[operand]
        if operand in self.kernel.parameters:
            return Number(0, f"param:{operand}")
        if operand in self.kernel.shared:
            return Number(0, SHARED)
        if re.fullmatch(r"-?(0x)?[0-9a-fA-F]+", operand):
            return Number(int(operand, 0) & WORD_MASK)
        if not operand.startswith("%") or _REGISTER.fullmatch(operand):
            raise PtxError(f"{self.name}: {operand} is used before it is set")
        if operand[1:].split(".")[0] in _PLACES:
            return Number(self.place[operand[1:]], made_from=frozenset({operand[1:]}))
        reading = Reading(operand[1:], self.name, len(self.done))
        self.done.append(reading)
        return Unknown.of(reading, 8 if operand.endswith("64") else 4)

    def _compute(self, instruction: Instruction) -> None:
        targets = [t for part in instruction.lists[0] for t in part.split("|")]
        kind = instruction.words[0]
        if kind == "elect":
            leads = Number(self.place["tid.x"] % 32 == 0, made_from=frozenset({"tid.x"}))
            self._registers |= {targets[0]: Number(0), targets[1]: leads}
            return
        values = [self._value(v) for part in instruction.lists[1:] for v in part]
        if kind == "shfl":
            self._registers[targets[0]] = self._shuffle(instruction, values[0])
            return
        if kind == "mov" and len(targets) > 1:
            self._unpack(instruction, values[0], targets)
            return
        known = [v for v in values if isinstance(v, Number)]
        result: Value | None = None
        if len(known) == len(values):
            result = _of_numbers(instruction, known)
        elif kind in ("mov", "shr", "cvt") and not instruction.is_float and len(targets) == 1:
            result = _of_bytes(instruction, values)
        if result is None:
            result = Unknown.of(Computed(instruction.opcode, self.name, len(self.done)), 8)
        for target in targets:
            self._registers[target] = result

    def _unpack(self, instruction: Instruction, value: Value, targets: list[str]) -> None:
        each = instruction.bits // 8 // len(targets)
        for i, target in enumerate(targets):
            if isinstance(value, Number):
                self._registers[target] = Number(value.value >> 8 * each * i, made_from=value.made_from)
            else:
                self._registers[target] = Unknown(value.parts[each * i : each * (i + 1)])

    def _shuffle(self, instruction: Instruction, own: Value) -> Value:
        """What the warp's first thread has: the only exchange that is followed."""
        if instruction.words[2] != "idx" or instruction.operands[2] != "0":
            raise PtxError(f"{instruction} is an exchange that is not known here")
        value = own if self.leader is None else self.leader._shuffled[len(self._shuffled)]
        self._shuffled.append(value)
        return value


def _of_numbers(instruction: Instruction, numbers: list[Number]) -> Value | None:
    """What known operands give, or None where the instruction is not one that is followed."""
    words, bits = instruction.words, instruction.bits
    kind = words[0]
    if instruction.is_float:
        return None
    if kind == "mov":
        return numbers[0]
    plain = [_plain(number, words[-1], bits) for number in numbers]
    bases = [number.base for number in numbers if number.base]
    if kind == "setp" and not bases:
        holds = COMPARISONS[words[1]](plain[0], plain[1])
        # A third operand is a predicate, and the word after the comparison says how it counts.
        if numbers[2:]:
            holds = bool(ARITHMETIC[words[2]]([holds, numbers[2].value], 1))
        return Number(int(holds), made_from=merged(numbers))
    if kind not in ARITHMETIC or len(bases) > 1 or (bases and kind not in _OF_ADDRESSES):
        return None
    if kind in ("mul", "mad") and words[1] not in ("lo", "wide"):
        return None
    if kind == "selp":
        plain[2] = numbers[2].value
    value = ARITHMETIC[kind](plain, bits) & (1 << _bits_of_result(words, bits)) - 1
    return Number(value, "".join(bases), merged(numbers))


def _plain(number: Number, type_: str, bits: int) -> int:
    return number.signed(bits) if type_.startswith("s") else number.value & (1 << bits) - 1


def _bits_of_result(words: tuple[str, ...], bits: int) -> int:
    if words[0] == "cvt":  # it names the type of its result first
        return int(words[-2][1:])
    return 2 * bits if "wide" in words else bits


def _of_bytes(instruction: Instruction, values: list[Value]) -> Value | None:
    """Bytes that are moved as they are: packed, cut, or shifted by whole bytes."""
    n_bytes = instruction.bits // 8
    if instruction.words[0] == "shr":
        by = values[1]
        if not isinstance(by, Number) or by.value % 8 or instruction.words[-1].startswith("s"):
            return None
        return Unknown(to_parts(values[0], n_bytes)[by.value // 8 :])
    each = n_bytes // len(values)
    parts = tuple(part for value in values for part in to_parts(value, each))
    return from_parts(parts)
