"""Clocks: the one place where cycles and nanoseconds meet.

Within one SM order and distance are exact in cycles. Across SMs only the start times relate, to
one step of the global timer. So one affine model serves a launch::

    ns = offset[sm] + clock / rate

:func:`fit_clock` finds it (docs/format.md, "Clocks"); :class:`ClockModel` applies it.
"""

from __future__ import annotations

from mgpu_trace.clock.fit import fit_clock
from mgpu_trace.clock.model import ClockModel

__all__ = ["ClockModel", "fit_clock"]
