"""The fixtures are what fixtures/make.py makes, and give what their expected files say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mgpu_trace import MgpuTraceError, SpecOptions, load, open_launch
from mgpu_trace.diagnostics import catalogue
from mgpu_trace.diagnostics.catalogue import launches
from mgpu_trace.model import Timeline
from mgpu_trace.read.names import parse_names

FIXTURES = Path(__file__).parent.parent / "fixtures"
GOLDEN = sorted(FIXTURES.glob("golden/*.npy"))
BAD = json.loads((FIXTURES / "bad/index.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    timeline = load(path)
    assert tracks_as_text(timeline) == expected["tracks"]
    spec = timeline.spec
    places = {spec.block_xyz(b): b * spec.tracks_per_block for b in range(spec.n_blocks)}
    found = {d.code.id: [d.count, places[d.block] + (d.unit or 0)] for d in timeline.report if d.block}
    assert found == expected["codes"]


def tracks_as_text(timeline: Timeline) -> list[str]:
    tracks, slices, name_of = timeline.tracks, timeline.slices, timeline.spec.name_of
    lines = []
    for i in range(len(tracks)):
        where = f"{tracks.block[i]}.{tracks.unit[i]} sm {tracks.sm[i]} @{tracks.start_ns[i]}"
        line = f"{where} flags {tracks.flags[i]}:"
        mine = slices.where(slices.track == i)
        for j in range(len(mine)):
            assert mine.lane[j] == 0
            mark = "" if mine.closed[j] else "!"
            name = ">" * mine.depth[j] + name_of(int(mine.name[j]))
            line += f" {name} {mine.start_cyc[j]}+{mine.dur_cyc[j]}{mark};"
        lines.append(line)
    return lines


def test_golden_files_are_small() -> None:
    assert len(GOLDEN) >= 6
    for path in GOLDEN:
        assert path.stat().st_size < 16_000
        assert len(path.with_suffix(".expected.json").read_text(encoding="utf-8").splitlines()) < 100


def codes_of(path: Path, flags: dict[str, Any]) -> set[str]:
    """Every code that reading and decoding the file gives."""
    said = {k: v for k, v in flags.items() if k == "profile_space"}
    try:
        if "names" in flags:
            said["names"] = parse_names(str(path.parent / flags["names"]))
        launch = open_launch(path, SpecOptions(**said), overhead=flags.get("overhead", "none"))
        for _ in launch.runs():
            pass
    except MgpuTraceError as error:
        return {error.diagnostic.code.id}
    return {d.code.id for d in launch.report}


@pytest.mark.parametrize("entry", BAD, ids=lambda e: e["file"])
def test_bad(entry: dict[str, Any]) -> None:
    code, slug = Path(entry["file"]).stem.split("-", 1)
    known = catalogue.find(code)
    assert known is not None
    assert known.slug == slug
    assert code in entry["codes"]
    assert codes_of(FIXTURES / "bad" / entry["file"], entry["flags"]) == set(entry["codes"])


def test_every_code_of_a_buffer_has_a_file() -> None:
    # 101 and 102: no file, or one that cannot be opened. 6xx and on: not about what was read. Launches
    # have no buffer yet (tests/launch).
    elsewhere = {"MGT101", "MGT102"} | {c.id for c in launches.CODES}
    about_input = {c.id for c in catalogue.ALL if c.id < "MGT600"}
    assert {Path(e["file"]).name[:6] for e in BAD} == about_input - elsewhere


def test_made_again_they_are_the_same(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, FIXTURES / "make.py", tmp_path], stderr=subprocess.PIPE, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    for folder in ("golden", "bad"):
        committed = {p.name: p for p in (FIXTURES / folder).iterdir()}
        made = {p.name: p for p in (tmp_path / folder).iterdir()}
        assert sorted(made) == sorted(committed)
        for name, path in made.items():
            assert path.read_bytes() == committed[name].read_bytes(), name


def test_inputs_of_golden_are_sound_arrays() -> None:
    for path in GOLDEN:
        array = np.load(path, allow_pickle=False)
        assert array.dtype == np.dtype("<u4")
        assert array.ndim == 1
