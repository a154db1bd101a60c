"""Every launch of every kernel on every device is captured once, and says what it is."""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capture.support import (
    Truth,
    check_captured,
    check_numbered,
    check_same_words,
    files_of,
    identity_of,
    needs_jax,
    read_buffer,
    read_truth,
    run_program,
    write_plain,
)

import mgpu_trace

pytestmark = needs_jax

# How often each kernel is launched, by kind; pallas_call is empty where JAX has no such kernels any more.
WHOLE: dict[str, dict[str, int]] = {
    "eager": {"eager_k": 3},
    "jitted": {"jitted_k": 3},
    "pallas_call": {"called_k": 3},
    "mosaic": {"mosaic_k": 3},
    "mosaic_warps": {"warps_k": 3},
    "mosaic_unnamed": {"body": 3},
    "lowered_before": {"before_pallas": 2, "before_mosaic": 2},
    "sharded_before": {"before_sharded": 8},
    "fori_loop": {"fori_k": 7},
    "scan": {"scan_k": 5},
    "several_kernels": {"k0": 2, "k1": 1, "k2": 1, "k3": 1},
    "same_name": {"twin": 4},
    "sharded": {"sharded_k": 12},
    "sharded_mosaic": {"sharded_mosaic_k": 8},
    "sharded_loop": {"sharded_loop_k": 12},
    "sharded_backwards": {"backwards_k": 8},
    "sharded_in_part": {"part_k": 4},
    "dropped": {"dropped_k": 3, "dropped_d": 12},
    "pmapped": {"pmapped_k": 8},
    "one_device_of_four": {"third_device": 2},
    "branches": {"taken": 1},
    "differentiated": {"forward_k": 1},  # that of the gradient; nobody uses the value
    "in_flight": {"flight_k": 40},
    "many_threads": {"threads_k": 21},
    "odd_names": {"_lambda_": 2},
    "full_tracks": {"full_k": 2},
    "json_kept": {"json_k": 3},
    "json_kept_mosaic": {"json_mosaic_k": 2},
    "lowered_in_an_earlier_capture": {"once_more": 2},
}
SHARDED = ("sharded", "sharded_mosaic", "sharded_loop", "pmapped", "sharded_in_part", "sharded_backwards")
LIMITED: dict[str, tuple[int, int, str]] = {  # launches, of which kept, the limit's flag
    "every": (10, 4, "--every 3"),
    "every_of_each_device": (16, 8, "--every 2"),
    "first_launches": (8, 4, "--launches 2"),
    "by_name": (6, 3, "--kernel gemm*"),
    "by_bytes": (60, 0, "--max-bytes 5000"),
}


@dataclass(frozen=True)
class Kind:
    """What one kind of launches left: the files, the launches that were made, what the session said."""

    files: list[Path]
    truth: list[Truth]
    session: dict[str, Any]

    def codes(self) -> list[str]:
        return [found["code"] for found in self.session["report"]]


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> Callable[[str], Kind]:
    out = tmp_path_factory.mktemp("launches")
    done = run_program("launches.py", out)

    def kind(name: str) -> Kind:
        folder = out / name
        session = json.loads((folder / "session.json").read_text())
        return Kind(files_of(folder / "traces"), read_truth(folder / "truth.npz"), session)

    kind.stderr = done.stderr
    return kind


@pytest.mark.parametrize("name", WHOLE)
def test_every_launch_is_in_one_file(ran, name):
    kind = ran(name)
    if name == "pallas_call" and not kind.truth:
        pytest.skip("pallas_call of this JAX takes no parameters of Mosaic GPU")
    counts = Counter(launch.kernel for launch in kind.truth)
    assert dict(counts) == WHOLE[name]
    matched = check_captured(kind.files, kind.truth)
    assert len(matched) == len(kind.session["launches"]) == sum(counts.values())
    check_numbered(matched)
    assert kind.session["skipped"] == {}
    assert kind.codes() == []


@pytest.mark.parametrize("name", WHOLE)
def test_kernels_compute_as_without_a_capture(ran, name):
    n = max(WHOLE[name].values())
    expected = {
        "lowered_before": [4.0],
        "sharded_before": [2.0, 12.0, 22.0, 32.0],
        "several_kernels": [5.0],
        "same_name": [4.0],
        "sharded": [3.0, 13.0, 23.0, 33.0],
        "sharded_mosaic": [2.0, 12.0, 22.0, 32.0],
        "sharded_loop": [3.0, 13.0, 23.0, 33.0],
        "sharded_backwards": [2.0, 12.0, 22.0, 32.0],
        "sharded_in_part": [2.0, 12.0],
        "dropped": [0.0],
        "pmapped": [2.0, 12.0, 22.0, 32.0],
        "differentiated": [2.0],
        "many_threads": [0.0],
    }.get(name, [float(n)])
    assert ran(name).session["result"] == expected


