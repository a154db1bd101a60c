"""The contract with the compiler: what ``mgpu_trace.layout`` assumes, read from the PTX of profiled kernels.

The kernels are compiled here, by the JAX that is installed, and need no GPU. If JAX changes its layout, these
tests fail before a user's trace does.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from contract.checks import CHECKS, Facts, n_kept

from mgpu_trace import LaunchConfig
from mgpu_trace.layout import PROFILE_SPACE_WORDS, WORD_BYTES, WORDS_PER_EVENT, capacity_words

if TYPE_CHECKING:
    from contract.conftest import Compiled

KERNELS = [
    f"{maker}_{scope}_{warpgroups}{checked}"
    for maker in ("pallas", "mosaic")
    for scope in ("warpgroup", "warp")
    for warpgroups in (1, 3)
    for checked in ("", "_checked")
]
OTHERS = ["unrolled", "scratch", "overrun", "odd", "odd_single"]
CHECKED = [name for name in KERNELS if name.endswith("_checked")]
PTXAS = shutil.which("ptxas")


def test_every_kernel_is_tested(compiled: Compiled) -> None:
    assert set(compiled.names) <= {*KERNELS, *OTHERS}


@pytest.mark.parametrize("name", KERNELS + OTHERS)
def test_layout(compiled: Compiled, name: str) -> None:
    launch = compiled.launch(name)
    for check in CHECKS:
        check(launch)


@pytest.mark.parametrize("name", KERNELS + OTHERS)
def test_names_are_numbered_as_they_are_met(compiled: Compiled, name: str) -> None:
    facts = compiled.facts(name)
    expected = ["Init", "outer", "inner", "step"]
    expected += ["produce", "consume"] if facts.maker == "mosaic" else []
    assert facts.names == {name: i for i, name in enumerate(expected)}


@pytest.mark.parametrize("name", [name for name in KERNELS if name.startswith("pallas")])
def test_words_of_a_profile_space(compiled: Compiled, name: str) -> None:
    space = compiled.profile_space(name)
    assert space is not None
    assert compiled.facts(name).words_per_track == space * PROFILE_SPACE_WORDS


def test_pallas_turns_the_grid_round(compiled: Compiled) -> None:
    # Written (2, 3, 5): the axis that is written last is CUDA's x, and so the slowest in the buffer.
    assert compiled.facts("pallas_warpgroup_1").grid == (5, 3, 2)
    assert compiled.facts("mosaic_warpgroup_1").grid == (2, 3, 5)


@pytest.mark.parametrize(("name", "first"), [("unrolled", 0), ("scratch", 16)])
def test_the_area_comes_after_the_kernels_own_memory(compiled: Compiled, name: str, first: int) -> None:
    assert compiled.launch(name).area == first  # 12 bytes of its own, rounded up to a multiple of 8


@pytest.mark.parametrize("name", CHECKED)
def test_what_does_not_fit_is_dropped(compiled: Compiled, name: str) -> None:
    launch = compiled.launch(name)
    facts = launch.facts
    dropped = 0
    for track in launch.tracks:
        n_events = len(facts.program(track.block, track.unit))
        dropped += n_events - n_kept(facts, n_events)
        first = launch.area + track.unit * facts.track_bytes
        ends = [s.address.value + WORDS_PER_EVENT * WORD_BYTES - first for _, s in track.events]
        assert max(ends) <= capacity_words(facts.words_per_track) * WORD_BYTES
    assert dropped, "the kernel has no event too many, and shows nothing"


def test_what_does_not_fit_goes_on_into_the_next_track(compiled: Compiled) -> None:
    launch = compiled.launch("overrun")
    facts = launch.facts
    used = WORDS_PER_EVENT * len(facts.program((0, 0, 0), 0))
    assert used > facts.words_per_track
    first, second = launch.tracks[:2]
    stores = {s.address.value + k for _, s in first.events for k in range(WORDS_PER_EVENT * WORD_BYTES)}
    begin = launch.area + second.unit * facts.track_bytes
    # docs/format.md, "Overwritten": the first used - words_per_track words of the next one.
    hit = {byte for byte in stores if byte >= begin}
    assert hit == set(range(begin, begin + (used - facts.words_per_track) * WORD_BYTES))


def misaligned(compiled: Compiled, name: str) -> set[int]:
    """Units that store events at addresses that PTX does not allow for a pair of words."""
    tracks = compiled.launch(name).tracks
    pair = WORDS_PER_EVENT * WORD_BYTES
    return {track.unit for track in tracks for _, store in track.events if store.address.value % pair}


def findings(facts: Facts) -> set[str]:
    launch = LaunchConfig(block=facts.block, words_per_track=facts.words_per_track, scope=facts.scope.label)
    return {finding.code.id for finding in launch.check()}


def test_an_odd_number_of_words_misaligns_every_second_track(compiled: Compiled) -> None:
    assert compiled.facts("odd").words_per_track % 2 == 1
    assert misaligned(compiled, "odd") == {1}
    assert "MGT226" in findings(compiled.facts("odd"))


@pytest.mark.parametrize("name", ["odd_single", "overrun", "scratch", "unrolled", "mosaic_warp_3"])
def test_other_kernels_have_no_misaligned_tracks(compiled: Compiled, name: str) -> None:
    assert misaligned(compiled, name) == set()
    assert "MGT226" not in findings(compiled.facts(name))


def assembled(path: Path) -> str:
    """What ptxas says about the text."""
    assert PTXAS is not None
    text = path.read_text(encoding="ascii")
    target = re.search(r"\.target (\w+)", text)
    assert target is not None
    command = [PTXAS, f"-arch={target[1]}", str(path), "-o", str(path.with_suffix(".cubin"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stderr if done.returncode else ""


@pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed (CUDA 13)")
@pytest.mark.parametrize("name", KERNELS + OTHERS)
def test_the_assembler_takes_it(compiled: Compiled, name: str) -> None:
    complaint = assembled(compiled.path(name))
    if "Unsupported .version" in complaint:
        pytest.skip("this ptxas is older than the PTX")
    assert not complaint
