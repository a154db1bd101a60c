"""Devices against each other, by a region that ends on all of them at once; and orders that cannot be.

A barrier or a collective ends on every device when the last one has come. So the last end of such a
region in each launch is one instant, and the difference of two devices' readings of it is how far they
are off against each other. What is left after taking off the middle of the differences is how well the
region does as a clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mgpu_trace.model import F64, I64


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the launches of devices are moved. All columns ``(n_devices,)``.

    Attributes
    ----------
    shift_ns
        What is added to the times of each device; 0 for the first.
    uncertainty_ns
        Half the range of the differences that are left; -1 where there is only one instant, which leaves
        none to see.
    n_instants
        How many instants the device has in common with the others.
    """

    shift_ns: I64
    uncertainty_ns: I64
    n_instants: I64


def align(ends_ns: Sequence[Mapping[int, int]]) -> Alignment:
    """Shifts that make common instants common.

    Parameters
    ----------
    ends_ns
        For each device, the time of every instant that it saw, by a key that devices share (the number
        of the launch). The first device with the most instants is what the others are measured against.
    """
    n = len(ends_ns)
    shift, uncertainty = np.zeros(n, np.int64), np.zeros(n, np.int64)
    n_instants = np.array([len(ends) for ends in ends_ns], np.int64)
    reference = ends_ns[int(n_instants.argmax())] if n else {}
    for device, ends in enumerate(ends_ns):
        if ends is reference:
            continue
        common = sorted(ends.keys() & reference.keys())
        n_instants[device] = len(common)
        if not common:
            uncertainty[device] = -1
            continue
        differences = np.array([reference[key] - ends[key] for key in common], np.int64)
        shift[device] = _middle(differences)
        spread = int(differences.max() - differences.min())
        uncertainty[device] = -(-spread // 2) if len(common) > 1 else -1
    return Alignment(shift, uncertainty, n_instants)


def _middle(values: I64) -> int:
    """The median, to the nanosecond: of an even number the lower one of the middle two."""
    return int(np.sort(values)[(len(values) - 1) // 2])


def impossible(
    signal_ends_ns: Sequence[F64 | I64], wait_ends_ns: Sequence[F64 | I64]
) -> tuple[int, int, int]:
    """Waits that end before the signal they wait for: how many, of how many, and by how much at most.

    Parameters
    ----------
    signal_ends_ns, wait_ends_ns
        For each launch that has both, ends in order of time, of all devices: the n-th wait waits for the
        n-th signal.
    """
    n_wrong = n_all = worst = 0
    for signals, waits in zip(signal_ends_ns, wait_ends_ns, strict=True):
        n = min(len(signals), len(waits))
        early = np.sort(signals)[:n] - np.sort(waits)[:n]
        n_all += n
        n_wrong += int(np.count_nonzero(early > 0))
        worst = max(worst, int(early.max(initial=0)))
    return n_wrong, n_all, worst
