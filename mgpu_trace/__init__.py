"""Decode Mosaic GPU profile buffers: what happened inside a GPU kernel, right to the cycle.

The stages, in the order of the data::

    diagnostics   codes, findings, the one exception
    layout, spec  where each word lives; what is known about a launch
    model         the tables between the stages: TraceBuffer, Tracks, Slices, Timeline
    read          file -> TraceBuffer
    decode        TraceBuffer -> Tracks and Slices, in cycles
    clock         cycles -> nanoseconds, the one place where the two meet
    analyse       select a part of a Timeline
    export        Timeline -> Chrome JSON
    synth         the inverse of decode: launches made on purpose
    pipeline      open_launch(path), load(path): the one path, spelled once
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from mgpu_trace.diagnostics import Code, Diagnostic, MgpuTraceError, Report, Severity
    from mgpu_trace.layout import Scope, Word2
    from mgpu_trace.model import Slices, Timeline, TraceBuffer, Tracks
    from mgpu_trace.pipeline import Launch, load, open_launch
    from mgpu_trace.spec import SpecOptions, TraceSpec

__all__ = [
    "Code",
    "Diagnostic",
    "Launch",
    "MgpuTraceError",
    "Report",
    "Scope",
    "Severity",
    "Slices",
    "SpecOptions",
    "Timeline",
    "TraceBuffer",
    "TraceSpec",
    "Tracks",
    "Word2",
    "__version__",
    "load",
    "open_launch",
]

_HOMES = {
    **dict.fromkeys(("Code", "Diagnostic", "MgpuTraceError", "Report", "Severity"), "diagnostics"),
    **dict.fromkeys(("Scope", "Word2"), "layout"),
    **dict.fromkeys(("Slices", "Timeline", "TraceBuffer", "Tracks"), "model"),
    **dict.fromkeys(("Launch", "load", "open_launch"), "pipeline"),
    **dict.fromkeys(("SpecOptions", "TraceSpec"), "spec"),
}


def __getattr__(name: str) -> Any:
    """Import a public name's home when it is first used: ``mgpu-trace --help`` needs no NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
