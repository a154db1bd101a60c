"""What a session promises: one at a time, everything put back, nothing lost, no trouble for the program."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from capture.support import (
    check_captured,
    environment,
    files_of,
    needs_jax,
    read_truth,
    run_program,
    run_python,
)

pytestmark = needs_jax


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory) -> Iterator[Path | None]:
    """A file system of 64 KiB; None where this user may not mount one."""
    disk = tmp_path_factory.mktemp("disk")
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True, timeout=20
        )
    except FileNotFoundError:
        yield None
        return
    if mounted.returncode:
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True, timeout=20)


@pytest.fixture(scope="module")
def out(tmp_path_factory, small_disk) -> Path:
    folder = tmp_path_factory.mktemp("sessions")
    more = {} if small_disk is None else {"SMALL_DISK": str(small_disk)}
    done = run_program("sessions.py", folder, env=environment(**more))
    (folder / "stderr").write_text(done.stderr)
    return folder


@pytest.fixture
def told(out, request) -> Any:
    """What the program found in the case that the test is named after."""
    found = json.loads((out / "told.json").read_text())[request.node.originalname.removeprefix("test_")]
    assert not (isinstance(found, dict) and "raised" in found), found["raised"]
    return found


def numbered(kernel: str, n: int, device: int | str = 0) -> list[str]:
    return [f"{kernel}-p0-d{device}-{i:06}.npz" for i in range(n)]


def test_nested(told):
    files = numbered("nested_k", 2)
    assert told == {"code": "MGT701", "again": "MGT701", "files": files, "inner": []}


def test_in_a_second_thread(told):
    assert told == {"codes": ["MGT701"], "files": numbered("thread_k", 1)}


def test_launches_of_other_threads(told):
    assert told == numbered("other_k", 12, "X")


def test_decorated(told):
    assert told == {
        "value": 3.0,
        "files": numbered("decorated_k", 3),
        "nested": "MGT701",
        "name": "step",
        "doc": "Add one so many times.",
        "signature": "(x: 'Any', *, times: 'int' = 1) -> 'Any'",
    }


def test_session_used_again(told):
    assert told == {"counts": [1, 2], "files": numbered("again_k", 3)}


def test_body_raises(told):
    """The exception is the program's own, untouched, with no frame of ours."""
    files = numbered("raises_k", 1)
    assert told == {"same": True, "frames": ["body_raises"], "files": files, "changed": []}


def test_everything_is_put_back(told):
    for found in told.values():
        assert "ProfilerSpec.dump" in found["inside"]
        assert found["after"] == []
    assert any("lower_jaxpr_to_module" in name for name in told["1"]["inside"])


def test_everything_is_as_it_was_at_first(told):
    """After all the sessions of the program, those in trouble included."""
    assert told == []


def test_runs_as_before_afterwards(told):
    """As JAX does: a file of the first launch, a warning for the second."""
    assert told["value"] == 3.0
    assert len(told["captured"]) == 2
    assert told["later"] is False
    assert told["inside"] == []
    assert len(told["dumps"]) == 2
    assert sum(name.startswith("afterwards_k-") for name in told["dumps"]) == 1
    [warned] = told["warned"]
    assert "profile already exists" in warned


def test_profile_is_taken_back(told):
    assert told == {
        "values": [2.0, 1.0, 1.0],
        "files": numbered("forced_k", 2),
        "not_profiled": True,
        "dumps": [],
        "left_behind": [],
    }


def test_in_flight_on_four_devices(told):
    assert told == [12] * 10


def test_devices_of_kernels_of_an_earlier_capture(told):
    assert told == ["0", "1", "2", "3"]


def test_own_callbacks(told):
    assert told == {"seen": [0.0, 0.0, 1.0, 1.0], "files": numbered("own_k", 2)}


def test_dumped_by_hand(told):
    assert json.loads(told["text"])["traceEvents"] == []
    assert told["start_ns"] == 1000


