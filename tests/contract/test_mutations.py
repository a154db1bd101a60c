"""Each check can fail: where a compiled kernel's text is changed, the check that is about it says no."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from contract import checks
from contract.checks import CHECKS, Launch

if TYPE_CHECKING:
    from contract.conftest import Compiled

EVENT = r"@%p\d+ st\.shared\.v2\.u32 \[%rd\d+\], \{%r\d+, %clock\};"
TIMER = r"mov\.u32\s+%r\d+,\s*%globaltimer_lo;"
SM = r"mov\.u32\s+%r\d+,\s*%smid;"
HEADER = r"st\.global\.b32\s+\[%rd\d+\+{}\],\s*%?\w+;"


@dataclass(frozen=True)
class Change:
    """``pattern`` becomes ``by`` in the text of ``kernel``, where it is found first, and ``check`` fails."""

    name: str
    check: Callable[[Launch], None]
    pattern: str
    by: str
    kernel: str = "unrolled"


CHANGES = [
    # Word 0
    Change("the timer's other half", checks.check_start_time, "%globaltimer_lo", "%globaltimer_hi"),
    Change("the timer after an event", checks.check_start_time, rf"({TIMER})(.*?)({EVENT})", r"\2\3\1"),
    Change("the timer twice", checks.check_start_time, rf"({TIMER})", r"\1 mov.u32 %r999, %globaltimer_lo;"),
    Change(
        "the timer where the SM belongs",
        checks.check_start_time,
        r"(st\.global\.b32\s+\[%rd\d+)(\], %r\d+;[^;]*%smid)",
        r"\1+4\2",
    ),
    # Word 1
    Change("another number than the SM's", checks.check_sm, "%smid", "%warpid"),
    Change("the SM before the events", checks.check_sm, rf"({EVENT})(.*)({SM})", r"\3\1\2"),
    Change(
        "the SM in word 3",
        checks.check_sm,
        r"\+4(\], %r\d+;\s*[^\n]*\s*st\.global\.b32\s+\[%rd\d+\+8\])",
        r"+12\1",
    ),
    # Word 2
    Change("the header counted", checks.check_used, r"(\+8\], )28;", r"\g<1>31;"),
    Change("events counted, not words", checks.check_used, r"(\+8\], )28;", r"\g<1>14;"),
    Change("word 2 not written", checks.check_used, HEADER.format(8), ""),
    # A pair
    Change("clock and tag", checks.check_pairs, r"\{(%r\d+), %clock\}", r"{%clock, \1}"),
    Change("the clock's other half", checks.check_pairs, r"%clock\}", r"%clock_hi}"),
    Change("a clock of 64 bits", checks.check_pairs, r"%clock\}", r"%clock64}"),
    Change("the clock twice", checks.check_pairs, r"\{%r\d+, %clock\}", r"{%clock, %clock}"),
    Change("an older clock", checks.check_pairs, rf"({EVENT}.*?)%clock", r"mov.u32 %r999, %clock; \1%r999"),
    Change(
        "two stores",
        checks.check_pairs,
        r"(@%p\d+ st\.shared)\.v2(\.u32 )\[(%rd\d+)\], \{(%r\d+), %clock\};",
        r"\1\2[\3], \4; \1\2[\3+4], %clock;",
    ),
    Change(
        "a tag made from the thread", checks.check_pairs, r"mov\.b32(\s+%r\d+), 1;", r"mov.u32\1, %tid.y;"
    ),
    # Tags
    Change("no exit bit", checks.check_tags, r"mov\.b32(\s+%r\d+), -2147483648;", r"mov.b32\1, 0;"),
    Change("another exit bit", checks.check_tags, "-2147483648", "1073741824"),
    Change("another id", checks.check_tags, r"(mov\.b32\s+%r\d+), 2;", r"\1, 3;"),
    Change("an id that nobody has", checks.check_tags, r"(mov\.b32\s+%r\d+), 2;", r"\1, 77;"),
    Change(
        "two events swapped",
        checks.check_tags,
        r"(mov\.b32\s+%r\d+), 1;(.*?mov\.b32\s+%r\d+), 2;",
        r"\1, 2;\2, 1;",
    ),
    Change("an event less", checks.check_tags, EVENT, ""),
    # Places in shared memory
    Change("a gap", checks.check_places, r"(add\.s64\s+%rd\d+, %rd\d+), 8;", r"\1, 16;"),
    Change("half a pair on", checks.check_places, r"(add\.s64\s+%rd\d+, %rd\d+), 16;", r"\1, 12;"),
    Change(
        "another stride",
        checks.check_places,
        r"(mul\.lo\.s32\s+%r\d+, %r\d+), 44;",
        r"\1, 48;",
        "mosaic_warpgroup_3",
    ),
    Change(
        "units by another size",
        checks.check_places,
        r"(shr\.u32\s+%r\d+, %r\d+), 7;",
        r"\1, 6;",
        "mosaic_warpgroup_3",
    ),
    Change(
        "the area off by a word",
        checks.check_places,
        r"mov\.b64\s+(%rd\d+), __dynamic_shmem__0;",
        r"\g<0> add.s64 \1, \1, 4;",
    ),
    # The copy
    Change("one word of another", checks.check_copy, r"(ld\.shared\.b64\s+%rd\d+, \[%rd\d+)\+8\]", r"\1+16]"),
    Change(
        "a loop that begins late",
        checks.check_copy,
        r"add\.s64(\s+%rd\d+, %rd\d+), 12;",
        r"add.s64\1, 16;",
        "mosaic_warpgroup_3",
    ),
    Change(
        "a shorter loop",
        checks.check_extent,
        r"(setp\.lt\.u32\s+%p\d+, %r\d+), 164;",
        r"\1, 160;",
        "mosaic_warpgroup_3",
    ),
    Change(
        "a longer loop",
        checks.check_extent,
        r"(setp\.lt\.u32\s+%p\d+, %r\d+), 164;",
        r"\1, 168;",
        "mosaic_warpgroup_3",
    ),
    Change("a word stored twice", checks.check_extent, rf"({HEADER.format(8)})", r"\1 \1"),
    # Tracks in the buffer
    Change("blocks the other way", checks.check_extent, r"%ctaid\.x(.*)%ctaid\.z", r"%ctaid.z\1%ctaid.x"),
    Change("another grid", checks.check_extent, r"(mad\.lo\.s32\s+%r\d+, %r\d+), 5,", r"\1, 3,"),
    Change(
        "tracks further apart", checks.check_extent, r"(mul\.wide\.u32\s+%rd\d+, %r\d+), 128;", r"\1, 136;"
    ),
    # Who stores
    Change("two threads of a warp", checks.check_threads, r"(and\.b32\s+%r\d+, %r\d+), 31;", r"\1, 15;"),
    Change(
        "another thread of a warp", checks.check_threads, r"(setp\.eq\.b32\s+%p\d+, %r\d+), 0;", r"\1, 1;"
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name.replace(" ", "-"))
def test_a_change_is_noticed(compiled: Compiled, change: Change) -> None:
    text = compiled.text(change.kernel)
    changed, n = re.subn(change.pattern, change.by, text, count=1, flags=re.DOTALL)
    assert n == 1, "the compiler writes this in another way: change the pattern"
    facts = compiled.facts(change.kernel)
    launch = Launch(changed, facts, blocks=[(1, 0, 0), facts.corners()[-1]])
    with pytest.raises(AssertionError):
        change.check(launch)


def test_every_check_has_a_change() -> None:
    assert {change.check for change in CHANGES} == set(CHECKS)
