"""What really happened in a synthetic launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mgpu_trace.model import F64, I64, U32, Bool, TraceBuffer
from mgpu_trace.spec import TraceSpec

COLUMNS = ("track", "block", "unit", "sm", "name", "depth", "start_cyc", "dur_cyc", "start_ns", "recorded")


@dataclass(frozen=True, slots=True)
class Truth:
    """The true timeline, before any fault: one row per slice, by (track, enter), ``(n_slices,)``.

    Attributes
    ----------
    track, unit, block, sm
        Where it ran.
    name, depth
        Name id, and regions of its track around it.
    start_cyc, dur_cyc
        SM cycles since the launch began (all SMs run at one rate), and to its end.
    recorded
        Whether both of its events are in the track's words.
    sm_clock_khz, step_ns, launch_start_ns
        The clocks: rate, step of the global timer, and its 64-bit value when the launch began.
    faults
        What was broken and where: ``{"kind", "tracks"}`` each; the rows of those tracks tell what
        the track recorded before that.
    """

    track: I64
    block: I64
    unit: I64
    sm: I64
    name: I64
    depth: I64
    start_cyc: I64
    dur_cyc: I64
    recorded: Bool
    sm_clock_khz: int
    step_ns: int
    launch_start_ns: int
    faults: tuple[dict[str, Any], ...] = ()

    def __len__(self) -> int:
        return len(self.track)

    @property
    def start_ns(self) -> F64:
        """Nanoseconds since the launch began."""
        return self.start_cyc * 1e6 / self.sm_clock_khz

    @property
    def faulted_tracks(self) -> tuple[int, ...]:
        return tuple(sorted({t for fault in self.faults for t in fault["tracks"]}))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; ``rows`` has one list per slice, in the order of ``columns``."""
        columns = (getattr(self, name) for name in COLUMNS)
        return {
            "schema": "mgpu-trace/truth",
            "version": 1,
            "sm_clock_mhz": self.sm_clock_khz / 1000,
            "step_ns": self.step_ns,
            "launch_start_ns": self.launch_start_ns,
            "faults": list(self.faults),
            "columns": list(COLUMNS),
            "rows": [list(row) for row in zip(*(c.tolist() for c in columns), strict=True)],
        }


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A launch made on purpose.

    Attributes
    ----------
    words
        ``(n_tracks, words_per_track)`` words, as the device would have written them.
    spec
        What a reader is told about it.
    truth
        What really happened.
    """

    words: U32
    spec: TraceSpec
    truth: Truth

    @property
    def buffer(self) -> TraceBuffer:
        return TraceBuffer(self.spec, self.words)
