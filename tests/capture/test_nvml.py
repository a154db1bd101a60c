"""The SM clock from the driver: a stand-in for nvidia-ml-py and for JAX's devices."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from mgpu_trace.capture import nvml

GPUS = {0: 1980, 1: 1755, "GPU-abc": 1410}


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Two GPUs as JAX's devices 4 and 5; ``calls`` has what was asked of the driver."""
    calls: list[str] = []
    names = {0: "H100", 1: b"H100", "GPU-abc": "H100"}

    def asked(name: str, answer: Any) -> Any:
        def call(*args: Any) -> Any:
            calls.append(name)
            return answer(*args)

        return call

    pynvml = SimpleNamespace(
        NVML_CLOCK_SM=1,
        nvmlInit=asked("init", lambda: None),
        nvmlDeviceGetHandleByIndex=asked("index", lambda index: index),
        nvmlDeviceGetHandleByUUID=asked("uuid", lambda uuid: uuid),
        nvmlDeviceGetName=lambda handle: names[handle],
        nvmlDeviceGetClockInfo=asked("clock", lambda handle, kind: GPUS[handle]),
    )
    devices = [
        SimpleNamespace(id=4 + i, platform="gpu", local_hardware_id=i, device_kind="H100") for i in range(2)
    ]
    monkeypatch.setitem(sys.modules, "pynvml", pynvml)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(local_devices=lambda: devices))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    nvml._handle.cache_clear()
    yield SimpleNamespace(calls=calls, pynvml=pynvml, devices=devices)
    nvml._handle.cache_clear()


@pytest.mark.parametrize(
    ("visible", "device_id", "mhz"),
    [
        (None, 4, 1980),
        (None, 5, 1755),
        ("1,0", 4, 1755),
        ("GPU-abc,0", 4, 1410),
        (None, 7, None),  # another process's
        (None, None, None),  # which of the two?
    ],
)
def test_the_clock_of_the_right_gpu(
    driver: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    visible: str | None,
    device_id: int | None,
    mhz: float | None,
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert nvml.sm_clock_mhz(device_id) == mhz


def test_the_only_device_needs_no_name(driver: SimpleNamespace) -> None:
    del driver.devices[1]
    assert nvml.sm_clock_mhz(None) == 1980


def test_a_driver_that_fails_is_asked_once_and_costs_nothing(driver: SimpleNamespace) -> None:
    def fail() -> None:
        driver.calls.append("init")
        raise OSError("no driver")

    driver.pynvml.nvmlInit = fail
    assert [nvml.sm_clock_mhz(4) for _ in range(3)] == [None] * 3
    assert driver.calls == ["init"]


def test_a_gpu_of_another_kind_is_another_gpu(driver: SimpleNamespace) -> None:
    driver.devices[0].device_kind = "A100"
    assert nvml.sm_clock_mhz(4) is None
    assert nvml.sm_clock_mhz(5) == 1755


def test_on_a_cpu_there_is_no_sm_clock(driver: SimpleNamespace) -> None:
    driver.devices[0].platform = "cpu"
    assert nvml.sm_clock_mhz(4) is None


def test_without_the_package_there_is_none(driver: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nvml.sm_clock_mhz(4) is None
