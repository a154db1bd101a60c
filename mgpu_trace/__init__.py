"""Decode Mosaic GPU profile buffers: what happened inside a GPU kernel, right to the cycle.

The stages, in the order of the data::

    diagnostics   codes, findings, the one exception
    files         files that appear whole or not at all
    layout, spec  where each word lives; what is known about a launch
    model         the tables between the stages: TraceBuffer, Tracks, Slices, Timeline
    read          file -> TraceBuffer
    decode        TraceBuffer -> Tracks and Slices, in cycles
    clock         cycles -> nanoseconds, the one place where the two meet
    analyse       select a part of a launch; answers about it, as tables
    export        Timeline or Launch -> Chrome JSON, also as JAX's own dump writes it
    synth         the inverse of decode: launches made on purpose
    capture       a JAX program that runs -> one file for each launch
    launch        what a launch must satisfy before it is made
    view          a trace -> the browser
    columns       a Timeline as Arrow's tables; export has them as Parquet, Arrow and CSV
    sql           SQL over them
    report        one launch, or two to compare, as a page that can be sent
    pipeline      open_launch(path), load(path): the one path, spelled once

The names in ``__all__`` are what users of the library need; each has its home in a stage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from mgpu_trace.analyse.balance import balance
    from mgpu_trace.analyse.bubbles import bubbles
    from mgpu_trace.analyse.diff import diff
    from mgpu_trace.analyse.histogram import histogram
    from mgpu_trace.analyse.lag import lags
    from mgpu_trace.analyse.overlap import overlap
    from mgpu_trace.analyse.select import Selection, parse_selection
    from mgpu_trace.analyse.stats import stats
    from mgpu_trace.analyse.table import Table
    from mgpu_trace.analyse.timeline import segments
    from mgpu_trace.analyse.tracktimes import track_times
    from mgpu_trace.capture import capture
    from mgpu_trace.clock import ClockModel
    from mgpu_trace.diagnostics import Code, Diagnostic, MgpuTraceError, Report, Severity
    from mgpu_trace.export.chrome import ChromeOptions
    from mgpu_trace.export.output import write_trace
    from mgpu_trace.launch import LaunchConfig, LaunchFacts
    from mgpu_trace.layout import Scope, Word2
    from mgpu_trace.model import Slices, Timeline, TraceBuffer, TrackFlag, Tracks
    from mgpu_trace.pipeline import Launch, load, open_launch
    from mgpu_trace.read import write_npz
    from mgpu_trace.report import report_page, write_report
    from mgpu_trace.spec import SpecOptions, TraceSpec
    from mgpu_trace.sql.session import query
    from mgpu_trace.synth import SynthConfig, synthesise, write_synthetic

__all__ = [
    "ChromeOptions",
    "ClockModel",
    "Code",
    "Diagnostic",
    "Launch",
    "LaunchConfig",
    "LaunchFacts",
    "MgpuTraceError",
    "Report",
    "Scope",
    "Selection",
    "Severity",
    "Slices",
    "SpecOptions",
    "SynthConfig",
    "Table",
    "Timeline",
    "TraceBuffer",
    "TraceSpec",
    "TrackFlag",
    "Tracks",
    "Word2",
    "__version__",
    "balance",
    "bubbles",
    "capture",
    "diff",
    "histogram",
    "lags",
    "load",
    "open_launch",
    "overlap",
    "parse_selection",
    "query",
    "report_page",
    "segments",
    "stats",
    "synthesise",
    "track_times",
    "write_npz",
    "write_report",
    "write_synthetic",
    "write_trace",
]

_HOMES = {
    "balance": "analyse.balance",
    "bubbles": "analyse.bubbles",
    "lags": "analyse.lag",
    "overlap": "analyse.overlap",
    "track_times": "analyse.tracktimes",
    "histogram": "analyse.histogram",
    "diff": "analyse.diff",
    **dict.fromkeys(("Selection", "parse_selection"), "analyse.select"),
    "query": "sql.session",
    "segments": "analyse.timeline",
    "stats": "analyse.stats",
    "Table": "analyse.table",
    "ClockModel": "clock",
    **dict.fromkeys(("Code", "Diagnostic", "MgpuTraceError", "Report", "Severity"), "diagnostics"),
    "ChromeOptions": "export.chrome",
    "write_trace": "export.output",
    **dict.fromkeys(("LaunchConfig", "LaunchFacts"), "launch"),
    **dict.fromkeys(("Scope", "Word2"), "layout"),
    **dict.fromkeys(("Slices", "Timeline", "TraceBuffer", "TrackFlag", "Tracks"), "model"),
    **dict.fromkeys(("Launch", "load", "open_launch"), "pipeline"),
    "write_npz": "read",
    **dict.fromkeys(("report_page", "write_report"), "report"),
    **dict.fromkeys(("SpecOptions", "TraceSpec"), "spec"),
    **dict.fromkeys(("SynthConfig", "synthesise", "write_synthetic"), "synth"),
}


def __getattr__(name: str) -> Any:
    """Import a public name's home when it is first used: ``mgpu-trace --help`` needs no NumPy."""
    if name == "capture":  # the package itself can be called
        from importlib import import_module

        return import_module(f"{__name__}.capture")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
