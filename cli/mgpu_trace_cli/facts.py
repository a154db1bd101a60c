"""What ``info`` tells about a launch, as JSON-ready data and as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mgpu_trace.model import TrackFlag
from mgpu_trace_cli.report import accepted, summary_of

if TYPE_CHECKING:
    from mgpu_trace.pipeline import Launch

FLAGS: Final = {
    "overfull": TrackFlag.OVERFULL,
    "overwritten": TrackFlag.OVERWRITTEN,
    "broken": TrackFlag.BROKEN,
    "full": TrackFlag.FULL,
    "truncated": TrackFlag.TRUNCATED,
}


def facts_of(launch: Launch, allow_empty: bool = False) -> dict[str, Any]:
    """Everything that ``info --json`` prints about a launch; reads its runs (the schema: docs/cli.md)."""
    totals = launch.scan()
    n_slices = totals.n_slices_by_name
    known = range(len(launch.spec.names or ()))
    return {
        "schema": "mgpu-trace/info",
        "version": 1,
        "file": launch.source,
        "spec": launch.spec.to_dict(),
        "summary": {**summary_of(launch), "duration_ns": totals.end_ns},
        "tracks": _tracks(launch),
        "names": [
            {"id": i, "name": launch.spec.name_of(i), "n_slices": n_slices.get(i, 0)}
            for i in sorted({*known, *n_slices})
        ],
        "diagnostics": [finding.to_dict() for finding in accepted(launch.report, allow_empty)],
    }


def _tracks(launch: Launch) -> dict[str, Any]:
    tracks, spec = launch.tracks, launch.spec
    flags = {name: int(np.count_nonzero(tracks.flags & flag)) for name, flag in FLAGS.items()}
    events = tracks.n_events
    return {
        "n": len(tracks),
        "n_with_events": int(np.count_nonzero(events)),
        "n_blocks": spec.n_blocks,
        "tracks_per_block": spec.tracks_per_block,
        "sms": np.unique(tracks.sm[events > 0]).tolist(),
        "capacity_events": spec.capacity_events,
        "events": {"min": int(events.min()), "median": float(np.median(events)), "max": int(events.max())},
        "flags": flags,
    }


def lines_of(facts: dict[str, Any]) -> list[list[str]]:
    """The facts but for names and findings, as ``[what, value]``."""
    spec, tracks, summary = facts["spec"], facts["tracks"], facts["summary"]
    events, sms = tracks["events"], tracks["sms"]
    lines = [[what, str(spec[what])] for what in ("kernel", "device", "jax_version") if what in spec]
    lines += [
        ["grid", f"{_by(spec['grid'])}: {tracks['n_blocks']} blocks"],
        ["block", f"{_by(spec['block'])} threads: {tracks['tracks_per_block']} {spec['scope']}s"],
        ["track", f"{spec['words_per_track']} words: room for {tracks['capacity_events']} events"],
        ["tracks", f"{tracks['n']}, {tracks['n_with_events']} with events, on {len(sms)} SMs"],
        ["events", f"{events['min']} to {events['max']} a track, {events['median']:g} in the median"],
        ["slices", f"{summary['n_slices']}; {summary['n_lost_events']} events dropped"],
        ["duration", f"{summary['duration_ns']} {summary['clock']['unit']}"],
        ["clock", summary["clock"]["description"]],
    ]
    lines += [["assumed", sentence] for sentence in spec.get("assumed", ())]
    spoilt = [f"{n} {flag}" for flag, n in tracks["flags"].items() if n]
    return [*lines, ["losses", ", ".join(spoilt) if spoilt else "no track is full, overfull or broken"]]


def _by(sizes: list[int]) -> str:
    return "x".join(map(str, sizes))
