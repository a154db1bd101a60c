"""MGT6xx: the output cannot be written as asked; MGT9xx: our own bug."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "CANNOT_WRITE",
    "COMPAT_DIFFERS",
    "COMPAT_LEFT_OUT",
    "INTERNAL",
    "NAME_ALTERED",
    "NOTHING_SELECTED",
    "OUTPUT_FOLDER",
    "OUT_OF_MEMORY",
    "TIME_TOO_LONG",
    "UNKNOWN_FORMAT",
]

OUTPUT_FOLDER: Final = Code(
    "MGT601",
    "output-folder",
    Severity.ERROR,
    "the output's folder does not exist",
    means="The folder in which the output was to be written is not there.",
    matters="Nothing was written.",
    todo="Create it, or correct the path.",
)

CANNOT_WRITE: Final = Code(
    "MGT602",
    "cannot-write",
    Severity.ERROR,
    "the output cannot be written",
    means="The operating system refused: no space left, no permission, an I/O error.",
    matters="No partial file is left behind.",
    todo="Read the system's own words in the message; write somewhere else.",
)

UNKNOWN_FORMAT: Final = Code(
    "MGT603",
    "unknown-format",
    Severity.ERROR,
    "the output's suffix is not a known format",
    means="The format follows from the suffix of the output's name, and this one is not known.",
    matters="Nothing was written.",
    todo="Use one of the suffixes in the message.",
)

NAME_ALTERED: Final = Code(
    "MGT604",
    "name-altered",
    Severity.INFO,
    "a name could not be written as it is",
    means="A name holds lone surrogates, which are not text, or is empty.",
    matters=(
        "Lone surrogates are written as U+FFFD; an empty name is written as '(empty name)', which a "
        "viewer would otherwise show as no name at all."
    ),
    todo="Rename the region.",
)

NOTHING_SELECTED: Final = Code(
    "MGT605",
    "nothing-selected",
    Severity.WARNING,
    "the selection matches nothing",
    means="No slice matches all the --select options.",
    matters="The output is valid and has no slices.",
    todo="Loosen the selection; mgpu-trace info lists the names and SMs.",
)

TIME_TOO_LONG: Final = Code(
    "MGT606",
    "time-too-long",
    Severity.ERROR,
    "times do not fit the trace format",
    means=(
        "A time is 2**51 nanoseconds (26 days) or more after the first event. Chrome JSON cannot hold "
        "it to the nanosecond."
    ),
    matters="The readings are garbage or the stated clock rate is far too low.",
    todo="Check --sm-clock-mhz, and validate the buffer.",
)

COMPAT_LEFT_OUT: Final = Code(
    "MGT607",
    "compat-left-out",
    Severity.WARNING,
    "tracks that JAX's dump refuses were left out",
    means=(
        "With --compat jax the output is the one of JAX's ProfilerSpec.dump. That refuses a whole buffer "
        "when one track is broken, overfull, overwritten or holds a tag that cannot be one."
    ),
    matters="The sound tracks are written as JAX would; nothing of the others is.",
    todo="Leave --compat jax out to see what can be read of them; MGT3xx and MGT4xx say what is wrong.",
)

COMPAT_DIFFERS: Final = Code(
    "MGT608",
    "compat-differs",
    Severity.INFO,
    "JAX's own numbers are other ones",
    means=(
        "JAX computes in 32 bits: times wrap at 2**32, a reading that steps back becomes a huge one, and "
        "where two events have the same clock its correction for probe cost turns into +1 per event."
    ),
    matters="With --compat jax the same formula is used in 64 bits, so these tracks differ from JAX's file.",
    todo="Nothing: the numbers here are the ones that JAX means.",
)

INTERNAL: Final = Code(
    "MGT901",
    "internal",
    Severity.ERROR,
    "a bug in mgpu-trace",
    means="Something happened that this program did not expect.",
    matters="The result cannot be trusted, so no file was written.",
    todo="Please report it with the file, if you may share it. MGPU_TRACE_DEBUG=1 shows the traceback.",
)

OUT_OF_MEMORY: Final = Code(
    "MGT902",
    "out-of-memory",
    Severity.ERROR,
    "the machine's memory is not enough",
    means="The operating system refused more memory.",
    matters="No file was written.",
    todo=(
        "A plain .npy or raw file is mapped and read in runs; a compressed .npz, a pipe and a single track "
        "of many millions of events are held in memory whole."
    ),
)

CODES: Final[tuple[Code, ...]] = (
    OUTPUT_FOLDER,
    CANNOT_WRITE,
    UNKNOWN_FORMAT,
    NAME_ALTERED,
    NOTHING_SELECTED,
    TIME_TOO_LONG,
    COMPAT_LEFT_OUT,
    COMPAT_DIFFERS,
    INTERNAL,
    OUT_OF_MEMORY,
)
