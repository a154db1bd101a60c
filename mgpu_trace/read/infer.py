"""The layout of a bare buffer, from the structure of its headers."""

from __future__ import annotations

from dataclasses import dataclass

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.layout import Word2
from mgpu_trace.model import U32


@dataclass(frozen=True, slots=True)
class Layout:
    words_per_track: int
    word2: Word2
    tracks_per_block: int
    sureness: str
    evidence: str


def infer_layout(flat: U32) -> Layout:
    raise MgpuTraceError(
        Diagnostic(catalogue.NO_LAYOUT, "not yet", hint="give --grid, --block and --entries")
    )
