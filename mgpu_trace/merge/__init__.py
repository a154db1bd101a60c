"""Many launches, of several devices and processes, on one time line."""
