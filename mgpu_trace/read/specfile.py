"""The spec as JSON: the sidecar ``NAME.json`` beside ``NAME.npy``, and ``spec`` in the container."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.read.fields import CHECKS, SCHEMA, Said, check_fields, integer
from mgpu_trace.spec import SCHEMA_VERSION

MAX_SPEC_BYTES = 1 << 28
_HEAD_BYTES = 1 << 16

Found = tuple[Said, tuple[Diagnostic, ...]]


def read_sidecar(path: Path) -> Found:
    """The fields of the spec beside the buffer at ``path``; none where there is no such file.

    A Chrome trace of that name is no spec (``mgpu-trace dump a.npy -o a.json`` makes one) and is
    passed over.

    Raises
    ------
    MgpuTraceError
        MGT202 or MGT209, MGT102 when it cannot be read; its file is the sidecar.
    """
    beside = path.with_suffix(".json")
    if beside == path:
        return {}, ()
    try:
        text = _read(beside)
        if text is None:
            return {}, ()
        said, found = spec_from_json(text)
    except MgpuTraceError as error:
        raise MgpuTraceError(error.diagnostic.in_file(str(beside))) from None
    return said, tuple(d.in_file(str(beside)) for d in found)


def read_spec(path: str) -> Found:
    """The fields of a spec that is a file of its own; none where the file is no spec, or not there.

    Raises
    ------
    MgpuTraceError
        MGT202 or MGT209, MGT102 when it cannot be read, with the file named.
    """
    try:
        text = _read(Path(path))
        if text is None or not text.lstrip().startswith("{"):
            return {}, ()
        return spec_from_json(text)
    except MgpuTraceError as error:
        raise MgpuTraceError(error.diagnostic.in_file(path)) from None


def _read(path: Path) -> str | None:
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
            if _is_chrome_trace(head):
                return None
            # Asked for more than there is, read() would first make room for all of it.
            size = os.fstat(file.fileno()).st_size
            data = head + file.read(min(MAX_SPEC_BYTES, max(size, _HEAD_BYTES)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.FILE_UNREADABLE,
                f"the spec beside the buffer cannot be read: {error.strerror or error}",
                hint="check its permissions, or move it away and give the flags",
            )
        ) from None
    if len(data) > MAX_SPEC_BYTES:
        raise _invalid(f"a spec is not larger than {MAX_SPEC_BYTES >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _invalid(f"not UTF-8 text (byte {error.start})") from None


def _is_chrome_trace(head: bytes) -> bool:
    squeezed = b"".join(head.split())
    return SCHEMA.encode() not in head and (b'"traceEvents":' in squeezed or squeezed.startswith(b"[{"))


def spec_from_json(text: str) -> Found:
    """The fields that the JSON ``text`` says, and what was noticed about them.

    Raises
    ------
    MgpuTraceError
        MGT202 when it is no valid spec, MGT209 when a newer version wrote it.
    """
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except RecursionError:
        raise _invalid("not valid JSON (nested too deeply)") from None
    except ValueError as error:
        raise _invalid(f"not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise _invalid(f"a spec is a JSON object, not {json.dumps(value)[:40]}")
    return spec_from_dict(value)


def spec_from_dict(given: Mapping[str, Any]) -> Found:
    """Check a spec's fields (see docs/spec.md); the inverse of ``TraceSpec.to_dict``.

    Returns
    -------
    said
        The fields that were given, in the types of ``TraceSpec``; ``profile_space`` as it is.
    diagnostics
        MGT210 when there are fields that are not known.

    Raises
    ------
    MgpuTraceError
        MGT202 naming the field, MGT209 for a newer version.
    """
    schema = given.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise _invalid(f'schema must be "{SCHEMA}", not {json.dumps(schema)[:40]}')
    version = integer("version", given.get("version", SCHEMA_VERSION))
    if version > SCHEMA_VERSION:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.SPEC_NEWER,
                f"the spec has version {version}, this version of mgpu-trace knows {SCHEMA_VERSION}",
                hint="update mgpu-trace",
            )
        )
    return check_fields(given), _unknown(given)


def _unknown(given: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    known = (*CHECKS, "schema", "version")
    unknown = sorted(name for name in given if name not in known)
    if not unknown:
        return ()
    described = []
    for name in unknown[:5]:
        near = difflib.get_close_matches(name[:80], known, 1)
        described.append(f"{name[:80]} (did you mean {near[0]}?)" if near else name[:80])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    return (
        Diagnostic(
            catalogue.SPEC_UNKNOWN_FIELD,
            f"the spec's {', '.join(described)}{more} is not known and is ignored",
            count=len(unknown),
            hint="docs/spec.md lists the fields",
        ),
    )


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        twice = next(name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i]))
        raise ValueError(f"{twice[:80]} is given twice")
    return out


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _invalid(message: str) -> MgpuTraceError:
    return MgpuTraceError(
        Diagnostic(catalogue.SPEC_INVALID, message, hint="correct the spec (docs/spec.md), or give the flags")
    )
