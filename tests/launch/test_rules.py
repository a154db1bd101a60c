"""Every rule on its own: what breaks it and nothing else, the next thing that does not, and the words."""

from __future__ import annotations

from typing import Any

import pytest

from mgpu_trace import LaunchConfig
from mgpu_trace.diagnostics.catalogue import launches

MESH: dict[str, Any] = {"num_threads": 2, "thread_axis": "t", "cluster": (2, 2), "cluster_axes": ("c", "d")}

# code, a launch with exactly that finding, what its line must say, and the nearest launch without it.
CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("MGT207", {"block": (96,)}, "Block size is not a multiple of 128", {"block": (96,), "scope": "warp"}),
    ("MGT207", {"block": (96,)}, "use 128 threads or --scope warp", {"block": (128,)}),
    ("MGT207", {"block": (200,)}, "use 128 or 256 threads", {"block": (64, 2)}),
    ("MGT207", {"block": (33,), "scope": "warp"}, "multiple of 32", {"block": (32,), "scope": "warp"}),
    (
        "MGT207",
        {"block": (96,), "jax_version": "0.9.2"},
        "Block size is not a multiple of warpgroup size",
        {"block": (128,), "jax_version": "0.9.2"},
    ),
    ("MGT220", {"block": (128,), "scope": "cta"}, "Unsupported trace scope: cta", {"scope": "WARP"}),
    ("MGT221", {"block": (2048,)}, "at most 1024", {"block": (1024,)}),
    ("MGT221", {"block": (16, 16, 8)}, "16x16x8 is 2048 threads", {"block": (16, 16, 4)}),
    ("MGT221", {"num_threads": 16, "thread_axis": "t"}, "2048", {"num_threads": 8, "thread_axis": "t"}),
    (
        "MGT222",
        {"num_threads": 17, "thread_axis": "t"},
        "Requested too many CUDA threads per block. Each Mosaic thread corresponds to 128 CUDA threads. "
        "At most 16 are supported, got",
        {"num_threads": 8, "thread_axis": "t"},
    ),
    (  # case 11 of the public ones: 200001 bytes are rounded up to 200008
        "MGT223",
        {"block": (384,), "words_per_track": 2704, "smem_bytes": 200001, "arch": "sm_90"},
        "Mosaic GPU kernel exceeds available shared memory: smem_bytes=232456 > max_smem_bytes=232448",
        {"block": (384,), "words_per_track": 2702, "smem_bytes": 200001, "arch": "sm_90"},
    ),
    (
        "MGT223",
        {"smem_bytes": 200001, "arch": "sm_120"},
        "smem_bytes=200001 > max_smem_bytes=101376 (sm_120)",
        {"smem_bytes": 101376, "arch": "sm_120"},
    ),
    ("MGT224", {"words_per_track": 10}, "profile_space 3 or entries 12", {"words_per_track": 12}),
    (
        "MGT224",
        {"profile_space": 2, "profile_dir": "d"},
        "Init and no range of the kernel's own",
        {"profile_space": 3, "profile_dir": "d"},
    ),
    ("MGT224", {"words_per_track": 4}, "not even Init", {"words_per_track": 11}),
    (
        "MGT224",
        {"profile_space": 1, "profile_dir": "d", "jax_version": "0.9.2"},
        "profile_space 2",
        {"profile_space": 2, "profile_dir": "d", "jax_version": "0.9.2"},
    ),
    (
        "MGT225",
        {"block": (128,), "words_per_track": 64},
        "61 usable words",
        {"block": (256,), "words_per_track": 64},
    ),
    (
        "MGT226",
        {"block": (256,), "words_per_track": 63},
        "entries 64",
        {"block": (128,), "words_per_track": 63},
    ),
    (
        "MGT227",
        {"profile_space": 8},
        "Either both profile_space and profile_dir must be set, or neither.",
        {"profile_space": 8, "profile_dir": "d"},
    ),
    ("MGT227", {"profile_dir": "d"}, "give profile_space too", {"profile_dir": ""}),
    (
        "MGT228",
        {"words_per_track": 63, "n_events": 31},
        "1 event too many, unchecked: the last ones are lost, and JAX refuses the whole buffer",
        {"words_per_track": 63, "n_events": 30},
    ),
    (
        "MGT228",
        {"profile_space": 64, "profile_dir": "d", "n_ranges": 63, "block": (128,)},
        "profile_space 65 or entries 260 would hold them; profile_bounds_check drops them instead "
        "(JAX 0.11.1 and later)",
        {"profile_space": 64, "profile_dir": "d", "n_ranges": 62, "block": (128,)},
    ),
    (
        "MGT229",
        {"words_per_track": 63, "n_ranges": 15, "bounds_checked": True},
        "the last ones are dropped",
        {"words_per_track": 63, "n_ranges": 14, "bounds_checked": True},
    ),
    ("MGT230", {"grid": (1, 65536)}, "too large along y", {"grid": (1, 65535)}),
    ("MGT230", {"grid": (2**31,)}, "too large along x", {"grid": (2**31 - 1,)}),
    ("MGT230", {"grid": (2, 0)}, "at least 1", {"grid": (2, 1)}),
    ("MGT230", {"grid": (1, 1, 1, 1)}, "4 dimensions", {"grid": (1, 1, 1)}),
    ("MGT230", {"block": (1, 1, 128)}, "1024x1024x64", {"block": (2, 1, 64)}),
    ("MGT230", {"block": (-128,)}, "at least 1", {"block": (128,)}),
    ("MGT230", {"cluster": (0,)}, "at least 1", {"cluster": (1,)}),
    ("MGT230", {"smem_bytes": -1}, "smem_bytes is -1", {"smem_bytes": 0}),
    ("MGT230", {"n_events": -1}, "n_events is -1", {"n_events": 0}),
    ("MGT230", {"words_per_track": 0}, "words_per_track is 0", {"words_per_track": 11}),
    ("MGT230", {"profile_space": -2}, "profile_space is -2", {"profile_space": 0}),
    (
        "MGT231",
        {"grid": (5, 4), "cluster": (2, 2)},
        "Grid dimension x must be divisible by cluster dimension: 5 % 2 != 0; use 4 or 6 blocks along x",
        {"grid": (4, 4), "cluster": (2, 2)},
    ),
    (
        "MGT231",
        {"grid": (4,), "cluster": (1, 2)},
        "Grid dimension y must be divisible by cluster dimension: 1 % 2 != 0; use 2 blocks",
        {"grid": (4, 2), "cluster": (1, 2)},
    ),
    ("MGT232", {"cluster": (1, 1, 1, 1)}, "cluster= must be at most 3D", {"cluster": (1, 1, 1)}),
    ("MGT233", {"cluster": (9,)}, "nonportable_cluster", {"cluster": (8,)}),
    (
        "MGT233",
        {"cluster": (2,), "arch": "sm_89"},
        "clusters came with sm_90",
        {"cluster": (1, 1), "arch": "sm_89"},
    ),
    (
        "MGT228",
        {"words_per_track": 63, "n_events": 40},
        "they overwrite 17 words of shared memory behind the track",
        {"words_per_track": 83, "n_events": 40},
    ),
    (
        "MGT223",
        {"block": (128,), "smem_bytes": 232448, "n_ranges": 1},
        "smem_bytes=232496 > max_smem_bytes=232448",
        {"block": (128,), "smem_bytes": 232400, "n_ranges": 1},
    ),
    (
        "MGT223",
        {"block": (1024,), "scope": "warp", "smem_limit_bytes": 100, "n_events": 30},
        "there is no room for a profile",
        {"block": (1024,), "scope": "warp", "smem_limit_bytes": 8192, "n_events": 30},
    ),
    (
        "MGT244",
        {"grid": (1 << 20, 65535, 16), "block": (128,), "profile_space": 64, "profile_dir": "d"},
        "no device has more than 288000000000",
        {"grid": (1 << 20, 16, 16), "block": (128,), "profile_space": 64, "profile_dir": "d"},
    ),
    (
        "MGT243",
        {"iterations": 2, "jax_version": "0.6.2"},
        "iterations of measure from 0.7.2 on",
        {"iterations": 2, "jax_version": "0.7.2"},
    ),
    (
        "MGT243",
        {"profile_space": 4, "profile_dir": "d", "jax_version": "0.4.33"},
        "from 0.4.36 on",
        {"profile_space": 4, "profile_dir": "d", "jax_version": "0.4.36"},
    ),
    (
        "MGT221",
        {"block": (1056,), "scope": "warp"},
        "at most 32 warps",
        {"block": (1024,), "scope": "warp"},
    ),
    ("MGT207", {"block": (1030,)}, "use 1024 threads", {"block": (1024,)}),
    (
        "MGT231",
        {"grid": (1, 65535), "cluster": (1, 2)},
        "use 65534 blocks along y",
        {"grid": (1, 65534), "cluster": (1, 2)},
    ),
    (
        "MGT233",
        {"cluster": (17,), "nonportable_cluster": True},
        "17 blocks, and the most is 16",
        {"cluster": (4, 4), "nonportable_cluster": True},
    ),
    (
        "MGT234",
        {"grid": (2, 3), "grid_axes": ("x",)},
        "grid_names must have the same length as grid, got",
        {"grid": (2, 3), "grid_axes": ("x", "y")},
    ),
    (
        "MGT234",
        {"cluster": (2,), "cluster_axes": ()},
        "cluster_names must have the same length as cluster, got",
        {"cluster": (2,), "cluster_axes": ("c",)},
    ),
    (
        "MGT235",
        {"num_threads": 2},
        "num_threads and thread_name must be either both set or both None, got",
        {"num_threads": 2, "thread_axis": "t"},
    ),
    ("MGT235", {"thread_axis": "t"}, "num_threads=None", {"block": (128,)}),
    ("MGT236", {"n_names": 2**31 + 1}, "Allocated too many names", {"n_names": 2**31}),
    ("MGT237", {"iterations": 0}, "iterations=0 must be positive", {"iterations": 1}),
    ("MGT237", {"iterations": -3}, "iterations=-3 must be positive", {"iterations": 1}),
    (
        "MGT238",
        {"cluster_axes": ("c",), "collective_axes": ("c",)},
        "Requesting collective allocations, but no explicit thread axis specified.",
        {"cluster_axes": ("c",), "collective_axes": ()},
    ),
    (
        "MGT239",
        {**MESH, "collective_axes": ("t", "c")},
        "Collective allocations along cluster axes are not supported.",
        {**MESH, "collective_axes": ("t",)},
    ),
    (
        "MGT240",
        {**MESH, "collective_axes": ()},
        "Scoped allocation must have the thread axis in its collective axes.",
        MESH,
    ),
    (
        "MGT241",
        {**MESH, "collective_axes": ("t", "x")},
        "Collective axis `x` not found among axes `['c', 'd', 't']`",
        {**MESH, "collective_axes": ("t",)},
    ),
    (
        "MGT242",
        {**MESH, "collective_axes": ("t", "c"), "jax_version": "0.10.1"},
        "When interpreting `run_scoped` in a GPU kernel, non-empty `collective_axes`",
        {**MESH, "collective_axes": (), "jax_version": "0.10.1"},
    ),
    (
        "MGT243",
        {"scope": "warp", "jax_version": "0.10.0"},
        "from 0.10.1 on",
        {"scope": "warp", "jax_version": "0.10.1"},
    ),
    (
        "MGT243",
        {"bounds_checked": True, "jax_version": "0.11.0"},
        "use JAX 0.11.1 or later",
        {"bounds_checked": True, "jax_version": "0.11.1"},
    ),
]


@pytest.mark.parametrize(("code", "launch", "says", "sound"), CASES)
def test_it_is_found_alone_and_the_nearest_sound_launch_has_nothing(
    code: str, launch: dict[str, Any], says: str, sound: dict[str, Any]
) -> None:
    (found,) = LaunchConfig(**launch).check()
    assert found.code.id == code
    assert says in found.line()
    assert found.hint
    assert len(LaunchConfig(**sound).check()) == 0


def test_every_code_that_check_can_find_is_here() -> None:
    raised = {"MGT213", "MGT214", "MGT215"}
    assert {c.id for c in launches.CODES} - raised == {code for code, *_ in CASES} - {"MGT207"}
