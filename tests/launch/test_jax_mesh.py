"""``plgpu.Mesh`` and ``plgpu.CompilerParams``: what their constructors refuse, against our findings."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax_launch import BOUNDS_CHECK, JAX_VERSION, SCOPES, Mesh, mesh_refusal, pallas_lowered, plgpu, refusal

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.launch import LaunchConfig
from mgpu_trace.layout import Scope

MESH_CODES = {
    "cluster= must be at most 3D": "MGT232",
    "grid_names must have": "MGT234",
    "cluster_names must have": "MGT234",
    "num_threads and thread_name": "MGT235",
    "Requested too many CUDA threads": "MGT222",
}


def checked(**fields: Any) -> tuple[Diagnostic, ...]:
    return LaunchConfig(**fields, jax_version=JAX_VERSION).check().diagnostics


def of_codes(found: tuple[Diagnostic, ...], *codes: str) -> list[tuple[str, str]]:
    return [(finding.code.id, finding.message) for finding in found if finding.code.id in codes]


@st.composite
def meshes(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of ``plgpu.Mesh``; each part is wrong about half of the time."""
    number_of_names = st.sampled_from((0, 0, 0, 1, -1))
    grid = draw(st.lists(st.integers(1, 5), max_size=3))
    cluster = draw(st.lists(st.integers(1, 2), max_size=4))
    n_threads = draw(st.none() | st.integers(1, 16) | st.integers(15, 40))
    named = draw(st.booleans()) if draw(st.booleans()) else n_threads is not None
    return {
        "grid": tuple(grid),
        "grid_names": _names("g", len(grid) + draw(number_of_names)),
        "cluster": tuple(cluster),
        "cluster_names": _names("c", len(cluster) + draw(number_of_names)),
        "num_threads": n_threads,
        "thread_name": "t" if named else None,
    }


def _names(letter: str, number: int) -> tuple[str, ...]:
    return tuple(f"{letter}{i}" for i in range(number))


def our_names(axes: dict[str, Any]) -> dict[str, Any]:
    ours = {"grid_names": "grid_axes", "cluster_names": "cluster_axes", "thread_name": "thread_axis"}
    return {ours.get(name, name): value for name, value in axes.items()}


def jax_refusals(axes: dict[str, Any]) -> list[str]:
    """All that JAX has against a mesh. It stops at the first, so each part is put into a mesh of its own."""
    parts: list[dict[str, Any]] = [
        {"grid": axes["grid"], "grid_names": axes["grid_names"]},
        {"cluster": axes["cluster"], "cluster_names": axes["cluster_names"]},
        {"num_threads": axes["num_threads"], "thread_name": axes["thread_name"]},
    ]
    if axes["num_threads"] is not None:
        parts.append({"num_threads": axes["num_threads"], "thread_name": "t"})
    if len(axes["cluster"]) > 3 and len(axes["cluster"]) != len(axes["cluster_names"]):
        # The names of a cluster that is refused for its dimensions, seen on one that is not.
        parts.append({"cluster": (1,), "cluster_names": ()})
    return sorted({sentence for part in parts if (sentence := mesh_refusal(**part)) is not None})


@settings(max_examples=300)
@given(meshes())
def test_meshes(axes: dict[str, Any]) -> None:
    # A Mesh's grid counts clusters: this one never divides wrongly, ours is in blocks and could.
    found = of_codes(checked(**our_names(axes)), *MESH_CODES.values())
    refusals = jax_refusals(axes)
    first = mesh_refusal(**axes)
    assert (first is None) == (not found)
    assert first is None or first in refusals
    assert len(found) == len(refusals)
    for sentence in refusals:
        (code,) = (code for start, code in MESH_CODES.items() if sentence.startswith(start))
        assert [1 for ours, message in found if ours == code and message.startswith(sentence)] == [1]


@pytest.mark.parametrize("n_threads", [1, 15, 16, 17, 18, 1000])
def test_sixteen_threads_are_the_most(n_threads: int) -> None:
    sentence = mesh_refusal(num_threads=n_threads, thread_name="t")
    found = checked(num_threads=n_threads, thread_axis="t")
    assert (sentence is None) == (n_threads <= 16)
    assert len(of_codes(found, "MGT222")) == (sentence is not None)
    # JAX lets 9 to 16 pass, and CUDA does not.
    assert bool(of_codes(found, "MGT221")) == (8 < n_threads <= 16)


