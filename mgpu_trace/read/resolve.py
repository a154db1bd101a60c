"""From what was said about a launch, and the size and shape of its buffer, to its TraceSpec."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.layout import Scope, Word2
from mgpu_trace.read.fields import Said
from mgpu_trace.spec import Dim3, TraceSpec

LAYOUT_FIELDS = ("grid", "block", "words_per_track", "profile_space")
_FACTORS = (layout.PROFILE_SPACE_WORDS, layout.PROFILE_SPACE_WORDS_BEFORE_0_10)


@dataclass(frozen=True, slots=True)
class Size:
    """What the array itself says.

    Attributes
    ----------
    n_words
        All its words.
    words, tracks_per_block
        From its shape, where it has two or three dimensions.
    """

    n_words: int
    words: int | None = None
    tracks_per_block: int | None = None

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> Size:
        n_words = math.prod(shape)
        return cls(n_words, shape[-1] if len(shape) > 1 else None, shape[1] if len(shape) == 3 else None)


def word2_of(jax_version: str | None) -> Word2:
    """What word 2 counts in buffers of that JAX: with the 3 of the header up to 0.7.2."""
    release = layout.jax_release(jax_version)
    if release is None:
        return Word2.AUTO
    return Word2.USED_PLUS_HEADER if release < (0, 8, 0) else Word2.USED


def words_per_profile_space(jax_version: str | None) -> int | None:
    """Words of one unit of ``profile_space`` in that JAX; None where that is not known."""
    release = layout.jax_release(jax_version)
    return None if release is None else layout.words_per_profile_space(release)


def resolve(said: Said, size: Size) -> tuple[TraceSpec, tuple[Diagnostic, ...]]:
    """Complete what was said by the size and shape of the buffer.

    Raises
    ------
    MgpuTraceError
        MGT201 when the size does not fit, MGT202 and MGT207 from TraceSpec, MGT203 when too little
        is said, MGT211 when the shape says otherwise.
    """
    words, found = _words(said, size)
    grid, block, assumed = _complete(said, size, words)
    spec = make_spec(said, grid=grid, block=block, words_per_track=words, assumed=assumed)
    _check_shape(spec, size)
    return spec, found


def make_spec(
    said: Said,
    *,
    grid: Dim3,
    block: Dim3,
    words_per_track: int,
    assumed: tuple[str, ...],
    word2: Word2 = Word2.AUTO,
) -> TraceSpec:
    """A TraceSpec of ``said`` with these fields; ``word2`` where neither it nor a version is said."""
    rest: dict[str, Any] = {k: v for k, v in said.items() if k not in (*LAYOUT_FIELDS, "word2", "assumed")}
    told: Word2 = said.get("word2", Word2.AUTO)
    if told is Word2.AUTO:
        told = word2_of(said.get("jax_version"))
    return TraceSpec(
        grid=grid,
        block=block,
        words_per_track=words_per_track,
        word2=word2 if told is Word2.AUTO else told,
        assumed=(*said.get("assumed", ()), *assumed),
        **rest,
    )


def _words(said: Said, size: Size) -> tuple[int, tuple[Diagnostic, ...]]:
    """Words per track, and how ``profile_space`` was read."""
    if "words_per_track" in said:
        return said["words_per_track"], ()
    if "profile_space" in said:
        return _from_profile_space(said, size)
    if size.words is not None:
        return size.words, ()
    if "grid" not in said or "block" not in said:
        missing = "block (--block) and" if "block" not in said else "grid (--grid) and"
        raise _incomplete(f"{missing} words per track (--entries)")
    n_tracks = math.prod(said["grid"]) * _tracks_per_block(said)
    words, rest = divmod(size.n_words, n_tracks)
    if rest or words <= layout.HEADER_WORDS:
        raise _wrong_size(
            f"buffer has {size.n_words} words, which {n_tracks} tracks cannot share",
            f"a multiple of {n_tracks} words, at least {n_tracks * (layout.HEADER_WORDS + 1)}, would fit",
        )
    return words, ()


def _from_profile_space(said: Said, size: Size) -> tuple[int, tuple[Diagnostic, ...]]:
    units: int = said["profile_space"]
    factor = words_per_profile_space(said.get("jax_version"))
    if factor is not None:
        return units * factor, ()
    if units * _FACTORS[1] <= layout.HEADER_WORDS:
        raise _wrong_size(f"profile_space {units} has no room for a header", "give --entries")
    fits = [f for f in _FACTORS if _fits(said, size, units * f)]
    if len(fits) > 1:
        raise _incomplete("JAX's version, or --entries, or --grid and --block")
    if not fits:
        raise _wrong_size(
            f"buffer has {size.n_words} words, which fits profile_space {units} neither as "
            f"{units * _FACTORS[0]} words per track (JAX 0.10 and later) nor as "
            f"{units * _FACTORS[1]} (before)",
            "check --profile-space, --grid, --block and --scope",
        )
    since = "JAX 0.10 and later" if fits[0] == _FACTORS[0] else "before JAX 0.10"
    message = (
        f"profile_space {units} is {units * fits[0]} words per track: "
        f"{fits[0]} words per unit ({since}) fit the size"
    )
    return units * fits[0], (Diagnostic(catalogue.PROFILE_SPACE_READ, message),)


def _fits(said: Said, size: Size, words: int) -> bool:
    try:
        grid, block, _ = _complete(said, size, words)
    except MgpuTraceError as error:
        if error.diagnostic.code is not catalogue.WRONG_SIZE:
            raise
        return False
    n_tracks = math.prod(grid) * (math.prod(block) // _scope(said).value)
    return n_tracks * words == size.n_words and size.words in (None, words)


def _complete(said: Said, size: Size, words: int) -> tuple[Dim3, Dim3, tuple[str, ...]]:
    """Grid and block, from what is said and the number of tracks."""
    if "grid" in said and "block" in said:
        return said["grid"], said["block"], ()
    n_tracks = _divide(size.n_words, words, "words", f"tracks of {words} words")
    if "grid" in said:
        blocks = math.prod(said["grid"])
        per_block = _divide(n_tracks, blocks, f"tracks of {words} words", f"{blocks} blocks", whole=False)
        return said["grid"], _block_of(said, per_block), (f"block: {_units(said, per_block)}, from the size",)
    if "block" in said:
        per_block = _tracks_per_block(said)
        blocks = _divide(n_tracks, per_block, f"tracks of {words} words", f"blocks of {per_block} tracks")
        return (blocks, 1, 1), said["block"], (f"grid: {blocks} blocks along x, from the size",)
    if size.tracks_per_block is not None:
        per_block, blocks = size.tracks_per_block, n_tracks // size.tracks_per_block
        why = "from the array's shape"
    else:
        per_block, blocks, why = 1, n_tracks, "since neither grid nor block is known"
    told = f"{blocks} blocks along x of {_units(said, per_block)}, {why}"
    return (blocks, 1, 1), _block_of(said, per_block), (told,)


def _divide(count: int, by: int, of: str, into: str, whole: bool = True) -> int:
    quotient, rest = divmod(count, by)
    if rest or quotient == 0:
        near = f"{by * max(quotient, 1)} or {by * (quotient + 1)} {of} would fit" if whole else ""
        raise _wrong_size(
            f"{count} {of} are not a whole number of {into}", near or "check --grid and --entries"
        )
    return quotient


def _scope(said: Said) -> Scope:
    scope: Scope = said.get("scope", Scope.WARPGROUP)
    return scope


def _tracks_per_block(said: Said) -> int:
    """Tracks per block of the block that is said; MGT207 when it is not a whole number of units."""
    checked = TraceSpec(
        grid=(1, 1, 1), block=said["block"], words_per_track=layout.HEADER_WORDS + 1, scope=_scope(said)
    )
    return checked.tracks_per_block


def _block_of(said: Said, tracks_per_block: int) -> Dim3:
    return (tracks_per_block * _scope(said).value, 1, 1)


def _units(said: Said, n: int) -> str:
    return counted(n, _scope(said).label)


def _check_shape(spec: TraceSpec, size: Size) -> None:
    """MGT211 when the array's own shape is not that of the spec."""
    if size.words is None:
        return
    per_block = size.tracks_per_block
    if size.words == spec.words_per_track and per_block in (None, spec.tracks_per_block):
        return
    rows = size.n_words // size.words
    tracks = counted(rows if per_block is None else per_block, "track")
    own = tracks if per_block is None else f"{counted(rows // per_block, 'block')} of {tracks}"
    raise MgpuTraceError(
        Diagnostic(
            catalogue.SPEC_CONTRADICTS,
            f"the array's shape says {own} of {size.words} words, the spec says "
            f"{counted(spec.n_blocks, 'block')} of {counted(spec.tracks_per_block, 'track')} of "
            f"{spec.words_per_track} words",
            hint="drop the flag that is wrong, or correct the sidecar",
        )
    )


def _incomplete(missing: str) -> MgpuTraceError:
    return MgpuTraceError(
        Diagnostic(
            catalogue.SPEC_INCOMPLETE,
            f"the spec does not say enough: {missing} {'are' if ' and ' in missing else 'is'} missing",
            hint="give it, or give neither grid, block nor words and let the layout be inferred",
        )
    )


def _wrong_size(message: str, hint: str) -> MgpuTraceError:
    return MgpuTraceError(Diagnostic(catalogue.WRONG_SIZE, message, hint=hint))
