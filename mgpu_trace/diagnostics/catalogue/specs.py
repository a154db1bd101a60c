"""MGT2xx: what the buffer is said to be, and whether that can be true."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "AMBIGUOUS_LAYOUT",
    "BLOCK_NOT_MULTIPLE",
    "INFERRED_LAYOUT",
    "NAMES_INVALID",
    "NO_LAYOUT",
    "PROFILE_SPACE_READ",
    "SPEC_CONTRADICTS",
    "SPEC_INCOMPLETE",
    "SPEC_INVALID",
    "SPEC_NEWER",
    "SPEC_UNKNOWN_FIELD",
    "WRONG_SIZE",
]

WRONG_SIZE: Final = Code(
    "MGT201",
    "wrong-size",
    Severity.ERROR,
    "the buffer's size does not fit its spec",
    means="Grid, block, scope and words per track call for another number of words than the buffer has.",
    matters="Every track after the first would be read from the wrong place.",
    todo=("Correct --grid, --block, --scope, --entries or --profile-space; the message says what would fit."),
)

SPEC_INVALID: Final = Code(
    "MGT202",
    "spec-invalid",
    Severity.ERROR,
    "the spec cannot be used",
    means=(
        "The spec of the launch, in the container, the sidecar or the flags, is not valid JSON or "
        "holds a value of the wrong kind or range."
    ),
    matters="A spec that is guessed at gives a timeline that is guessed at.",
    todo="Correct the field that is named. docs/spec.md lists them all.",
)

SPEC_INCOMPLETE: Final = Code(
    "MGT203",
    "spec-incomplete",
    Severity.ERROR,
    "the spec does not say enough",
    means=(
        "Some of grid, block and words per track are given, and the rest does not follow from the "
        "size of the buffer."
    ),
    matters="The tracks cannot be found.",
    todo="Give what the message asks for, or give none of them and let the layout be inferred.",
)

AMBIGUOUS_LAYOUT: Final = Code(
    "MGT204",
    "ambiguous-layout",
    Severity.ERROR,
    "more than one layout fits the bare buffer",
    means=(
        "Without a spec the number of words per track is found from the structure of the headers; "
        "here several numbers fit about as well."
    ),
    matters="Choosing one would be a guess shown as a fact.",
    todo="Give --entries with one of the listed candidates, or --grid and --block.",
)

NO_LAYOUT: Final = Code(
    "MGT205",
    "no-layout",
    Severity.ERROR,
    "no layout fits the bare buffer",
    means="No number of words per track makes the words at the headers' places look like headers.",
    matters="This is not a profile buffer, or it is damaged beyond the headers.",
    todo="If it is one, say how it was made: --grid, --block and --entries.",
)

INFERRED_LAYOUT: Final = Code(
    "MGT206",
    "inferred-layout",
    Severity.WARNING,
    "the layout was inferred from the buffer",
    means=(
        "No spec was given, so words per track (and more, as the message says) come from the "
        "structure of the headers."
    ),
    matters=(
        "Names, grid and block shape cannot be inferred: regions are called region_0, region_1 and so "
        "on, and blocks are numbered along x."
    ),
    todo=("Keep the spec beside the buffer (a sidecar NAME.json, or the .npz container), or give the flags."),
)

BLOCK_NOT_MULTIPLE: Final = Code(
    "MGT207",
    "block-not-multiple",
    Severity.ERROR,
    "the block is not a whole number of warps or warpgroups",
    means=(
        "The block's threads, multiplied over its dimensions, are not a multiple of 32 (warp scope) "
        "or 128 (warpgroup scope). JAX says: Block size is not a multiple of 128."
    ),
    matters="Such a launch cannot be profiled, so the spec cannot be that of this buffer.",
    todo="Correct --block or --scope.",
)

NAMES_INVALID: Final = Code(
    "MGT208",
    "names-invalid",
    Severity.ERROR,
    "the names file cannot be used",
    means="The names file is neither a JSON list of strings nor text with one name a line.",
    matters="Regions would get wrong names.",
    todo="Write a JSON list of strings in the order of the name ids (id 0 is usually Init).",
)

SPEC_NEWER: Final = Code(
    "MGT209",
    "spec-newer",
    Severity.ERROR,
    "the spec was written by a newer version",
    means="The schema version in the spec is higher than this version of mgpu-trace knows.",
    matters="Fields that change the meaning of the buffer may be missed.",
    todo="Update mgpu-trace.",
)

SPEC_UNKNOWN_FIELD: Final = Code(
    "MGT210",
    "spec-unknown-field",
    Severity.WARNING,
    "the spec has fields that are not known",
    means="The spec holds fields that this version does not read.",
    matters="They are ignored; a misspelled field is ignored too.",
    todo="Correct the field's name, or update mgpu-trace.",
)

SPEC_CONTRADICTS: Final = Code(
    "MGT211",
    "spec-contradicts",
    Severity.ERROR,
    "the spec and the file contradict each other",
    means="The file's own shape (blocks, tracks per block, words) is not that of the spec or the flags.",
    matters="One of them is wrong, and with it the place of every track.",
    todo="Drop the flag that is wrong, or correct the sidecar.",
)

PROFILE_SPACE_READ: Final = Code(
    "MGT212",
    "profile-space-read",
    Severity.INFO,
    "profile_space was turned into words by the buffer's size",
    means=(
        "One unit of profile_space is 4 words from JAX 0.10 and 8 words before. The size of the "
        "buffer says which it was."
    ),
    matters="Nothing is lost; the message says which factor fits.",
    todo="Give --entries to say it outright.",
)

CODES: Final[tuple[Code, ...]] = (
    WRONG_SIZE,
    SPEC_INVALID,
    SPEC_INCOMPLETE,
    AMBIGUOUS_LAYOUT,
    NO_LAYOUT,
    INFERRED_LAYOUT,
    BLOCK_NOT_MULTIPLE,
    NAMES_INVALID,
    SPEC_NEWER,
    SPEC_UNKNOWN_FIELD,
    SPEC_CONTRADICTS,
    PROFILE_SPACE_READ,
)
