"""A launch as TOML: ``launch.toml``, whose keys are the command line's flags with underscores."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue

MAX_LAUNCH_FILE_BYTES: Final = 1 << 20
MAX_NUMBER: Final = 2**63 - 1

Parse = Callable[[Any], Any]


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_NUMBER:
        raise ValueError
    return value


def _sizes(value: Any) -> tuple[int, ...]:
    sizes = value if isinstance(value, list) else [value]
    if not sizes:
        raise ValueError
    return tuple(map(_number, sizes))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, value if isinstance(value, list) else [value]))


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


_NUMBER: Final = (_number, "a whole number")
_SIZES: Final = (_sizes, "a whole number or a list of them, such as 384 or [2, 3]")
_TEXT: Final = (_text, "a string")
_TEXTS: Final = (_texts, 'a string or a list of them, such as ["c", "t"]')
_TRUTH: Final = (_truth, "true or false")

# Key of the file -> field of LaunchConfig, how its value is read, and what it takes.
KEYS: Final[dict[str, tuple[str, tuple[Parse, str]]]] = {
    "grid": ("grid", _SIZES),
    "block": ("block", _SIZES),
    "cluster": ("cluster", _SIZES),
    "scope": ("scope", _TEXT),
    "entries": ("words_per_track", _NUMBER),
    "words_per_track": ("words_per_track", _NUMBER),
    "profile_space": ("profile_space", _NUMBER),
    "smem_bytes": ("smem_bytes", _NUMBER),
    "smem_limit": ("smem_limit_bytes", _NUMBER),
    "arch": ("arch", _TEXT),
    "events": ("n_events", _NUMBER),
    "ranges": ("n_ranges", _NUMBER),
    "names": ("names", _TEXTS),
    "n_names": ("n_names", _NUMBER),
    "thread_axis": ("thread_axis", _TEXT),
    "num_threads": ("num_threads", _NUMBER),
    "grid_axes": ("grid_axes", _TEXTS),
    "cluster_axes": ("cluster_axes", _TEXTS),
    "collective_axes": ("collective_axes", _TEXTS),
    "iterations": ("iterations", _NUMBER),
    "profile_dir": ("profile_dir", _TEXT),
    "bounds_checked": ("bounds_checked", _TRUTH),
    "nonportable_cluster": ("nonportable_cluster", _TRUTH),
    "jax_version": ("jax_version", _TEXT),
}


def read_launch_file(path: str) -> dict[str, Any]:
    """The fields of LaunchConfig that a launch file says.

    Raises
    ------
    MgpuTraceError
        MGT101 or MGT102 where there is no such file or it cannot be read, MGT213 where it is no TOML, or
        a key or a value is not one of ours. The file is named.
    """
    try:
        return launch_fields(_load(path))
    except MgpuTraceError as error:
        raise MgpuTraceError(error.diagnostic.in_file(path)) from None


def launch_fields(table: dict[str, Any]) -> dict[str, Any]:
    """The fields of LaunchConfig that the keys of ``table`` stand for, checked."""
    fields: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            raise _invalid(f"[{key[:80]}] is a table", "keys stand at the top level")
        if key not in KEYS:
            raise _invalid(f"{key[:80]} is no key of a launch file", _nearest(key))
        field, (parse, takes) = KEYS[key]
        try:
            parsed = parse(value)
        except ValueError:
            shown = repr(value)
            raise _invalid(f"{key} takes {takes}, not {shown[:60]}", "correct it") from None
        if field in fields:
            raise _invalid(f"{key} is given twice, under two names", "give it once")
        fields[field] = parsed
    if not fields:
        raise _invalid("it says nothing of a launch", f"the keys are {', '.join(KEYS)}")
    return fields


def _load(path: str) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_LAUNCH_FILE_BYTES + 1)
    except FileNotFoundError:
        raise MgpuTraceError(
            Diagnostic(catalogue.FILE_MISSING, "No such file or directory", hint="check the path")
        ) from None
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise MgpuTraceError(
            Diagnostic(catalogue.FILE_UNREADABLE, f"{said}", hint="name a file that can be read")
        ) from None
    if len(data) > MAX_LAUNCH_FILE_BYTES:
        raise _invalid(
            f"a launch file is not larger than {MAX_LAUNCH_FILE_BYTES >> 20} MiB", "check the path"
        )
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _invalid(f"not UTF-8 text (byte {error.start})", "save it as UTF-8") from None
    except RecursionError:
        raise _invalid("not valid TOML (nested too deeply)", "docs/cli.md shows one") from None
    except ValueError as error:  # also Python's refusal of numbers with thousands of digits
        raise _invalid(f"not valid TOML ({error})", "docs/cli.md shows one") from None


def _nearest(key: str) -> str:
    near = difflib.get_close_matches(key[:80].replace("-", "_"), KEYS, 1, 0.6)
    return f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"


def _invalid(message: str, hint: str) -> MgpuTraceError:
    return MgpuTraceError(Diagnostic(catalogue.LAUNCH_FILE_INVALID, message, hint=hint))
