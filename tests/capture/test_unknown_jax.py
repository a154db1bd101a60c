"""On a JAX that is built otherwise the program runs on, and the hook says what it cannot do.

JAX's own sources are changed as they are imported, consistently, as a later version might have them.
"""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from capture.support import (
    PROGRAMS,
    check_captured,
    environment,
    files_of,
    needs_jax,
    read_buffer,
    read_truth,
    run_python,
)

pytestmark = needs_jax

OWN_OUTPUT = "[2.0] [2.0] [1.0, 11.0, 21.0, 31.0] [1.0]\n"
# Changes that are made together, and what the hook says is missing.
CHANGED = {
    "dump renamed": ["ProfilerSpec.dump"],
    "dump takes a launch": ["ProfilerSpec.dump"],
    "no callback": ["jax.debug.callback"],
    "lowering renamed,pallas lowering renamed,dispatch renamed": [
        "_lower_as_gpu_kernel",
        "jaxpr_has_prim_requiring_devices",
        "lower_jaxpr_to_module",
    ],
    "opened otherwise": ["dump_profile that opens its file with open"],
}
NO_DUMP = [name for name in CHANGED if name.startswith("dump")]
WHOLE = [name for name in CHANGED if name not in NO_DUMP and name != "opened otherwise"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> dict[str, tuple[Path, Any]]:
    folders = {change: tmp_path_factory.mktemp("changed") for change in CHANGED}

    def run(change: str) -> Any:
        env = environment(MGPU_CHANGED_JAX=change)
        return run_python(PROGRAMS / "on_changed_jax.py", folders[change], env=env)

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(run, CHANGED))
    return {change: (folders[change], done[i]) for i, change in enumerate(CHANGED)}


@pytest.mark.parametrize("change", CHANGED)
def test_the_program_is_as_it_was(ran, change):
    _, done = ran[change]
    assert (done.returncode, done.stdout) == (3, OWN_OUTPUT), done.stderr


@pytest.mark.parametrize("change", CHANGED)
def test_what_is_missing_is_said_once(ran, change):
    folder, done = ran[change]
    # Besides, JAX warns of the launches that it loses itself; the second line is its source.
    known = ("MGT705", "MGT707", "Failed to dump profile")
    lines = [line for line in done.stderr.splitlines() if not line.startswith("  ")]
    lines = [line for line in lines if not any(text in line for text in known)]
    assert len(lines) == len(CHANGED[change]), done.stderr
    assert all(line.startswith("mgpu-trace: warning[MGT703]: jax ") for line in lines)
    for missing in CHANGED[change]:
        assert sum(f"has no {missing}" in line for line in lines) == 1
    codes = Counter(found["code"] for found in json.loads((folder / "told.json").read_text())["report"])
    assert codes["MGT703"] == len(lines)


@pytest.mark.parametrize("change", WHOLE)
def test_launches_are_captured_all_the_same(ran, change):
    folder, _ = ran[change]
    truth = read_truth(folder / "truth.npz")
    matched = check_captured(files_of(folder / "traces"), truth)
    kernels = Counter(launch.kernel for launch in matched.values())
    assert kernels == {"pallas": 2, "mosaic": 2, "sharded": 4}
    assert json.loads((folder / "told.json").read_text())["dumps"] == []


@pytest.mark.parametrize("change", [*NO_DUMP, "no callback"])
def test_nothing_is_profiled_that_could_not_be_caught(ran, change):
    folder, done = ran[change]
    assert not any(launch.kernel == "silent" for launch in read_truth(folder / "truth.npz"))
    [line] = [line for line in done.stderr.splitlines() if "MGT707" in line]
    assert line.startswith("mgpu-trace: warning[MGT707]: silent: not profiled: ")


def test_without_callback_devices_are_not_known(ran):
    folder, _ = ran["no callback"]
    assert {read_buffer(path).spec.device_id for path in files_of(folder / "traces")} == {None}


def test_without_lowering_mosaic_kernels_have_no_names(ran):
    folder, _ = ran["lowering renamed,pallas lowering renamed,dispatch renamed"]
    names = Counter(read_buffer(path).spec.kernel for path in files_of(folder / "traces"))
    assert names == {"pallas": 2, "kernel": 2, "sharded": 4}


@pytest.mark.parametrize("change", NO_DUMP)
def test_without_dump_jax_writes_its_own(ran, change):
    """What is not captured is not taken from the program either."""
    folder, _ = ran[change]
    told = json.loads((folder / "told.json").read_text())
    assert files_of(folder / "traces") == []
    dumps = told["dumps"]
    assert sum(name.startswith("pallas-") for name in dumps) == 1
    assert sum(name.startswith("sharded-") for name in dumps) == 1
    assert not any(name.startswith("silent-") for name in dumps)
    for name in dumps:
        assert json.loads((folder / "dumps" / name).read_text())["traceEvents"]
