"""The reader of PTX, on texts whose effect can be told by hand: it is right, or it refuses."""

from __future__ import annotations

import pytest
from contract import ptx
from contract.machine import Memory, Store, Thread
from contract.values import Number, Reading, Value, whole

PLACE = {f"{what}.{axis}": 0 for what in ("ctaid", "tid", "nctaid", "ntid") for axis in "xyz"}


def run(body: str, **place: int) -> Thread:
    text = f"""
    .visible .entry kernel(
        .param .u64 .ptr .align 256 kernel_param_0,
        .param .u64 .ptr .align 256 kernel_param_1
    )
    .maxntid 128, 1, 1
    {{
        .reg .b32 %r<9>; // registers
        .shared .align 16 .b8 area;
        ld.param.b64 %rd0, [kernel_param_1];
        cvta.to.global.u64 %rd1, %rd0;
        {body}
        ret;
    }}
    """
    thread = Thread(ptx.parse(text), PLACE | {k.replace("_", "."): v for k, v in place.items()}, Memory())
    for _ in thread.run():
        pass
    return thread


def stored(body: str, **place: int) -> Value:
    """The only value that ``body`` stores."""
    (store,) = [s for s in run(body, **place).done if isinstance(s, Store)]
    return store.values[0]


@pytest.mark.parametrize(
    ("instructions", "result"),
    [
        ("mov.b32 %r1, -1; shr.u32 %r2, %r1, 28;", 15),
        ("mov.b32 %r1, -16; shr.s32 %r2, %r1, 2;", 2**32 - 4),
        ("mov.b32 %r1, 3; mad.lo.s32 %r2, %r1, -2, 1;", 2**32 - 5),
        ("mov.b32 %r1, -1; add.s32 %r2, %r1, 3;", 2),
        ("mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31;", 5),
        ("mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 30;", 2**30),
        ("mov.b32 %r1, 7; setp.lt.s32 %p1, %r1, -1; selp.b32 %r2, 1, 2, %p1;", 2),
        ("mov.b32 %r1, 7; setp.lt.u32 %p1, %r1, -1; selp.b32 %r2, 1, 2, %p1;", 1),
        ("mov.pred %p2, 0; setp.eq.and.b32 %p1, 4, 4, %p2; selp.b32 %r2, 1, 2, %p1;", 2),
        ("mov.b32 %r2, 1; @%p0 bra $end; mov.b32 %r2, 2; $end: add.s32 %r2, %r2, 0;", 1),
        ("mov.b32 %r2, 1; @!%p0 mov.b32 %r2, 2;", 1),
        ("mov.b32 %r2, 0; $top: add.s32 %r2, %r2, 3; setp.lt.u32 %p1, %r2, 10; @%p1 bra $top;", 12),
    ],
)
def test_numbers(instructions: str, result: int) -> None:
    value = stored(f"setp.eq.b32 %p0, 0, 0; {instructions} st.global.b32 [%rd1], %r2;", tid_x=37)
    assert isinstance(value, Number)
    assert value.value % 2**32 == result


def test_wide_products_and_conversions() -> None:
    thread = run(
        "mov.b32 %r1, -2; cvt.s64.s32 %rd2, %r1; add.s64 %rd3, %rd1, %rd2; st.global.b32 [%rd3+6], 1;"
    )
    assert thread.done[-1].address == Number(4, "kernel_param_1")
    thread = run(
        "mov.b32 %r1, -1; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd2, %rd1; st.global.b32 [%rd3], 1;"
    )
    assert thread.done[-1].address == Number(4 * (2**32 - 1), "kernel_param_1")


def test_a_number_knows_what_it_was_made_from() -> None:
    value = stored(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.y; add.s32 %r3, %r1, %r2; st.global.b32 [%rd1], %r3;"
    )
    assert value == Number(0, made_from=frozenset({"tid.x", "ctaid.y"}))
    assert stored("mov.b32 %r3, 8; st.global.b32 [%rd1], %r3;") == Number(8)


@pytest.mark.parametrize(
    "copy",
    [
        "ld.shared.b32 %r2, [area+4]; st.global.b32 [%rd1], %r2;",
        "ld.shared.v2.b32 {%r1, %r2}, [area]; st.global.b32 [%rd1], %r2;",
        "ld.shared.b64 %rd2, [area]; shr.u64 %rd3, %rd2, 32; st.global.b32 [%rd1], %rd3;",
        "ld.shared.b64 %rd2, [area]; mov.b64 {%r1, %r2}, %rd2; st.global.b32 [%rd1], %r2;",
        "".join(f"ld.shared.b8 %rs1, [area+{4 + k}]; st.global.b8 [%rd1+{k}], %rs1;" for k in (2, 0, 1, 3)),
    ],
)
def test_a_reading_is_followed_through_copies_of_any_width(copy: str) -> None:
    thread = run("st.shared.v2.u32 [area], {7, %clock}; " + copy)
    (reading,) = [r for r in thread.done if isinstance(r, Reading)]
    parts = [thread.memory["kernel_param_1", k] for k in range(4)]
    assert parts == [(reading, k) for k in range(4)]


def test_what_is_computed_from_a_reading_is_no_reading() -> None:
    value = stored("mov.u32 %r1, %clock; add.s32 %r2, %r1, 0; st.global.b32 [%rd1], %r2;")
    assert not isinstance(whole(value), Reading | Number)


def test_a_broadcast_gives_what_the_first_thread_of_the_warp_has() -> None:
    body = "mov.u32 %r1, %tid.x; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; st.global.b32 [%rd1], %r2;"
    first = run(body, tid_x=32)
    other = Thread(first.kernel, PLACE | {"tid.x": 45}, Memory(), leader=first)
    assert list(other.run()) == []
    assert other.done[-1].values[0].value == 32


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("st.global.b32 [%rd7], 1;", "before it is set"),
        ("mov.u32 %r1, %clock; setp.eq.b32 %p1, %r1, 0; @%p1 bra $end; $end: ret;", "cannot tell whether"),
        ("mov.u32 %r1, %clock; st.global.b32 [%r1], 1;", "no address"),
        ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [area], 16;", "not known here"),
        ("red.global.add.u32 [%rd1], 1;", "not known here"),
        ("shfl.sync.bfly.b32 %r2, 1, 16, 31, -1;", "not known here"),
        ("$top: bra $top;", "no end"),
    ],
)
def test_what_it_does_not_know_it_refuses(body: str, complaint: str) -> None:
    with pytest.raises(ptx.PtxError, match=complaint):
        run(body)


def test_a_text_without_a_kernel_is_refused() -> None:
    with pytest.raises(ptx.PtxError, match="0 kernels"):
        ptx.parse(".version 9.0\n.target sm_90a\n")
