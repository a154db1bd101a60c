"""Counts a signal that comes: ``signalled.py FOLDER SIGNAL``. It imports nothing that takes long."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

number, came = signal.Signals[sys.argv[2]], []
signal.signal(number, lambda *_: came.append(time.monotonic()))
(Path(sys.argv[1]) / "ready").touch()
deadline = time.monotonic() + 30
while time.monotonic() < deadline and not (came and time.monotonic() > came[0] + 0.5):
    time.sleep(0.02)
sys.stdout.write(f"{len(came)}\n")
raise SystemExit(7)
