"""Launches of the C++ recorder as data: what each thread does, what its clock says, what must come out.

What must come out is written from docs/format.md and the script alone: it knows neither the recorder nor
mgpu_trace's decoder.
"""

from __future__ import annotations

import codecs
import itertools
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXIT = 2**31
# MGPU_TRACE_NAMES of shim/run_script.cpp.
NAMES = ["load", "wait", "mma", 'say "hi" \\ \n\t\x01', "αβ 🔥"]
THREADS = {"warp": 32, "warpgroup": 128}

Dim3 = tuple[int, int, int]
Slice = tuple[int, int, int, int, bool]
"""Track, name id, start and duration in cycles, closed."""


@dataclass(frozen=True)
class Step:
    """``kind``: + enter, - leave, ( and ) a C++ scope, f finish; ``time`` counts on beyond 2^32."""

    kind: str
    id: int
    time: int


@dataclass(frozen=True)
class Program:
    start_ns: int
    sm: int
    steps: tuple[Step, ...]

    def kept(self, words: int) -> list[Step]:
        """The steps that are events in the buffer: until the track is finished, as many as fit."""
        until = itertools.takewhile(lambda step: step.kind != "f", self.steps)
        return list(until)[: (words - 3) // 2]


@dataclass
class Script:
    scope: str
    grid: Dim3
    block: Dim3
    words: int
    programs: list[Program]
    """One for each track, in the order of the buffer."""
    order: str = "through"
    memory: str = "dynamic"
    enabled: str = "yes"
    kernel_bytes: int = 0
    given_bytes: int = 0
    khz: int = 1_980_000
    kernel: bytes = b"scripted"
    device: bytes = b"shim"
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def tracks_per_block(self) -> int:
        x, y, z = self.block
        return x * y * z // THREADS[self.scope]

    @property
    def text(self) -> str:
        head = [self.scope, self.order, self.memory, self.enabled, self.words, *self.grid, *self.block]
        head += [self.kernel_bytes, self.given_bytes, self.khz]
        head += ["x" + self.kernel.hex(), "x" + self.device.hex(), len(self.programs)]
        lines = [" ".join(map(str, head))]
        if not self.programs:  # a launch that is refused; its sizes may be anything
            return lines[0]
        # Blocks in the order of the buffer: x is the slowest.
        blocks = itertools.product(*map(range, self.grid))
        places = ((*block, unit) for block in blocks for unit in range(self.tracks_per_block))
        for place, program in zip(places, self.programs, strict=True):
            lines.append(" ".join(map(str, (*place, program.start_ns, program.sm, len(program.steps)))))
            lines += [f"{step.kind} {step.id} {step.time % 2**32}" for step in program.steps]
        return "\n".join(lines)

    def run(self, program: Path, folder: Path, name: str = "out") -> subprocess.CompletedProcess[str]:
        """Run it; it writes ``name.npy`` and ``name.json`` in ``folder``."""
        (folder / "script").write_text(self.text)
        command = [str(program), str(folder / "script"), str(folder / name)]
        environment = {**os.environ, **self.environment}
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)

    def words_expected(self) -> list[list[int]]:
        """Every word of the buffer; the host clears it first, so unused words are 0."""
        rows = []
        for program in self.programs:
            events = program.kept(self.words)
            row = [program.start_ns, program.sm, 2 * len(events)]
            for step in events:
                row += [step.id + (EXIT if step.kind in "-)" else 0), step.time % 2**32]
            rows.append(row + [0] * (self.words - len(row)))
        return rows

    def slices_expected(self) -> list[Slice]:
        """By track and place of the enter."""
        return [s for track, p in enumerate(self.programs) for s in _paired(track, p.kept(self.words))]

    def truncated_expected(self) -> tuple[int, int]:
        """Full tracks with a slice that is left open, and full tracks without."""
        by_track = [
            (len(program.kept(self.words)), [closed for *_, closed in _paired(0, program.kept(self.words))])
            for program in self.programs
        ]
        full = [all(closed) for n_events, closed in by_track if n_events == (self.words - 3) // 2]
        return full.count(False), full.count(True)

    def sidecar_expected(self) -> dict[str, Any]:
        """The spec, but for the time; fields that are not known are left out."""
        spec = {
            "schema": "mgpu-trace/spec",
            "version": 1,
            "grid": list(self.grid),
            "block": list(self.block),
            "words_per_track": self.words,
            "scope": self.scope,
            "names": NAMES,
            "word2": "used",
            "bounds_checked": True,
            "device": self.device.decode("utf-8", "each-byte"),
        }
        if self.kernel:
            spec["kernel"] = self.kernel.decode("utf-8", "each-byte")
        if 1000 <= self.khz <= 10**8:
            spec["sm_clock_mhz"] = self.khz / 1000
        return spec


def _paired(track: int, steps: list[Step]) -> list[Slice]:
    regions: list[list[Any]] = []
    for number, step in enumerate(steps):
        if step.kind in "+(":
            regions.append([step.id, number, None])
        else:
            mine = [region for region in regions if region[0] == step.id and region[2] is None]
            if mine:
                mine[-1][2] = number
    last = len(steps) - 1
    times = [step.time - steps[0].time for step in steps]
    return [
        (track, name, times[begin], times[last if end is None else end] - times[begin], end is not None)
        for name, begin, end in regions
    ]


def _each_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("each-byte", _each_byte)
