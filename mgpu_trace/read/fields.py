"""The fields of a spec file: each one's name, and how its value is checked.

docs/spec.md describes them and docs/spec.schema.json repeats them; a test compares the three.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

from mgpu_trace import layout
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.layout import Scope, Word2
from mgpu_trace.spec import SpecOptions, is_sm_clock

SCHEMA: Final = "mgpu-trace/spec"
# The largest grid dimension CUDA has; no other number of a spec comes near it.
MAX_NUMBER: Final = 2**31 - 1
MAX_TIME_NS: Final = 2**63 - 1
# Names a spec may use for words_per_track besides it: JAX's own word.
WORDS_ALIASES: Final = ("words_per_track", "entries_per_warpgroup")
WORDS_FIELDS: Final = (*WORDS_ALIASES, "profile_space")

Said = dict[str, Any]
"""Fields of a spec that were said, checked: ``grid`` to ``assumed``."""


def _bad(field: str, wanted: str, value: Any) -> MgpuTraceError:
    shown = f"{value}" if isinstance(value, int) else json.dumps(value, default=str)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return MgpuTraceError(
        Diagnostic(
            catalogue.SPEC_INVALID,
            f"{field} must be {wanted}, not {shown}",
            hint="correct that field or flag (docs/spec.md)",
        )
    )


def integer(field: str, value: Any, lowest: int = 1, highest: int = MAX_NUMBER) -> int:
    """``value`` as a whole number of that range; MGT202, naming the field, when it is none."""
    wanted = f"a whole number from {lowest} to {highest}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _bad(field, wanted, value)
    number = operator.index(value)
    if not lowest <= number <= highest:
        raise _bad(field, wanted, number)
    return number


def _dims(field: str, value: Any) -> tuple[int, int, int]:
    dims = value if isinstance(value, list | tuple) else [value]
    if not 1 <= len(dims) <= 3:
        raise _bad(field, "one to three numbers", value)
    x, y, z = [integer(field, d) for d in dims] + [1] * (3 - len(dims))
    return (x, y, z)


def _words(field: str, value: Any) -> int:
    return integer(field, value, layout.HEADER_WORDS + 1)


def _index(field: str, value: Any) -> int:
    return integer(field, value, 0)


def _time(field: str, value: Any) -> int:
    return integer(field, value, 0, MAX_TIME_NS)


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _bad(field, "a string", value)
    return value


def _texts(field: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise _bad(field, "a list of strings", value)
    return tuple(value)


def _names(field: str, value: Any) -> tuple[str, ...]:
    names = _texts(field, value)
    if len(names) > layout.MAX_NAME_ID + 1:
        raise _bad(field, f"at most {layout.MAX_NAME_ID + 1} strings", len(names))
    return names


def _truth(field: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _bad(field, "true or false", value)
    return value


def _mhz(field: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not is_sm_clock(value):
        raise _bad(field, "a number from 1 to 100000", value)
    return float(value)


def _choice(*options: str) -> Callable[[str, Any], str]:
    def check(field: str, value: Any) -> str:
        if value not in options or not isinstance(value, str):
            raise _bad(field, " or ".join(json.dumps(o) for o in options), value)
        return value

    return check


def _scope(field: str, value: Any) -> Scope:
    if isinstance(value, Scope):
        return value
    return Scope[_choice(*(s.label for s in Scope))(field, value).upper()]


def _word2(field: str, value: Any) -> Word2:
    return value if isinstance(value, Word2) else Word2(_choice(*(w.value for w in Word2))(field, value))


CHECKS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "grid": _dims,
    "block": _dims,
    "words_per_track": _words,
    "entries_per_warpgroup": _words,
    "profile_space": integer,
    "scope": _scope,
    "names": _names,
    "word2": _word2,
    "bounds_checked": _truth,
    "kernel": _text,
    "device": _text,
    "jax_version": _text,
    "sm_clock_mhz": _mhz,
    "sm_clock_source": _choice("flag", "metadata"),
    "host_time_ns": _time,
    "host_time_before_ns": _time,
    "jaxlib_version": _text,
    "process": _index,
    "partition": _index,
    "n_partitions": integer,
    "device_id": _index,
    "launch": _index,
    "n_sms": integer,
    "assumed": _texts,
}


def check_fields(given: Mapping[str, Any]) -> Said:
    """Check every known field of ``given``; a null is a field that was not given.

    Raises
    ------
    MgpuTraceError
        MGT202, naming the field.
    """
    said = {name: check(name, given[name]) for name, check in CHECKS.items() if given.get(name) is not None}
    sizes = [name for name in WORDS_FIELDS if name in said]
    if len(sizes) > 1:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.SPEC_INVALID,
                f"{' and '.join(sizes)} are both given",
                hint="give one of them: they say the same thing",
            )
        )
    if "entries_per_warpgroup" in said:
        said["words_per_track"] = said.pop("entries_per_warpgroup")
    return said


def merge(file: Said, options: SpecOptions) -> Said:
    """What the file and the flags say together; the flags win."""
    flags = check_fields({f.name: getattr(options, f.name) for f in fields(options)})
    said = dict(file)
    if any(name in flags for name in WORDS_FIELDS):
        for name in WORDS_FIELDS:
            said.pop(name, None)
    # Whoever first said it, here and now it was a flag or a file.
    said.pop("sm_clock_source", None)
    if "sm_clock_mhz" in flags:
        flags["sm_clock_source"] = "flag"
    return {**said, **flags}
