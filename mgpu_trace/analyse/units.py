"""The unit of an answer: nanoseconds where the SM clock's rate is known, cycles where it is not.

Everything is counted in whole cycles; the last step multiplies. So an answer in nanoseconds has no
rounding in it but that of the one product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue

if TYPE_CHECKING:
    from mgpu_trace.clock import ClockModel

Asked = Literal["auto", "ns", "cyc"]
ASKED: Final = ("auto", "ns", "cyc")


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """What times are given in.

    Attributes
    ----------
    suffix
        ``"ns"`` or ``"cyc"``: what the names of columns end in.
    per_cyc
        How much of it one cycle is.
    """

    suffix: str
    per_cyc: float

    def of(self, cyc: Any) -> NDArray[Any]:
        """Cycles in this unit: whole ones stay whole where it is cycles, else float64."""
        return np.asarray(cyc) if self.suffix == "cyc" else np.asarray(cyc, np.float64) * self.per_cyc

    def named(self, /, **cyc: Any) -> dict[str, NDArray[Any]]:
        """Columns of cycles in this unit, under names that end in it."""
        return {f"{name}_{self.suffix}": self.of(values) for name, values in cyc.items()}


CYCLES: Final = TimeUnit("cyc", 1.0)


def time_unit(clock: ClockModel, asked: Asked = "auto") -> TimeUnit:
    """The unit that was asked for; ``"auto"`` is nanoseconds wherever a rate is known.

    Raises
    ------
    MgpuTraceError
        MGT640 for nanoseconds without a rate.
    """
    if asked == "cyc" or (asked == "auto" and clock.rate_mhz is None):
        return CYCLES
    if clock.rate_mhz is None:
        message = "nanoseconds were asked for, and the rate of the SM clock is not known"
        raise MgpuTraceError(
            Diagnostic(catalogue.NO_RATE, message, hint="give --sm-clock-mhz, or ask for cycles")
        )
    return TimeUnit("ns", clock.ns_per_cyc)
