"""TraceSpec: what is known about one launch, parsed once and frozen.

The JSON form (a sidecar ``NAME.json`` beside ``NAME.npy``, or ``spec`` in the .npz container) is
described in docs/spec.md: :meth:`TraceSpec.to_dict` writes it, ``mgpu_trace.read`` reads it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Final

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.diagnostics.clip import clipped
from mgpu_trace.layout import Scope, Word2

SCHEMA_VERSION: Final = 1

# CUDA's limit of threads in a block: no size above it is a way out.
MAX_THREADS: Final = 1024

Dim3 = tuple[int, int, int]


def is_sm_clock(mhz: float) -> bool:
    """Whether ``mhz`` can be the rate of an SM clock: 1 to 100000, so that a wrong unit is noticed."""
    return 1.0 <= mhz <= 100_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSpec:
    """One launch: its shape, its names, and where it came from.

    Attributes
    ----------
    grid, block
        Blocks of the grid and threads of a block, as ``(x, y, z)``.
    words_per_track
        uint32 words of one track, header included (JAX: ``entries_per_warpgroup``).
    scope
        Which threads share a track.
    names
        Region names by name id; None when they are not known.
    word2
        What the header's word 2 counts; AUTO looks at the buffer.
    bounds_checked
        Whether the kernel dropped events that did not fit (JAX 0.11.1 and later); None: unknown.
    kernel, device, jax_version
        Free text, where known.
    sm_clock_mhz, sm_clock_source
        The SM clock's rate, and who said so: ``"flag"`` or ``"metadata"``.
    host_time_ns, host_time_before_ns
        Host times (UNIX epoch) at which the launch was over, and at which it had not yet been made,
        where known.
    jaxlib_version
        Free text, where known.
    process, partition, n_partitions, device_id, launch
        Which process of the run, which part of the program (of how many), JAX's id of the device that
        ran it, and which launch of the kernel there.
    n_sms
        SMs of the device.
    assumed
        One sentence for everything here that was inferred and not told.
    """

    grid: Dim3
    block: Dim3
    words_per_track: int
    scope: Scope = Scope.WARPGROUP
    names: tuple[str, ...] | None = None
    word2: Word2 = Word2.AUTO
    bounds_checked: bool | None = None
    kernel: str | None = None
    device: str | None = None
    jax_version: str | None = None
    sm_clock_mhz: float | None = None
    sm_clock_source: str = "metadata"
    host_time_ns: int | None = None
    host_time_before_ns: int | None = None
    jaxlib_version: str | None = None
    process: int | None = None
    partition: int | None = None
    n_partitions: int | None = None
    device_id: int | None = None
    launch: int | None = None
    n_sms: int | None = None
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, dims in (("grid", self.grid), ("block", self.block)):
            if len(dims) != 3 or any(d < 1 for d in dims):
                raise _invalid(f"{what} {dims} is not three positive numbers")
        if self.words_per_track <= layout.HEADER_WORDS:
            raise _invalid(f"words_per_track {self.words_per_track} leaves no room after the 3 header words")
        if math.prod(self.block) % self.scope.value:
            raise MgpuTraceError(block_not_multiple(self.block, self.scope))
        if self.sm_clock_mhz is not None and not is_sm_clock(self.sm_clock_mhz):
            raise _invalid(f"sm_clock_mhz {self.sm_clock_mhz} is not between 1 and 100000")

    @property
    def n_blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def tracks_per_block(self) -> int:
        return math.prod(self.block) // self.scope.value

    @property
    def n_tracks(self) -> int:
        return self.n_blocks * self.tracks_per_block

    @property
    def n_words(self) -> int:
        return self.n_tracks * self.words_per_track

    @property
    def capacity_words(self) -> int:
        """Words of a track that events may fill."""
        return layout.capacity_words(self.words_per_track)

    @property
    def capacity_events(self) -> int:
        """Whole events that fit into a track."""
        return layout.capacity_events(self.words_per_track)

    def block_xyz(self, block: int) -> Dim3:
        """The block index of flat block ``block``: x is the slowest (JAX's ``finalize``)."""
        _, gy, gz = self.grid
        return (block // (gy * gz), block // gz % gy, block % gz)

    def place_of(self, track: int) -> tuple[Dim3, int]:
        """The block index and the unit of ``track``."""
        block, unit = divmod(track, self.tracks_per_block)
        return self.block_xyz(block), unit

    def name_of(self, name_id: int) -> str:
        """The region name of ``name_id``, also where the table does not have it."""
        if self.names is None:
            return f"region_{name_id}"
        return self.names[name_id] if name_id < len(self.names) else f"name {name_id} (unknown)"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form, schema version 1; fields that are not known are left out."""
        out: dict[str, Any] = {"schema": "mgpu-trace/spec", "version": SCHEMA_VERSION}
        for field in fields(self):
            value = getattr(self, field.name)
            if (
                value is None
                or value == ()
                or (field.name == "sm_clock_source" and self.sm_clock_mhz is None)
            ):
                continue
            if isinstance(value, Scope):
                value = value.label
            elif isinstance(value, Word2):
                value = value.value
            elif isinstance(value, tuple):
                value = list(value)
            out[field.name] = value
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecOptions:
    """What a caller says about a launch; None is "not said". It wins over what the files say.

    ``profile_space`` stands for words_per_track and is turned into words by the buffer's size
    or the JAX version (see docs/spec.md).
    """

    grid: Dim3 | None = None
    block: Dim3 | None = None
    words_per_track: int | None = None
    profile_space: int | None = None
    scope: Scope | None = None
    names: tuple[str, ...] | None = None
    word2: Word2 | None = None
    bounds_checked: bool | None = None
    kernel: str | None = None
    device: str | None = None
    jax_version: str | None = None
    sm_clock_mhz: float | None = None


def _invalid(message: str) -> MgpuTraceError:
    return MgpuTraceError(
        Diagnostic(catalogue.SPEC_INVALID, message, hint="correct that field or flag (docs/spec.md)")
    )


def block_not_multiple(block: tuple[int, ...], scope: Scope, multiple: str | None = None) -> Diagnostic:
    """MGT207: ``block`` is not a whole number of ``scope``; in JAX's words, with the next sizes that are.

    ``multiple`` is how that JAX calls what it should be a multiple of, where that is not the number.
    """
    threads = math.prod(block)
    down, up = threads // scope.value * scope.value, -(-threads // scope.value) * scope.value
    legal = " or ".join(str(n) for n in (down, up) if 0 < n <= MAX_THREADS) or f"at most {MAX_THREADS}"
    said = f"{threads} threads" if len(block) == 1 else f"{by(block)} is {threads} threads"
    other = " or --scope warp" if scope is Scope.WARPGROUP and threads % Scope.WARP.value == 0 else ""
    return Diagnostic(
        catalogue.BLOCK_NOT_MULTIPLE,
        f"Block size is not a multiple of {multiple or scope.value}: {said}",
        hint=f"use {legal} threads{other}",
    )


_MAX_SIZES: Final = 16
_MAX_SHOWN: Final = 80


def by(sizes: tuple[int, ...]) -> str:
    """Sizes as people write them: ``2x3x1``."""
    return clipped("x".join(map(str, sizes[:_MAX_SIZES])), _MAX_SHOWN)
