"""Whether a launch can be made and profiled, told before it is made.

The rules are those of JAX's Mosaic GPU and Pallas, in JAX's own sentences where it has one, and those
of CUDA that JAX leaves to the driver.
"""

from __future__ import annotations

from mgpu_trace.launch.config import LaunchConfig
from mgpu_trace.launch.facts import LaunchFacts

__all__ = ["LaunchConfig", "LaunchFacts"]