SPACES = (0, 1, 7, 4096)
DIRECTORIES = ("", "profiles")


@pytest.mark.parametrize("bounds_checked", [None, False, True])
@pytest.mark.parametrize("scope", list(Scope), ids=lambda scope: scope.label)
def test_profile_space_and_directory(scope: Scope, bounds_checked: bool | None) -> None:
    parameters: dict[str, Any] = {}
    if len(SCOPES) > 1:
        parameters["profile_trace_scope"] = plgpu.TraceScope[scope.name]
    elif scope is not Scope.WARPGROUP:
        pytest.skip("before JAX 0.10.1 every track is a warpgroup's")
    if BOUNDS_CHECK and bounds_checked is not None:
        parameters["profile_bounds_check"] = bounds_checked
    for space, directory in itertools.product(SPACES, DIRECTORIES):
        asked = {"profile_space": space, "profile_dir": directory}
        sentence = refusal(lambda asked=asked: plgpu.CompilerParams(**asked, **parameters))
        found = checked(**asked, scope=scope, bounds_checked=bounds_checked)
        assert [m for _, m in of_codes(found, "MGT227")] == ([] if sentence is None else [sentence])
        # Neither said is neither set.
        fewer = {name: value or None for name, value in asked.items()}
        assert checked(**fewer, scope=scope, bounds_checked=bounds_checked) == found


@st.composite
def profiled_meshes(draw: st.DrawFn) -> Mesh:
    grid = draw(st.lists(st.integers(1, 3), max_size=5))
    cluster = draw(st.sampled_from(((), (1,), (2,), (1, 2), (2, 2), (2, 1, 2), (2, 2, 2))))
    n_threads = draw(st.none() | st.integers(1, 8))
    return Mesh(
        {f"g{i}": size for i, size in enumerate(grid)},
        {f"c{i}": size for i, size in enumerate(cluster)},
        None if n_threads is None else ("t", n_threads),
    )


@settings(max_examples=60)
@given(profiled_meshes(), st.integers(1, 64) | st.integers(1, 20000), st.sampled_from(SCOPES))
def test_what_pallas_makes_of_profile_space(mesh: Mesh, profile_space: int, scope: Scope) -> None:
    """The words of a track, the grid in blocks, the buffer, and shared memory: from a real lowering."""
    parameters: dict[str, Any] = {"profile_space": profile_space, "profile_dir": "profiles"}
    if len(SCOPES) > 1:
        parameters["profile_trace_scope"] = plgpu.TraceScope[scope.name]
    lowered = pallas_lowered(mesh, **parameters)
    name, number = mesh.thread or (None, None)
    config = LaunchConfig(
        grid=lowered.grid,
        block=lowered.block,
        thread_axis=name,
        num_threads=number,
        scope=scope,
        profile_space=profile_space,
        profile_dir="profiles",
        jax_version=JAX_VERSION,
    )
    facts, found = config.facts, config.check()
    assert facts.words_per_track == lowered.words_per_track
    assert facts.n_words == lowered.n_words
    # The mesh's grid counts clusters; what is launched counts blocks, whatever the order of axes.
    blocks = [*mesh.grid.values(), *mesh.cluster.values()]
    assert facts.n_blocks == _product(blocks)
    assert facts.n_threads == 128 * (number or 1)
    smem = found.of_code(catalogue.SMEM_EXCEEDED)
    assert (smem is None) == (lowered.refused is None)
    assert smem is None or smem.message.startswith(f"{lowered.refused}")


def _product(sizes: list[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


@pytest.mark.skipif(len(SCOPES) == 1, reason="before JAX 0.10.1 CompilerParams has no scope")
@pytest.mark.parametrize("text", ["block", "thread", "", "warpgroups", "3"])
def test_scopes_that_pallas_does_not_know(text: str) -> None:
    mesh = Mesh({"g": 2}, {}, None)
    lowered = pallas_lowered(mesh, profile_space=8, profile_dir="profiles", profile_trace_scope=text)
    assert lowered.refused is not None
    assert [m for _, m in of_codes(checked(scope=text), "MGT220")] == [lowered.refused]
