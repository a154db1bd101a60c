"""Many launches, of several devices and processes, on one time line: :func:`merge_files`."""

from mgpu_trace.merge.run import Merged, merge_files

__all__ = ["Merged", "merge_files"]
