"""Read the text of a PTX kernel: its parameters, its shared memory, and its instructions in order.

Only what the compiler writes for a kernel is read: one entry, no calls. What an instruction does is in
``machine.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\((?P<parameters>[^)]*)\)(?P<directives>[^{;]*)\{", re.DOTALL)
_PARAMETER = re.compile(r"\.param\s[^,]*?(\w+)\s*(?:,|$)", re.DOTALL)
_SHARED = re.compile(r"\.shared\s+\.align\s+(\d+)\s+\.b8\s+(\w+)")
# In this order: a label, a line that says nothing about what runs, a scope's brace, a statement.
_STATEMENT = re.compile(
    r"\s*(?:(?P<label>\$?\w+):|(?P<line>\.(?:loc|file|pragma)[^\n]*\n)|(?P<brace>[{}])|(?P<text>[^;]+);)"
)
_INSTRUCTION = re.compile(
    r"(?:@(?P<negated>!?)(?P<guard>[%\w]+)\s+)?(?P<opcode>[\w.:]+)\s*(?P<operands>.*)", re.DOTALL
)
_OPERAND = re.compile(r"\[[^\]]*\]|\{[^}]*\}|[^,\s]+")


class PtxError(Exception):
    """The text holds something that this reader does not know."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    guard, negated
        The predicate that it runs under, and whether that must be false.
    words
        The opcode, cut at its dots: ``st.shared.v2.u32`` has four words.
    lists
        The operands again, each as the list that it may be in braces: ``{%r1, %r2}`` has two parts.
    bits
        Of the type that the opcode ends with: 1 for a predicate.
    is_float
        Whether it deals in floating point.
    """

    opcode: str
    operands: tuple[str, ...]
    guard: str | None
    negated: bool
    words: tuple[str, ...]
    lists: tuple[tuple[str, ...], ...]
    bits: int
    is_float: bool


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's text, taken apart."""

    name: str
    parameters: tuple[str, ...]
    shared: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    labels: dict[str, int] = field(hash=False)

    def count(self, operand: str) -> int:
        """How many instructions name ``operand``, by itself or in a list, whether they ever run or not."""
        return sum(operand in re.findall(r"[%\w.$]+", " ".join(i.operands)) for i in self.instructions)


def parse(text: str) -> Kernel:
    """Take the only kernel of ``text`` apart."""
    text = _COMMENT.sub("", text)
    entries = list(_ENTRY.finditer(text))
    if len(entries) != 1:
        raise PtxError(f"{len(entries)} kernels instead of one")
    entry = entries[0]
    instructions, labels, shared = _body(text, entry.end())
    return Kernel(
        name=entry[1],
        parameters=tuple(_PARAMETER.findall(entry["parameters"])),
        # Shared memory may be declared outside the kernel as well.
        shared=(*shared, *(name for _, name in _SHARED.findall(text[: entry.start()]))),
        instructions=tuple(instructions),
        labels=labels,
    )


def _body(text: str, start: int) -> tuple[list[Instruction], dict[str, int], list[str]]:
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    shared: list[str] = []
    depth, place = 1, start
    while depth:
        match = _STATEMENT.match(text, place)
        if match is None:
            raise PtxError(f"no statement at {text[place : place + 40]!r}")
        place = match.end()
        if match["brace"]:
            depth += 1 if match["brace"] == "{" else -1
        elif match["label"]:
            labels[match["label"]] = len(instructions)
        elif match["text"]:
            statement = match["text"].strip()
            if statement.startswith("."):
                shared += [name for _, name in _SHARED.findall(statement)]
            else:
                instructions.append(_instruction(statement))
    return instructions, labels, shared


def _instruction(statement: str) -> Instruction:
    match = _INSTRUCTION.fullmatch(statement)
    if match is None:
        raise PtxError(f"no instruction: {statement!r}")
    operands = tuple(_OPERAND.findall(match["operands"]))
    words = tuple(re.split(r"\.|::", match["opcode"]))
    width = re.search(r"\d+$", words[-1])
    return Instruction(
        opcode=match["opcode"],
        operands=operands,
        guard=match["guard"],
        negated=match["negated"] == "!",
        words=words,
        lists=tuple(tuple(part.strip() for part in operand.strip("{}").split(",")) for operand in operands),
        bits=1 if width is None else int(width[0]),
        is_float=any(re.fullmatch(r"b?f\d+(x2)?", word) for word in words),
    )
