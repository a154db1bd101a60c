"""``python -m mgpu_trace_cli`` is ``mgpu-trace``."""

from __future__ import annotations

from mgpu_trace_cli.main import main

main()
