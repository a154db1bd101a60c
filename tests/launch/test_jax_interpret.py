"""Collective axes: the verdict and the sentence of a kernel that JAX interprets, against ours."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax_launch import COLLECTIVE_RULES, JAX_RELEASE, JAX_VERSION, Mesh, interpreted, needs_interpreter

from mgpu_trace.diagnostics import Diagnostic
from mgpu_trace.launch import LaunchConfig

pytestmark = needs_interpreter

COLLECTIVE_CODES = {
    "Requesting collective allocations": "MGT238",
    "Collective allocations along cluster axes": "MGT239",
    "Scoped allocation must": "MGT240",
    "Collective axis `": "MGT241",
    "When interpreting `run_scoped`": "MGT242",
}
# What older JAX interprets is smaller, and the names of axes of one block count all the same: 0.9.0 takes
# one block; 0.9 has no clusters; 0.10.0 and 0.10.1 lose a cluster's shared buffers now and then (KeyError).
CLUSTER = 2 if COLLECTIVE_RULES else 1
GRID = 2 if JAX_RELEASE > (0, 9, 0) else 1
UNKNOWN = "x"
AXES = ("c", "d", "t", UNKNOWN, "g")
SUBSETS = tuple(chain.from_iterable(combinations(AXES, n) for n in range(len(AXES) + 1)))
MESHES = {
    "cluster-and-threads": Mesh({"g": GRID}, {"c": CLUSTER, "d": 1}, ("t", 2)),
    "cluster": Mesh({"g": GRID}, {"c": CLUSTER, "d": 1}, None),
    "threads": Mesh({"g": GRID}, {}, ("t", 2)),
    "grid": Mesh({"g": GRID}, {}, None),
    "one-thread": Mesh({"g": GRID}, {"c": CLUSTER, "d": 1}, ("t", 1)),
}


def findings(mesh: Mesh, axes: tuple[str, ...]) -> tuple[Diagnostic, ...]:
    config = LaunchConfig(**mesh.of_ours(), collective_axes=axes, jax_version=JAX_VERSION)
    return config.check().diagnostics


def assert_agrees(mesh: Mesh, axes: tuple[str, ...], space: str = "GMEM") -> None:
    sentence, found = interpreted(mesh, axes, space), findings(mesh, axes)
    if sentence is None:
        assert not found
        return
    (code,) = (code for start, code in COLLECTIVE_CODES.items() if sentence.startswith(start))
    assert [finding.code.id for finding in found] == [code]
    assert found[0].message.startswith(_literal(sentence))


def _literal(sentence: str) -> str:
    """JAX lists a mesh without a thread axis as having an ``<object object at 0x...>``: up to that."""
    before, anonymous, _ = sentence.partition("<object object at ")
    return before.removesuffix(", ") if anonymous else sentence


@pytest.mark.parametrize("axes", SUBSETS, ids=lambda axes: "".join(axes) or "none")
@pytest.mark.parametrize("mesh", MESHES.values(), ids=MESHES.keys())
def test_the_whole_table_of_axes(mesh: Mesh, axes: tuple[str, ...]) -> None:
    assert_agrees(mesh, axes)


NAMES = st.text("abctxy_ '\"`{é", max_size=3)


@st.composite
def meshes_and_axes(draw: st.DrawFn) -> tuple[Mesh, tuple[str, ...]]:
    """Meshes of at most 2 x 4 blocks of 3 threads, and axes in any order, some of them twice."""
    grid = draw(st.lists(st.integers(1, GRID), max_size=2).filter(lambda sizes: sum(sizes) < 4))
    shapes = ((), (1,), (1, 1), (1, 1, 1)) + ((2,), (4,), (1, 2), (2, 2), (2, 1, 2)) * (CLUSTER > 1)
    cluster = draw(st.sampled_from(shapes))
    n_threads = draw(st.none() | st.integers(1, 3))
    names = draw(st.lists(NAMES, min_size=7, max_size=7, unique=True))
    grid_axes = {names.pop(): size for size in grid}
    cluster_axes = {names.pop(): size for size in cluster}
    thread = None if n_threads is None else (names.pop(), n_threads)
    known = [*([] if thread is None else thread[:1]), *cluster_axes]
    named = st.lists(st.sampled_from(known), max_size=3) if known else st.just([])
    anything = st.lists(st.sampled_from([*known, *grid_axes, names.pop()]), max_size=4)
    axes = draw(named | anything)
    return Mesh(grid_axes, cluster_axes, thread), tuple(axes)


@settings(max_examples=100)
@given(meshes_and_axes(), st.sampled_from(("GMEM", "SMEM")))
def test_any_mesh_and_axes(case: tuple[Mesh, tuple[str, ...]], space: str) -> None:
    assert_agrees(*case, space)


def test_what_is_missing_is_told_before_what_is_collective() -> None:
    """The order of JAX's rules, seen where several are broken at once."""
    mesh = MESHES["cluster-and-threads"]
    broken = [(UNKNOWN, "c"), ("c", UNKNOWN), ("c",), ()]
    told = [(interpreted(mesh, axes), findings(mesh, axes)[:1]) for axes in broken]
    refused = [sentence for sentence, _ in told if sentence is not None]
    assert len(set(refused)) == (3 if COLLECTIVE_RULES else 1)
    for sentence, found in told:
        assert [finding.message for finding in found] == ([] if sentence is None else [sentence])
