"""The same work on many files, in several processes."""

from mgpu_trace.batch.local import Done, each, usable_cores

__all__ = ["Done", "each", "usable_cores"]
