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

WRONG_SIZE: Final = Code("MGT201", "wrong-size", Severity.ERROR, "the buffer's size does not fit its spec")

SPEC_INVALID: Final = Code("MGT202", "spec-invalid", Severity.ERROR, "the spec cannot be used")

SPEC_INCOMPLETE: Final = Code("MGT203", "spec-incomplete", Severity.ERROR, "the spec does not say enough")

AMBIGUOUS_LAYOUT: Final = Code(
    "MGT204", "ambiguous-layout", Severity.ERROR, "more than one layout fits the bare buffer"
)

NO_LAYOUT: Final = Code("MGT205", "no-layout", Severity.ERROR, "no layout fits the bare buffer")

INFERRED_LAYOUT: Final = Code(
    "MGT206", "inferred-layout", Severity.WARNING, "the layout was inferred from the buffer"
)

BLOCK_NOT_MULTIPLE: Final = Code(
    "MGT207", "block-not-multiple", Severity.ERROR, "the block is not a whole number of warps or warpgroups"
)

NAMES_INVALID: Final = Code("MGT208", "names-invalid", Severity.ERROR, "the names file cannot be used")

SPEC_NEWER: Final = Code("MGT209", "spec-newer", Severity.ERROR, "the spec was written by a newer version")

SPEC_UNKNOWN_FIELD: Final = Code(
    "MGT210", "spec-unknown-field", Severity.WARNING, "the spec has fields that are not known"
)

SPEC_CONTRADICTS: Final = Code(
    "MGT211", "spec-contradicts", Severity.ERROR, "the spec and the file contradict each other"
)

PROFILE_SPACE_READ: Final = Code(
    "MGT212", "profile-space-read", Severity.INFO, "profile_space was turned into words by the buffer's size"
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
