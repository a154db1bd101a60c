"""Capture the raw profile buffers of JAX programs where they are made (the extra ``mgpu-trace[jax]``).

The way of a launch::

    hooks       JAX's own functions, replaced while a session is open -> the session is given a buffer
    partition   which device it ran on
    settings    whether it is kept
    session     copied in the callback, and handed on; settle: launches in flight are waited for
    metadata    the spec that goes with it; nvml: the SM clock
    writer      a thread of its own -> publish: KERNEL-pPROCESS-dDEVICE-LAUNCH.npz
    child       the same in a program that was started by ``mgpu-trace capture``

``mgpu_trace.capture`` is this package and can be called: ``with mgpu_trace.capture("traces/"):``.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mgpu_trace.capture.session import Session
    from mgpu_trace.capture.settings import CaptureSettings
    from mgpu_trace.capture.writer import CapturedLaunch

__all__ = ["CaptureSettings", "CapturedLaunch", "Session", "capture"]


def capture(
    folder: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    every: int = 1,
    launches: int | None = None,
    max_bytes: int | None = None,
    keep_json: bool = False,
    profile_space: int | None = None,
) -> Session:
    """Capture every profiled launch while the ``with`` block, or the decorated function, runs.

    Parameters
    ----------
    folder, kernel, every, launches, max_bytes, keep_json, profile_space
        See :class:`CaptureSettings`.

    Returns
    -------
    Session
        Nothing happens before it is entered. It never raises into the program after that: what goes
        wrong is in ``session.report``, and is said once on standard error.

    Examples
    --------
    >>> with mgpu_trace.capture("traces/", launches=10) as session:  # doctest: +SKIP
    ...     step(x)
    >>> [launch.path for launch in session.launches]  # doctest: +SKIP
    """
    from mgpu_trace.capture.session import Session
    from mgpu_trace.capture.settings import CaptureSettings

    limits = {"kernel": kernel, "every": every, "launches": launches, "max_bytes": max_bytes}
    more = {"keep_json": keep_json, "profile_space": profile_space}
    return Session(CaptureSettings(folder=os.fspath(folder), **limits, **more))  # type: ignore[arg-type]


_HOMES = {"Session": "session", "CaptureSettings": "settings", "CapturedLaunch": "writer"}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and no NumPy before: child.py is loaded by every Python of a program."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


class _CallablePackage(ModuleType):
    """Importing anything below binds ``mgpu_trace.capture`` to the package, so the package can be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Session:
        return capture(*args, **kwargs)


sys.modules[__name__].__class__ = _CallablePackage