def test_one_after_the_other(told, out):
    assert told["files"] == numbered("after_k", 5)
    assert told["untouched"]
    first, second = told["sessions"]
    assert [Path(launch["path"]).name for launch in first] == told["files"][:2]
    assert [Path(launch["path"]).name for launch in second] == told["files"][2:]
    folder = out / "one_after_the_other"
    assert len(check_captured(files_of(folder / "traces"), read_truth(folder / "truth.npz"))) == 5


def test_slow_disk(told):
    """The callback waits: at no time are there more launches than the queue holds and two are in work."""
    assert told["files"] == 60
    assert told["room"] <= told["waiting"] <= told["room"] + 2


def check_trouble(told: dict[str, Any], n_lost: int) -> None:
    """The program went on; what was lost is counted, and said with a code."""
    assert told["value"] == 3.0
    assert len(told["launches"]) == 3 - n_lost
    [found] = told["report"]
    assert found["code"] == "MGT702"
    assert found["message"].startswith(f"{n_lost} launch{'es' if n_lost > 1 else ''} lost: ")
    # Once when it happens, and once more at the end if it were several.
    assert 1 <= len(told["stderr"]) <= min(2, n_lost)
    assert all("error[MGT702]: " in line for line in told["stderr"])
    assert found["message"] in told["stderr"][-1]
    assert all(name.endswith(".npz") for name in told["files"])


def test_folder_removed(told):
    """It is made again."""
    assert told["value"] == 3.0
    assert told["files"] == numbered("troubled_k", 3)[1:]
    assert told["report"] == told["stderr"] == []


def test_file_in_place_of_folder(told):
    check_trouble(told, 2)


def test_folder_that_cannot_be_made(told):
    check_trouble(told, 3)


def test_full_disk(told):
    if told is None:
        pytest.skip("this user may not mount a small file system")
    check_trouble(told, 2)
    assert "No space left on device" in told["stderr"][0]
    assert told["files"] == numbered("troubled_k", 1)


def test_no_space(told):
    check_trouble(told, 2)
    assert "No space left on device" in told["stderr"][0]


def test_file_size_limit(told):
    check_trouble(told, 2)
    assert told["files"] == numbered("troubled_k", 1)


def test_fault_of_ours(told):
    check_trouble(told, 2)
    assert "a fault of ours" in told["stderr"][0]


def test_no_stderr(told):
    for found in told:
        assert found["value"] == 40.0
        assert [finding["message"].split(":")[0] for finding in found["report"]] == ["40 launches lost"]


def test_nothing_else_is_said(out):
    assert [line for line in (out / "stderr").read_text().splitlines() if "MGT705" not in line] == []


NO_JAX = """
import sys
sys.modules[{missing!r}] = None
import mgpu_trace
try:
    with mgpu_trace.capture({folder!r}):
        print("entered")
except mgpu_trace.MgpuTraceError as error:
    print(error.diagnostic.line())
"""


@pytest.mark.parametrize("missing", ["jax", "jax.experimental.mosaic.gpu"])
def test_without_jax(tmp_path, missing):
    done = run_python("-c", NO_JAX.format(missing=missing, folder=str(tmp_path / "traces")))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("error[MGT706]: ")
    assert done.stderr == ""
    assert not (tmp_path / "traces").exists()


def test_importing_needs_no_jax():
    program = (
        "import mgpu_trace, sys; mgpu_trace.capture('x'); print(sorted(m for m in sys.modules if 'jax' in m))"
    )
    assert run_python("-c", program).stdout == "[]\n"


@pytest.mark.parametrize("wrong", ["every=0", "launches=0", "max_bytes=-1", "profile_space=0"])
def test_wrong_limits_are_refused_at_once(wrong):
    done = run_python("-c", f"import mgpu_trace; mgpu_trace.capture('x', {wrong})")
    assert done.returncode == 1
    assert f"ValueError: {wrong.partition('=')[0]} must be at least 1" in done.stderr
