"""One sentence for everything that can be found: counts and evidence become Diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mgpu_trace import layout
from mgpu_trace.decode.tally import Count, Tally
from mgpu_trace.diagnostics import Code, Diagnostic, Report, catalogue
from mgpu_trace.layout import Word2
from mgpu_trace.spec import TraceSpec

Sentence = Callable[[TraceSpec, Count], tuple[str, str]]


def report(spec: TraceSpec, tally: Tally) -> Report:
    """Every finding of ``tally`` as a Diagnostic with its first place and the way out."""
    return Report.of(_diagnostic(spec, code, count) for code, count in tally.items())


def _diagnostic(spec: TraceSpec, code: Code, count: Count) -> Diagnostic:
    message, hint = _SENTENCES[code](spec, count)
    return Diagnostic(code, message, count.n, *spec.place_of(count.track), hint)


def _n(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _where(spec: TraceSpec, count: Count) -> str:
    """The first place, such as ``block (0,0,0) warpgroup 2``."""
    block, unit = spec.place_of(count.track)
    place = "block ({},{},{})".format(*block) + f" {spec.scope.label} {unit}"
    return place if count.n == 1 else f"first {place}"


def _room_hint(used_words: int) -> str:
    """How much space would have been enough for a track that used that many words."""
    need = used_words + layout.HEADER_WORDS
    now = layout.profile_space_for(need)
    old = layout.profile_space_for(need, layout.PROFILE_SPACE_WORDS_BEFORE_0_10)
    return f"needs entries >= {need}: profile_space >= {now} (JAX 0.10 and later) or >= {old} (before)"


def _overfull(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'track')} used more words than fit: {_where(spec, c)} used {c.value} > capacity "
        f"{spec.capacity_words} words ({spec.capacity_events} events); the rest is lost",
        _room_hint(c.largest),
    )


def _overwritten(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'track')} overrun by the track before: {_where(spec, c)}, by {_n(c.value, 'word')}; first "
        f"{_n((c.value + 1) // layout.WORDS_PER_EVENT, 'event')} unreliable and left out",
        "give the overfull track more room (MGT301)",
    )


def _odd(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'track')} with an odd number of words used: {_where(spec, c)} says {c.value}; left empty",
        _other_variant(spec, c)
        or "memory corruption is likely: look for an overflow, give more profile_space",
    )


def _other_variant(spec: TraceSpec, c: Count) -> str:
    """Where most tracks are odd as the spec reads word 2, they are even as the other variant."""
    if spec.word2 is Word2.AUTO or 2 * c.n <= spec.n_tracks:
        return ""
    other = Word2.USED if spec.word2 is Word2.USED_PLUS_HEADER else Word2.USED_PLUS_HEADER
    return f"--word2 or the JAX version says that word 2 counts {spec.word2.value}; try --word2 {other.value}"


def _garbage_header(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'track')} with a garbage header: {_where(spec, c)} says {c.value} words used of "
        f"{spec.capacity_words}; left empty",
        "the block was not finished, or the spec is not this buffer's",
    )


def _no_events(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"no events in {_n(c.n, 'track')}",
        "the kernel never ran, or this is another array (--allow-empty)",
    )


def _empty(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return f"{_n(c.n, 'track')} of {spec.n_tracks} without events: {_where(spec, c)}", ""


def _implausible_sm(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'track')} with SM id {c.value}, which no GPU has: {_where(spec, c)}",
        "likely corruption",
    )


def _sm_mismatch(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'block')} whose tracks name different SMs: {_where(spec, c)}",
        "check --block and --scope; or the block was preempted",
    )


def _legacy(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return "legacy layout (JAX 0.7.2 and earlier): word 2 counts the header too", ""


def _no_starts(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        "no start times and no SM ids (JAX 0.4.31 and earlier): each track is shown from its first event",
        "",
    )


def _truncated(spec: TraceSpec, c: Count) -> tuple[str, str]:
    usable = spec.capacity_events * layout.WORDS_PER_EVENT
    return (
        f"{_n(c.n, 'track')} reached capacity ({usable} of {usable} usable words) with regions open: "
        f"trailing events lost; {_where(spec, c)}",
        f"raise entries above {spec.words_per_track} (profile_space above "
        f"{layout.profile_space_for(spec.words_per_track)} on JAX 0.10 and later)",
    )


def _maybe_truncated(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return f"{_n(c.n, 'track')} exactly full: possibly truncated; {_where(spec, c)}", ""


def _unclosed(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'region')} entered and never left: {_where(spec, c)}; closed at the track's last event",
        "",
    )


def _orphan(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return f"{_n(c.n, 'exit')} of a region that is not open: {_where(spec, c)}; left out", ""


def _crossing(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'track')} with regions that cross, drawn on extra lines: {_where(spec, c)}",
        "",
    )


def _unknown(spec: TraceSpec, c: Count) -> tuple[str, str]:
    ids = ", ".join(str(i) for i in sorted(c.ids)[:8]) + (", ..." if len(c.ids) > 8 else "")
    known = len(spec.names or ())
    return (
        f"{_n(c.n, 'slice')} with name ids that are not among the {_n(known, 'name')} given ({ids}): "
        f"{_where(spec, c)}",
        "give all names in the order of their ids (--names)",
    )


def _garbage_tag(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'event')} with a name id of {layout.MAX_NAME_ID + 1} or more: {_where(spec, c)}; left out",
        "the words were overwritten or never written: look for an overflow",
    )


def _step_back(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'track')} whose clock steps back by up to {_n(c.largest, 'cycle')}: {_where(spec, c)}",
        "",
    )


def _disorder(spec: TraceSpec, c: Count) -> tuple[str, str]:
    return (
        f"{_n(c.n, 'track')} with clock readings out of order by up to {_n(c.largest, 'cycle')}: "
        f"{_where(spec, c)}; levelled to their neighbours",
        "look for overwritten events; check the spec",
    )


_SENTENCES: Final[dict[Code, Sentence]] = {
    catalogue.OVERFULL_TRACK: _overfull,
    catalogue.OVERWRITTEN_TRACK: _overwritten,
    catalogue.ODD_COUNT: _odd,
    catalogue.GARBAGE_HEADER: _garbage_header,
    catalogue.NO_EVENTS: _no_events,
    catalogue.EMPTY_TRACKS: _empty,
    catalogue.IMPLAUSIBLE_SM: _implausible_sm,
    catalogue.SM_MISMATCH: _sm_mismatch,
    catalogue.LEGACY_LAYOUT: _legacy,
    catalogue.NO_START_TIMES: _no_starts,
    catalogue.TRUNCATED_TRACK: _truncated,
    catalogue.MAYBE_TRUNCATED: _maybe_truncated,
    catalogue.UNCLOSED_REGION: _unclosed,
    catalogue.ORPHAN_EXIT: _orphan,
    catalogue.CROSSING_REGIONS: _crossing,
    catalogue.UNKNOWN_NAME: _unknown,
    catalogue.GARBAGE_TAG: _garbage_tag,
    catalogue.CLOCK_STEP_BACK: _step_back,
    catalogue.CLOCK_DISORDER: _disorder,
}