@pytest.mark.parametrize("name", WHOLE)
def test_kernels_have_their_names(ran, name):
    kind = ran(name)
    for path, launch in check_captured(kind.files, kind.truth).items():
        if launch.kernel == "before_mosaic":
            continue  # nothing tells the name of a Mosaic GPU kernel that was lowered before
        assert read_buffer(path).spec.kernel == launch.kernel
        assert path.name.startswith(f"{launch.kernel}-p0-")


@pytest.mark.parametrize("name", SHARDED)
def test_devices_are_told_apart(ran, name):
    """Each shard's input says which it is, as the device saw it."""
    kind = ran(name)
    listed = {launch["path"]: launch["device"] for launch in kind.session["launches"]}
    for path, launch in check_captured(kind.files, kind.truth).items():
        partition = launch.mark // 10
        device = 3 - partition if name == "sharded_backwards" else partition
        spec = read_buffer(path).spec
        assert (spec.partition, spec.device_id, listed[str(path)]) == (partition, device, device)
        assert f"-d{device}-" in path.name
        assert spec.n_partitions == (2 if name == "sharded_in_part" else 4)


def test_the_device_of_a_program_for_one_is_known(ran):
    assert {launch["device"] for launch in ran("one_device_of_four").session["launches"]} == {2}
    assert {launch["device"] for launch in ran("mosaic").session["launches"]} == {0}


def test_devices_of_kernels_lowered_before_are_not_known(ran):
    kind = ran("sharded_before")
    assert {read_buffer(path).spec.device_id for path in kind.files} == {None}
    assert {launch["device"] for launch in kind.session["launches"]} == {None}


@pytest.mark.parametrize("name", [*WHOLE, *LIMITED, "broken_headers"])
def test_session_lists_the_files(ran, name):
    kind = ran(name)
    listed = {launch["path"]: launch for launch in kind.session["launches"]}
    assert sorted(listed) == [str(path) for path in kind.files]
    for path in kind.files:
        launch, buffer = listed[str(path)], read_buffer(path)
        assert (launch["n_words"], launch["n_tracks"]) == (buffer.words.size, len(buffer.words))
        assert launch["process"] == buffer.spec.process == 0
        assert (launch["kernel"], launch["device"], launch["launch"]) == (
            buffer.spec.kernel,
            buffer.spec.device_id,
            buffer.spec.launch,
        )


@pytest.mark.parametrize("name", WHOLE)
def test_files_give_the_timeline_of_the_whole_buffer(ran, name, tmp_path):
    """As a plain array of all words decodes, stale ones included."""
    kind = ran(name)
    for path, launch in list(check_captured(kind.files, kind.truth).items())[:3]:
        spec = read_buffer(path).spec
        plain = tmp_path / f"{path.stem}.npy"
        write_plain(plain, launch, spec)
        ours, theirs = mgpu_trace.load(path), mgpu_trace.load(plain)
        for field in ("track", "name", "start_cyc", "dur_cyc", "depth"):
            assert np.array_equal(getattr(ours.slices, field), getattr(theirs.slices, field)), field
        assert ours.clock.describe() == theirs.clock.describe()
        assert [found.message for found in ours.report] == [found.message for found in theirs.report]
        assert len(ours.slices.track) == len(launch.words) * min(
            len(launch.names), (launch.words.shape[1] - 3) // 4
        )


def test_files_are_smaller_than_the_buffers(ran):
    kind = ran("in_flight")
    for path, launch in check_captured(kind.files, kind.truth).items():
        with np.load(path) as file:
            stored = {name: file[name] for name in file.files}
        assert 0xDEADBEEF not in stored["packed"]
        assert stored["packed"].size < launch.words.size / 2


def test_full_tracks_are_stored_as_they_are(ran):
    kind = ran("full_tracks")
    for path, launch in check_captured(kind.files, kind.truth).items():
        assert np.array_equal(read_buffer(path).words, launch.words)
        with np.load(path) as file:
            assert sorted(file.files) == ["spec", "words"]


