"""The SM clock as the driver tells it, where ``nvidia-ml-py`` is installed (extra ``nvml``)."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any


def sm_clock_mhz(device_id: int | None) -> float | None:
    """The SM clock of the device right now, in MHz; None where nobody can say.

    It is asked for in the callback, just after the kernel: an idle GPU soon clocks down.
    """
    try:
        handle = _handle(device_id)
        if handle is None:
            return None
        pynvml = sys.modules["pynvml"]
        return float(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)) or None
    except Exception:  # a driver's answer is a bonus: without it the rate is estimated from the data
        return None


@cache
def _handle(device_id: int | None) -> Any:
    """The driver's handle of a device, asked for once; None where that does not work."""
    try:
        import pynvml  # type: ignore[import-not-found]

        pynvml.nvmlInit()
        device = _device(device_id)
        if device is None or device.platform != "gpu":
            return None
        handle = _asked_handle(pynvml, device)
        # CUDA counts the fastest first, the driver by bus: where GPUs differ it may be another one.
        name = pynvml.nvmlDeviceGetName(handle)
        name = name.decode() if isinstance(name, bytes) else name
        return handle if name == device.device_kind else None
    except Exception:
        return None


def _asked_handle(pynvml: Any, device: Any) -> Any:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    named = [part.strip() for part in visible.split(",") if part.strip()]
    index = int(device.local_hardware_id)
    if not named:
        return pynvml.nvmlDeviceGetHandleByIndex(index)
    name = named[index]
    by_index = name.isdecimal()
    return (
        pynvml.nvmlDeviceGetHandleByIndex(int(name)) if by_index else pynvml.nvmlDeviceGetHandleByUUID(name)
    )


def _device(device_id: int | None) -> Any:
    """JAX's device with that id, where it belongs to this process; its only one where none is said."""
    devices = sys.modules["jax"].local_devices()
    if device_id is None:
        return devices[0] if len(devices) == 1 else None
    return next((device for device in devices if device.id == device_id), None)
