"""What ``validate`` shows of a launch, as JSON-ready data and as lines for people."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.layout import Scope
from mgpu_trace.spec import by

if TYPE_CHECKING:
    from mgpu_trace.launch import LaunchConfig, LaunchFacts


def launch_to_dict(config: LaunchConfig) -> dict[str, Any]:
    """The launch and what follows from it (the schema: docs/cli.md)."""
    said = {field.name: getattr(config, field.name) for field in fields(config)}
    said["scope"] = _scope(config)
    kept = {name: list(v) if isinstance(v, tuple) else v for name, v in said.items() if v is not None}
    return {"config": kept, "facts": config.facts.to_dict()}


def lines_of(config: LaunchConfig) -> list[list[str]]:
    """The facts that follow, as ``[what, value]``; what does not follow is left out."""
    facts = config.facts
    lines = [
        ["block", _block(config, facts)],
        ["grid", _grid(config, facts)],
        ["cluster", by(config.cluster or ())],
        ["track", _track(config, facts)],
        ["buffer", _buffer(facts)],
        ["shared memory", _memory(config, facts)],
        ["room for", _most(facts)],
        ["to record", _needed(facts)],
        ["names", f"{facts.name_ids_left} ids left" if facts.name_ids_left is not None else ""],
    ]
    return [line for line in lines if line[1]] + [["assumed", sentence] for sentence in facts.assumed]


def _scope(config: LaunchConfig) -> str:
    return config.scope.label if isinstance(config.scope, Scope) else config.scope


def _block(config: LaunchConfig, facts: LaunchFacts) -> str:
    if facts.n_threads is None:
        return ""
    said = f"{by(config.block)}: " if config.block is not None and len(config.block) > 1 else ""
    tracks = facts.tracks_per_block
    shared = f", {counted(tracks, _scope(config))}" if tracks else ""
    return f"{said}{counted(facts.n_threads, 'thread')}{shared}"


def _grid(config: LaunchConfig, facts: LaunchFacts) -> str:
    if config.grid is None:
        return ""
    tracks = f", {facts.n_tracks} tracks" if facts.n_tracks is not None else ""
    return f"{by(config.grid)}: {counted(facts.n_blocks or 0, 'block')}{tracks}"


def _track(config: LaunchConfig, facts: LaunchFacts) -> str:
    if facts.words_per_track is None:
        return ""
    units = f" (profile_space {config.profile_space})" if config.profile_space else ""
    ranges = f"Init and {facts.own_ranges} of the kernel's own" if facts.ranges else "not even Init"
    return (
        f"{counted(facts.words_per_track, 'word')}{units}: {counted(facts.capacity_events or 0, 'event')}, "
        f"{counted(facts.ranges or 0, 'range')} "
        f"({ranges})" + (", 1 word unused" if facts.unused_words else "")
    )


def _buffer(facts: LaunchFacts) -> str:
    return f"{facts.n_words} words, {facts.buffer_bytes} bytes on the device" if facts.n_words else ""


def _memory(config: LaunchConfig, facts: LaunchFacts) -> str:
    if facts.n_threads is None and config.smem_bytes is None:
        return ""
    whose = f" ({facts.smem_limit_source})" if facts.smem_limit_source.startswith("sm_") else ""
    if facts.smem_total_bytes is None:
        return f"{config.smem_bytes or 0} of {facts.smem_limit_bytes} bytes{whose}, without the profile"
    left = facts.smem_left_bytes or 0
    return (
        f"{facts.smem_start_bytes} + {facts.smem_profile_bytes} for the profile = {facts.smem_total_bytes} "
        f"of {facts.smem_limit_bytes} bytes{whose}, " + (f"{left} left" if left >= 0 else f"{-left} too many")
    )


def _most(facts: LaunchFacts) -> str:
    if facts.most_words_per_track is None:
        return ""
    return f"profile_space {facts.most_profile_space} or entries {facts.most_words_per_track} at most"


def _needed(facts: LaunchFacts) -> str:
    if facts.needed_words is None:
        return ""
    if not facts.words_per_track:
        return f"at least {facts.needed_words} words a track"
    fits = "fits" if facts.needed_words <= facts.words_per_track else "does not fit"
    return f"at least {facts.needed_words} words a track: {fits}"
