"""Requests to end, as a batch system or a closed terminal sends them, leave nothing half written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

# Their own action ends the process at once, with its temporary file still there.
_ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Inside, a request to end unwinds the stack as Ctrl-C does; the status is 128 plus the signal."""
    if threading.current_thread() is not threading.main_thread():  # only that one may take signals
        yield
        return
    # What is ignored already (by nohup) or caught by our host stays so.
    ours = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # tidying up is not to be cut short by a second one
    raise SystemExit(128 + number)
