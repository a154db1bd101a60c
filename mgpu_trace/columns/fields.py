"""The four tables: every column's name, type, unit and meaning. The only list of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from mgpu_trace.columns import EXTRA
from mgpu_trace.extras import needs

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = Literal["bool", "int16", "int32", "int64", "float64", "text", "choice"]


@dataclass(frozen=True, slots=True)
class Field:
    """One column.

    Attributes
    ----------
    name, about
        What it is called, and what it holds in a few words.
    kind
        Its type; ``text`` is UTF-8, ``choice`` the same with each text held once (a dictionary).
    unit
        ``"ns"``, ``"cyc"``, ``"mhz"``, ``"ppm"``, ``"words"``; empty where there is none.
    may_be_null
        Whether the value may be unknown.
    """

    name: str
    kind: Kind
    about: str
    unit: str = ""
    may_be_null: bool = False

    def to_arrow(self) -> Any:
        """The field of pyarrow, its unit in the metadata."""
        pa = needs("pyarrow", EXTRA, "a table")
        kinds = {"text": pa.string(), "choice": pa.dictionary(pa.int32(), pa.string())}
        kind = kinds.get(self.kind) or getattr(pa, "bool_" if self.kind == "bool" else self.kind)()
        about = {"unit": self.unit, "description": self.about}
        return pa.field(self.name, kind, self.may_be_null, {k: v for k, v in about.items() if v})


_RATE: Final = "null where no rate is known"

FILE: Final = Field("file", "choice", "the file it is from, as it was given", may_be_null=True)

# Where the track of a row lies.
_PLACE: Final = (
    Field("track", "int32", "row of the track in the buffer"),
    Field("block", "int32", "block of the grid, counted with z fastest"),
    Field("block_x", "int32", "its index in the grid"),
    Field("block_y", "int32", "its index in the grid"),
    Field("block_z", "int32", "its index in the grid"),
    Field("unit", "int32", "warp or warpgroup in the block"),
    Field("role", "choice", "the unit's name, where --role gives it one", may_be_null=True),
    Field("sm", "int64", "SM, as the header has it"),
)

# Those that are left out where they were not asked for.
INDEX: Final = Field("index", "int64", "occurrence of the name in its track: 0, 1, 2, ...")
REMOVED: Final = Field("removed_cyc", "int64", "probe cost taken off dur_cyc (--overhead)", "cyc")

SLICES: Final = (
    *_PLACE,
    Field("region", "choice", "name of the region"),
    Field("name_id", "int32", "its id in the buffer"),
    Field("depth", "int16", "regions open around it in its lane"),
    Field("lane", "int32", "0, or the line to draw it on where regions of a track cross"),
    INDEX,
    Field("start_cyc", "int64", "enter, since the track's first event", "cyc"),
    Field("dur_cyc", "int64", "from enter to exit", "cyc"),
    REMOVED,
    Field("begin_ns", "int64", f"enter, since the launch's first event; {_RATE}", "ns", may_be_null=True),
    Field("end_ns", "int64", f"exit, likewise; {_RATE}", "ns", may_be_null=True),
    Field("dur_ns", "float64", f"dur_cyc in nanoseconds, not rounded; {_RATE}", "ns", may_be_null=True),
    Field("closed", "bool", "whether its exit was found; else it ends at the track's last event"),
    Field("truncated", "bool", "whether it is not closed and its track is known to have lost its tail"),
)

TRACKS: Final = (
    *_PLACE,
    Field("start_ns", "int64", "low 32 bits of the global timer, as the header has them", "ns"),
    Field("first_ns", "int64", f"first event, since the launch's first; {_RATE}", "ns", may_be_null=True),
    Field("origin_cyc", "int64", "the same in cycles; exact between tracks of one SM", "cyc", True),
    Field("n_events", "int64", "events that can be read"),
    Field("n_skipped", "int64", "of them, those that another track overwrote"),
    Field("n_slices", "int64", "slices here, of those selected"),
    Field("overfull", "bool", "wrote past its words: its tail is lost"),
    Field("overwritten", "bool", "its first events were overwritten by a track before it"),
    Field("broken", "bool", "its header cannot be trusted: no events are read"),
    Field("full", "bool", "exactly full: it may be a prefix"),
    Field("truncated", "bool", "full with regions still open: later events were dropped"),
    Field("unreadable", "bool", "has events, but no tag among them can be one"),
)

LAUNCH: Final = (
    Field("kernel", "text", "name of the kernel", may_be_null=True),
    Field("device", "text", "the GPU", may_be_null=True),
    Field("jax_version", "text", "the JAX that made the kernel", may_be_null=True),
    Field("process", "int64", "process of the run", may_be_null=True),
    Field("device_id", "int64", "JAX's id of the device", may_be_null=True),
    Field("launch", "int64", "which launch of the kernel there", may_be_null=True),
    Field("host_time_ns", "int64", "UNIX time at which it was over", "ns", may_be_null=True),
    *(Field(f"grid_{axis}", "int64", "blocks of the grid") for axis in "xyz"),
    *(Field(f"threads_{axis}", "int64", "threads of a block") for axis in "xyz"),
    Field("scope", "text", "whose events share a track: warp or warpgroup"),
    Field("words_per_track", "int64", "words of one track, header included", "words"),
    Field("n_blocks", "int64", "blocks of the grid, all three axes"),
    Field("tracks_per_block", "int64", "tracks of a block"),
    Field("n_tracks", "int64", "tracks, whatever is selected"),
    Field("n_slices", "int64", "slices, of those selected"),
    Field("n_lost_events", "int64", "events known to be lost, left out or overwritten", may_be_null=True),
    Field("n_errors", "int64", "findings that are errors"),
    Field("n_warnings", "int64", "findings that are warnings"),
    Field("sm_clock_mhz", "float64", "the SM clock's rate, null where it is not known", "mhz", True),
    Field("sm_clock_source", "text", "who says so: flag, metadata, data, nominal, none"),
    Field("sm_clock_uncertainty_ppm", "float64", "of an estimated rate", "ppm", may_be_null=True),
    Field("globaltimer_step_ns", "int64", "step of the global timer", "ns", may_be_null=True),
    Field("sm_alignment_ns", "float64", "how far two SMs may be off against each other", "ns", True),
    Field("overhead_cyc", "int64", "probe cost taken off per event", "cyc"),
    Field("duration_ns", "int64", f"end of the last slice; {_RATE}", "ns", may_be_null=True),
)

NAMES: Final = (
    Field("name_id", "int32", "id in the buffer"),
    Field("region", "text", "name of the region"),
    Field("n_slices", "int64", "slices of that name, of those selected"),
)

# Of SQL: all rows of all files, and which file each is from.
TABLES: Final = {
    "slices": (FILE, *SLICES),
    "tracks": (FILE, *TRACKS),
    "launch": (FILE, *LAUNCH),
    "names": (FILE, *NAMES),
}


def schema_of(fields: Iterable[Field], metadata: dict[str, str] | None = None) -> Any:
    """The schema of pyarrow with these columns."""
    pa = needs("pyarrow", EXTRA, "a table")
    return pa.schema([field.to_arrow() for field in fields], metadata)
