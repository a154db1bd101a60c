"""What is no launch, how its fields may be said, and verdicts on any launch whatever."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgpu_trace import LaunchConfig, MgpuTraceError, Severity
from mgpu_trace.diagnostics import catalogue
from mgpu_trace.layout import Scope


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"words_per_track": 8, "profile_space": 2}, "words_per_track and profile_space"),
        ({"n_events": 8, "n_ranges": 2}, "n_events and n_ranges"),
        ({"names": ("a",), "n_names": 2}, "names and n_names"),
        ({"arch": "sm_90", "smem_limit_bytes": 2}, "arch and smem_limit_bytes"),
        ({"block": (128,), "num_threads": 2}, "num_threads 2 is 256 CUDA threads"),
        ({"grid": (1.0,)}, "grid takes whole numbers"),
        ({"block": (True,)}, "block takes whole numbers"),
        ({"block": ("128",)}, "block takes whole numbers"),
        ({"scope": 5}, "scope takes a text"),
        ({"arch": 90}, "arch takes a text"),
        ({"names": (1,)}, "names takes a text"),
        ({"jax_version": "newest"}, "no version"),
        ({"jax_version": ""}, "no version"),
    ],
)
def test_what_contradicts_itself_is_no_launch(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(MgpuTraceError, match=says) as caught:
        LaunchConfig(**fields)
    assert caught.value.diagnostic.code is catalogue.LAUNCH_CONTRADICTS


@pytest.mark.parametrize("text", ["sm_90", "sm_90a", "SM90", "90", "9.0", "compute_90", " sm_90 "])
def test_an_architecture_has_many_names(text: str) -> None:
    assert LaunchConfig(arch=text).facts.smem_limit_source == "sm_90"


@pytest.mark.parametrize("text", ["", "sm_", "hopper", "sm_91", "sm_900", "٩٠", "sm_90b"])
def test_an_unknown_architecture_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(MgpuTraceError, match="sm_120") as caught:
        LaunchConfig(arch=text)
    assert caught.value.diagnostic.code is catalogue.UNKNOWN_ARCHITECTURE


def test_sizes_and_names_may_be_said_as_one_or_as_lists() -> None:
    one = LaunchConfig(grid=2, block=[128], names="a", collective_axes="t")  # type: ignore[arg-type]
    assert one == LaunchConfig(grid=(2,), block=(128,), names=("a",), collective_axes=("t",))
    assert hash(one)


@pytest.mark.parametrize(
    ("said", "words"), [("0.9.0.dev20250101", 8), ("0.10.0rc1", 4), ("0.10", 4), ("0.12.0.1", 4), ("0.9", 8)]
)
def test_a_development_version_is_taken_for_what_it_leads_to(said: str, words: int) -> None:
    facts = LaunchConfig(profile_space=3, profile_dir="d", jax_version=said).facts
    assert facts.words_per_track == 3 * words
    assert not any("jax_version" in sentence for sentence in facts.assumed)


@given(
    st.integers(1, 32),
    st.sampled_from(Scope),
    st.integers(0, 4096),
    st.integers(0, 300) | st.integers(0, 2**31),
    st.none() | st.integers(11, 300),
)
def test_what_does_not_fit_is_never_passed(
    warps: int, scope: Scope, own: int, n_events: int, words: int | None
) -> None:
    config = LaunchConfig(
        block=(warps * 32,),
        scope=scope,
        smem_bytes=own,
        smem_limit_bytes=4096,
        n_events=n_events,
        words_per_track=words,
    )
    if warps * 32 % scope.value:
        assert config.check().has_errors
        return
    tracks = warps * 32 // scope.value
    least = 3 + 2 * n_events if words is None else words
    fits = -(-own // 8) * 8 + tracks * 4 * least <= 4096 and (words is None or 2 * n_events <= words - 3)
    if not fits:
        assert config.check().has_errors


SIZES = st.lists(st.integers(-2, 1100), min_size=1, max_size=4).map(tuple)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "grid": st.lists(st.integers(-1, 2**32), max_size=4).map(tuple),
    "block": SIZES,
    "cluster": st.lists(st.integers(-1, 5), max_size=4).map(tuple),
    "scope": st.sampled_from([*Scope, "warp", "x", ""]),
    "words_per_track": st.integers(-3, 2**33),
    "smem_bytes": st.integers(-1, 2**33),
    "n_events": st.integers(-1, 2**33),
    "n_names": st.integers(-1, 2**33),
    "thread_axis": st.text(max_size=2),
    "grid_axes": st.lists(st.text(max_size=2), max_size=3).map(tuple),
    "cluster_axes": st.lists(st.text(max_size=2), max_size=3).map(tuple),
    "collective_axes": st.lists(st.text(max_size=2), max_size=3).map(tuple),
    "iterations": st.integers(-3, 3),
    "profile_dir": st.text(max_size=2),
    "bounds_checked": st.booleans(),
    "jax_version": st.sampled_from(["0.7.2", "0.9.2", "0.10.1", "0.12.0.1", "0.13.0.dev1"]),
}


@given(st.fixed_dictionaries({}, optional=FIELDS))
def test_any_launch_gets_a_verdict_in_single_lines(fields: dict[str, Any]) -> None:
    config = LaunchConfig(**fields)
    report = config.check()
    for finding in report:
        assert "\n" not in finding.line()
        assert finding.hint
    codes = [finding.code.id for finding in report]
    assert len([c for c in codes if "MGT238" <= c <= "MGT242"]) <= 1
    assert report.has_errors == any(f.severity is Severity.ERROR for f in report)
    config.facts.to_dict()
