"""Waiting for launches in flight, which ``jax.effects_barrier`` does not do for Pallas kernels.

Pallas adds its callback while it lowers a kernel, so the program that JAX dispatches has no effect that JAX
knew of, and nothing to wait for; besides, effects are kept by thread. Devices run what they are given
in order, so a program over all of them that has ended comes after all launches.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from typing import Any


def wait_for_launches() -> None:
    """Wait until the callbacks of all launches made so far have run. Never raises."""
    jax: Any = sys.modules.get("jax")
    if jax is None or not _has_devices() or _in_callback():
        return
    with suppress(Exception):  # the program's own failed effects, which it has heard of or will
        jax.effects_barrier()
    # In a thread of its own, for what the program set for its thread (a mesh, a trace) is not meant for us.
    thread = threading.Thread(target=_follow_all, args=(jax,), name="mgpu-trace barrier", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # Python is ending, and starts no more of them
        _follow_all(jax)
    else:
        thread.join()


def _in_callback() -> bool:
    """Whether this is a host callback of a program: its devices wait for us, and we must not for them."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") in ("jax._src.callback", "jax._src.debugging"):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _has_devices() -> bool:
    """Whether JAX has looked for devices; if it has not, we shall not make it."""
    bridge: Any = sys.modules.get("jax._src.xla_bridge")
    return bool(getattr(bridge, "backends_are_initialized", lambda: True)())


def _twice(x: Any) -> Any:
    return x + x  # a function of the module, so that it is compiled once


def _follow_all(jax: Any) -> None:
    """Run a program over all devices of this process, behind everything that they were given."""
    import numpy as np

    with suppress(Exception):
        devices = jax.local_devices()
        sharding = jax.sharding.NamedSharding(
            jax.sharding.Mesh(np.array(devices), ("device",)), jax.sharding.PartitionSpec("device")
        )
        ones = jax.device_put(np.ones(len(devices), np.float32), sharding)
        jax.jit(_twice)(ones).block_until_ready()
