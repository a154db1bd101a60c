"""MGT1xx: the file cannot be read, or is not what it says it is."""

from __future__ import annotations

from typing import Final

from mgpu_trace.diagnostics import Code, Severity

__all__ = [
    "ARRAY_CHOICE",
    "BAD_DTYPE",
    "CONTAINER_CORRUPT",
    "FILE_EMPTY",
    "FILE_MISSING",
    "FILE_TRUNCATED",
    "FILE_UNREADABLE",
    "NOT_A_BUFFER",
    "OBJECT_ARRAY",
    "RAGGED_BYTES",
    "TRAILING_BYTES",
    "VALUE_RANGE",
    "WIDE_DTYPE",
]

FILE_MISSING: Final = Code(
    "MGT101",
    "file-missing",
    Severity.ERROR,
    "the file does not exist",
    means="No file of that name is there.",
    matters="There is nothing to decode.",
    todo="Check the path.",
)

FILE_UNREADABLE: Final = Code(
    "MGT102",
    "file-unreadable",
    Severity.ERROR,
    "the file cannot be opened or read",
    means=(
        "The operating system refused to open or read the file: permissions, a folder, a device, an "
        "I/O error."
    ),
    matters="There is nothing to decode.",
    todo=(
        "Read the system's own words in the message; name a file, not a folder, and check its permissions."
    ),
)

FILE_EMPTY: Final = Code(
    "MGT103",
    "file-empty",
    Severity.ERROR,
    "the file has no bytes",
    means="The file exists and is empty.",
    matters=(
        "JAX creates its output before it decodes, so a dump that failed leaves a file of 0 bytes. An "
        "interrupted copy does the same."
    ),
    todo="Record the launch again. JAX's own message at that time says why its dump failed.",
)

NOT_A_BUFFER: Final = Code(
    "MGT104",
    "not-a-buffer",
    Severity.ERROR,
    "the file is not a profile buffer",
    means="The first bytes belong to something else: text, JSON, an image, an archive of another kind.",
    matters="Reading it as words would make up a timeline.",
    todo=(
        "Give the raw uint32 buffer (.npy, .npz, .bin, .u32), not a trace that was already converted. "
        "A raw file of another suffix can be piped in with '-'."
    ),
)

FILE_TRUNCATED: Final = Code(
    "MGT105",
    "file-truncated",
    Severity.ERROR,
    "the file ends before its data does",
    means="The file's own header promises more data than the file holds.",
    matters="The missing part would have to be made up.",
    todo=("Copy or record the file again; the usual causes are a full disk and a copy that was interrupted."),
)

OBJECT_ARRAY: Final = Code(
    "MGT106",
    "object-array",
    Severity.ERROR,
    "the array holds Python objects",
    means="The .npy or .npz stores pickled Python objects.",
    matters="Unpickling runs code from the file, so it is never done here.",
    todo="Save the buffer as numbers: numpy.save(path, numpy.asarray(buffer, dtype=numpy.uint32)).",
)

BAD_DTYPE: Final = Code(
    "MGT107",
    "bad-dtype",
    Severity.ERROR,
    "the array does not hold integers",
    means="The array's type is floating point, boolean, complex, text or a record, not an integer.",
    matters=(
        "A profile buffer is 32-bit words; a conversion to another type has usually destroyed the "
        "clock readings."
    ),
    todo="Save the buffer that the kernel wrote, as uint32, without a conversion.",
)

VALUE_RANGE: Final = Code(
    "MGT108",
    "value-range",
    Severity.ERROR,
    "a value does not fit in 32 bits",
    means=("The array's type is wider than 32 bits and at least one value lies outside the range of a word."),
    matters="The array cannot be a profile buffer as the kernel wrote it.",
    todo="Save the buffer as uint32 where it is made.",
)

ARRAY_CHOICE: Final = Code(
    "MGT109",
    "array-choice",
    Severity.ERROR,
    "the .npz does not say which array is the buffer",
    means="The .npz holds several arrays, or none of the name that was asked for.",
    matters="Decoding the wrong array would make up a timeline.",
    todo="Name one with --array NAME; the message lists what is there.",
)

CONTAINER_CORRUPT: Final = Code(
    "MGT110",
    "container-corrupt",
    Severity.ERROR,
    "the container is damaged",
    means="The .npy header or the .npz archive cannot be parsed.",
    matters="What the damaged part held cannot be known.",
    todo="Copy or record the file again.",
)

RAGGED_BYTES: Final = Code(
    "MGT111",
    "ragged-bytes",
    Severity.ERROR,
    "the raw file is not a whole number of 32-bit words",
    means="The size of the raw file is not a multiple of 4 bytes.",
    matters="Bytes are missing or were added, so every word after that place would be wrong.",
    todo="Copy the file again in binary mode.",
)

WIDE_DTYPE: Final = Code(
    "MGT112",
    "wide-dtype",
    Severity.INFO,
    "the array's type is not uint32, and every value fits",
    means=(
        "The words were stored as another integer type. All of them fit into 32 bits and are used as "
        "they are; negative ones are taken as their 32-bit pattern."
    ),
    matters="Nothing is lost. The file is larger than it need be, and is converted in memory.",
    todo="Save the buffer as uint32.",
)

TRAILING_BYTES: Final = Code(
    "MGT113",
    "trailing-bytes",
    Severity.WARNING,
    "the file goes on after its array",
    means="The .npy holds more bytes than its own header promises.",
    matters="The array is complete and is decoded. What follows it, perhaps a second array, is not read.",
    todo="Save every array to a file of its own; numpy.save called twice on one open file does this.",
)

CODES: Final[tuple[Code, ...]] = (
    FILE_MISSING,
    FILE_UNREADABLE,
    FILE_EMPTY,
    NOT_A_BUFFER,
    FILE_TRUNCATED,
    OBJECT_ARRAY,
    BAD_DTYPE,
    VALUE_RANGE,
    ARRAY_CHOICE,
    CONTAINER_CORRUPT,
    RAGGED_BYTES,
    WIDE_DTYPE,
    TRAILING_BYTES,
)
