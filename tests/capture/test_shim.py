"""The fake GPU itself, without a capture: what JAX does with its buffers is what JAX does."""

from __future__ import annotations

import json

import pytest
from capture.support import needs_jax, read_truth, run_program

pytestmark = needs_jax


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("shim")
    run_program("plain.py", out)
    return out, json.loads((out / "told.json").read_text())


def test_kernels_compute(ran):
    assert ran[1]["results"] == {"pallas": [3.0], "mosaic": [2.0], "sharded": [2.0, 12.0, 22.0, 32.0]}


def test_every_launch_has_its_own_identity(ran):
    truth = read_truth(ran[0] / "truth.npz")
    kernels = [launch.kernel for launch in truth]
    assert {name: kernels.count(name) for name in kernels} == {"pallas": 3, "mosaic": 2, "sharded": 8}
    assert len({launch.identity for launch in truth}) == len(truth)
    assert sorted(launch.mark for launch in truth if launch.kernel == "sharded") == [
        *(0, 1, 10, 11),
        *(20, 21, 30, 31),
    ]


def test_jax_decodes_the_buffers(ran):
    """JAX's own dump of the first launch: the regions in turn, and Init by which it is known."""
    out, _ = ran
    first = next(launch for launch in read_truth(out / "truth.npz") if launch.kernel == "pallas")
    [path] = (out / "dumps").glob("pallas-*.json")
    events = json.loads(path.read_text())["traceEvents"]
    of_track = [event for event in events if event["tid"] == 1]
    names = [event["name"] for event in of_track if event["ph"] == "B"]
    assert tuple(names) == first.names == ("Init", "load", "store")
    # It takes 11 cycles off for each event before, for what a probe costs.
    lasted_us = of_track[1]["ts"] - of_track[0]["ts"]
    assert round(lasted_us * 1000) == first.identity - 11


def test_jax_loses_launches_without_a_capture(ran):
    """What the capture is for. When this fails, JAX has changed, and docs/capture.md with it."""
    # One file of each compilation; the sharded program is compiled for an unsharded input, and a sharded one.
    assert (ran[1]["dumps"]["pallas"], ran[1]["dumps"]["sharded"]) == (1, 2)
    assert ran[1]["warned"] == 2 + 6
