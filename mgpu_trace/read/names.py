"""Region names as a person gives them: ``a,b,c``, or a file."""

from __future__ import annotations

import json
import os

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue

MAX_FILE_BYTES = 1 << 28


def parse_names(text: str) -> tuple[str, ...]:
    """The names that ``text`` says, by name id.

    A text that names an existing file is that file: a JSON list of strings, or one name a line
    (empty lines inside count: the place of a line is its id). Anything else is ``a,b,c``.

    Raises
    ------
    MgpuTraceError
        MGT208 when the file is neither, or cannot be read.
    """
    if _is_file(text):
        try:
            names = _from_file(text)
        except MgpuTraceError as error:
            raise MgpuTraceError(error.diagnostic.in_file(text)) from None
        _check_count(names)
        return names
    if not text:
        raise _invalid("no name is given")
    if text.endswith((".json", ".txt")) and "," not in text:
        raise _invalid(f"there is no file {text}")
    names = tuple(text.split(","))
    _check_count(names)
    return names


def _is_file(text: str) -> bool:
    try:
        return os.path.exists(text)
    except (OSError, ValueError):  # a NUL, or longer than a path can be
        return False


def _from_file(path: str) -> tuple[str, ...]:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _invalid(f"cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_FILE_BYTES:
        raise _invalid(f"is larger than {MAX_FILE_BYTES >> 20} MiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _invalid(f"is not UTF-8 text (byte {error.start})") from None
    if "\0" in text:
        raise _invalid("is binary, not text")
    if text.lstrip().startswith(("[", "{")):
        return _from_json(text)
    lines = text.replace("\r\n", "\n").split("\n")
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise _invalid("is empty")
    return tuple(lines)


def _from_json(text: str) -> tuple[str, ...]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"is not valid JSON ({error})") from None
    if not isinstance(value, list):
        raise _invalid("is a JSON object, not a list of strings")
    for at, name in enumerate(value):
        if not isinstance(name, str):
            raise _invalid(f"name {at} is {json.dumps(name)[:40]}, not a string")
    if not value:
        raise _invalid("is an empty list")
    return tuple(value)


def _check_count(names: tuple[str, ...]) -> None:
    if len(names) > layout.MAX_NAME_ID + 1:
        raise _invalid(f"{len(names)} names are more than the {layout.MAX_NAME_ID + 1} ids there are")


def _invalid(message: str) -> MgpuTraceError:
    return MgpuTraceError(
        Diagnostic(
            catalogue.NAMES_INVALID,
            message,
            hint="write a JSON list of strings, or one name a line, in the order of the ids",
        )
    )
