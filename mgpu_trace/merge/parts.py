"""The files that a plan becomes, and how large each will be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mgpu_trace.diagnostics.clip import counted
from mgpu_trace.export.output import format_of
from mgpu_trace.merge.plan import Placed, Plan

# Bytes of a trace, measured on launches of a million events (docs/scale.md): each event, and each track.
_BYTES_PER_EVENT: Final = {"json": 48, "perfetto": 24}
_BYTES_PER_TRACK: Final = {"json": 120, "perfetto": 90}
# What compression leaves of JSON and of packets.
_PACKED: Final = {"json": 0.13, "perfetto": 0.25}
# The UI loads a trace of that size in a browser's memory.
LOADS_BYTES: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Part:
    """What goes into one file."""

    path: str
    launches: tuple[Placed, ...]
    predicted_bytes: int
    unpacked_bytes: int


def parts_of(plan: Plan, path: str, max_bytes: int | None = None) -> list[Part]:
    """The files that a plan becomes: one, or as many in the order of time as keep each below a size.

    A launch is never divided: one that is larger than the size alone has a part of its own.
    """
    kind, factor = _kind(path)
    groups: list[list[Placed]] = [[]]
    sizes = [0]
    for launch in plan.launches:
        size = size_of(launch, kind)
        if max_bytes is not None and groups[-1] and factor * (sizes[-1] + size) > max_bytes:
            groups.append([])
            sizes.append(0)
        groups[-1].append(launch)
        sizes[-1] += size
    names = [path] if len(groups) == 1 else [_part_name(path, i, len(groups)) for i in range(len(groups))]
    return [
        Part(name, tuple(group), int(factor * size), size)
        for name, group, size in zip(names, groups, sizes, strict=True)
    ]


def size_of(launch: Placed, kind: str) -> int:
    """About how many bytes a launch takes in a trace that is not compressed."""
    entry = launch.entry
    return _BYTES_PER_EVENT[kind] * entry.n_events + _BYTES_PER_TRACK[kind] * entry.n_tracks + 2000


def _kind(path: str) -> tuple[str, float]:
    kind = format_of(path)
    return kind, _PACKED[kind] if path.lower().endswith(".gz") else 1.0


def _part_name(path: str, part: int, n_parts: int) -> str:
    folder, name = os.path.split(path)
    stem, dot, suffix = name.partition(".")
    digits = len(str(n_parts))
    return os.path.join(folder, f"{stem}.part{part + 1:0{digits}}of{n_parts}{dot}{suffix}")


def describe(parts: Sequence[Part]) -> Iterator[str]:
    """What will be written, in lines for people."""
    for part in parts:
        said = f"{part.path}: {counted(len(part.launches), 'launch')}, about {_mb(part.predicted_bytes)}"
        if part.unpacked_bytes > LOADS_BYTES:
            said += (
                f" ({_mb(part.unpacked_bytes)} unpacked: more than a browser loads; --max-size makes parts "
                "that do)"
            )
        yield said


def _mb(n_bytes: int) -> str:
    if n_bytes < 1e6:
        return f"{n_bytes / 1e3:.0f} kB"
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:.1f} GB"