def test_specs_say_where_a_launch_comes_from(ran):
    kind = ran("jitted")
    for path in kind.files:
        spec = read_buffer(path).spec
        assert spec.jax_version
        assert spec.jaxlib_version
        assert spec.device == "cpu"
        began, ended = kind.session["began_ns"], kind.session["ended_ns"]
        assert began <= spec.host_time_before_ns <= spec.host_time_ns <= ended


def test_broken_headers_survive(ran):
    """A count that cannot be one: nothing of the track is left out, and the reader sees the same fault."""
    kind = ran("broken_headers")
    assert len(kind.files) == len(kind.truth) == 2
    truth = {launch.identity: launch for launch in kind.truth}
    for path in kind.files:
        words = read_buffer(path).words
        launch = truth[identity_of(words)]
        check_same_words(words, launch.words)
        assert np.array_equal(words[[1, 3]], launch.words[[1, 3]])
        assert words[:5, 2].tolist() == [13, 0xFFFFFFFE, 63, 65, 0]
    assert {launch["n_tracks_lost"] for launch in kind.session["launches"]} == {3}


@pytest.mark.parametrize("name", LIMITED)
def test_limits_leave_out_and_say_so(ran, name):
    kind = ran(name)
    n_made, n_kept, flag = LIMITED[name]
    assert len(kind.truth) == n_made
    if name == "by_bytes":
        n_kept = 5000 // kind.truth[0].words.nbytes
        assert n_kept >= 1
    assert len(kind.files) == n_kept
    assert sum(kind.session["skipped"].values()) == n_made - n_kept
    [said] = kind.session["report"]
    assert said["code"] == "MGT704"
    assert str(n_made - n_kept) in said["message"]
    assert any(flag in reason for reason in kind.session["skipped"])


def test_every_keeps_the_first_of_so_many(ran):
    kept = sorted(read_buffer(path).spec.launch for path in ran("every").files)
    assert kept == [0, 3, 6, 9]
    by_device = Counter(read_buffer(path).spec.device_id for path in ran("every_of_each_device").files)
    assert by_device == {0: 2, 1: 2, 2: 2, 3: 2}


def test_launches_counts_each_kernel(ran):
    counts = Counter(read_buffer(path).spec.kernel for path in ran("first_launches").files)
    assert counts == {"first_k": 2, "second_k": 2}


def test_limits_together(ran):
    kind = ran("every_and_launches")
    assert sorted(read_buffer(path).spec.launch for path in kind.files) == [0, 2]
    assert sum(kind.session["skipped"].values()) == 7


def test_kernel_pattern_is_a_shells(ran):
    kernels = {read_buffer(path).spec.kernel for path in ran("by_name").files}
    assert kernels == {"gemm_f16"}
    assert fnmatch.fnmatchcase("gemm_f16", "gemm*")


@pytest.mark.parametrize("name", [name for name in WHOLE if not name.startswith("json")])
def test_jax_writes_no_json(ran, name):
    assert ran(name).session["dumps"] == []


@pytest.mark.parametrize("name", ["json_kept", "json_kept_mosaic"])
def test_jax_writes_its_json_when_asked(ran, name):
    """At least what it would write by itself."""
    kind = ran(name)
    assert len(kind.session["dumps"]) >= (1 if name == "json_kept" else 2)


def test_profiling_from_outside(ran):
    kind = ran("profiled_from_outside")
    matched = check_captured(kind.files, kind.truth)
    words = {launch.kernel: launch.words.shape[1] for launch in matched.values()}
    assert Counter(launch.kernel for launch in matched.values()) == {"asks": 2, "asks_not": 2}
    # What a kernel asks for itself stays as it is.
    assert words["asks_not"] == 2 * words["asks"]
    assert {launch.names for launch in matched.values()} == {("Init", "load", "store")}
    assert kind.session["result"] == [4.0]


def test_no_room_for_the_profile(ran):
    kind = ran("no_room_for_profile")
    assert kind.session["result"] == [2.0]
    assert kind.files == []
    assert "MGT707" in kind.codes()
    [said] = [found for found in kind.session["report"] if found["code"] == "MGT707"]
    assert "no_room" in said["message"]


def test_nothing_to_capture_is_said(ran):
    kind = ran("not_profiled")
    assert kind.codes() == ["MGT705"]
    assert kind.session["result"] == [2.0]


def test_nothing_but_findings_is_said_on_stderr(ran):
    """One line for each finding, no warning of JAX's, no traceback."""
    lines = ran.stderr.splitlines()
    assert all("MGT7" in line or line.startswith("  more:") for line in lines), ran.stderr
