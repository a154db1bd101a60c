"""What a track is to record against what it has room for, and what that JAX can do about it."""

from __future__ import annotations

from collections.abc import Iterator

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.launch.config import LaunchConfig
from mgpu_trace.launch.facts import EVENTS_PER_RANGE, INIT_RANGES, LaunchFacts
from mgpu_trace.launch.releases import BOUNDS_CHECK, has


def rules(config: LaunchConfig, facts: LaunchFacts) -> Iterator[Diagnostic]:
    """MGT228 and 229."""
    needed, words, capacity = facts.needed_words, facts.words_per_track, facts.capacity_events
    if not words or needed is None or capacity is None:
        return
    events = _events(config)
    if events <= capacity:
        return
    what = (
        f"{_said(config, events)} do not fit into a track of {words} words: "
        f"{counted(events - capacity, 'event')} too many"
    )
    fits = _what_would(facts, needed)
    if config.bounds_checked:
        yield Diagnostic(catalogue.LAUNCH_TRUNCATES, f"{what}, and the last ones are dropped", hint=fits)
        return
    instead = "profile_bounds_check drops them instead"
    if config.jax_version is None or not has(config, BOUNDS_CHECK):
        instead += " (JAX 0.11.1 and later)"
    yield Diagnostic(
        catalogue.LAUNCH_OVERFLOWS,
        f"{what}, unchecked: {_consequence(events, words)}",
        hint=f"{fits}; {instead}",
    )


def _events(config: LaunchConfig) -> int:
    if config.n_ranges is not None:
        return (config.n_ranges + INIT_RANGES) * EVENTS_PER_RANGE
    assert config.n_events is not None
    return config.n_events


def _consequence(events: int, words: int) -> str:
    """What happens to events without room: tracks have no header in shared memory, only in the buffer."""
    over = events * layout.WORDS_PER_EVENT - words
    if over <= 0:
        return "the last ones are lost, and JAX refuses the whole buffer"
    return f"they overwrite {counted(over, 'word')} of shared memory behind the track"


def _said(config: LaunchConfig, events: int) -> str:
    if config.n_ranges is None:
        return counted(events, "event")
    return f"Init and {counted(config.n_ranges, 'range')} ({events} events)"


def _what_would(facts: LaunchFacts, needed: int) -> str:
    units = layout.profile_space_for(needed, facts.words_per_profile_space)
    most = facts.most_words_per_track
    if most is not None and needed > most:
        return f"they need {needed} words, and shared memory has room for {most}: record less"
    return f"profile_space {units} or entries {needed} would hold them"
