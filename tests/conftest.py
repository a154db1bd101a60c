"""Settings of all tests: properties have no time limit, because a loaded machine is not a failure."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

# A shell starts what is in the background with Ctrl-C ignored, and so would everything that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
