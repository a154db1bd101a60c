"""Loaded by every Python that is started under ``mgpu-trace capture``: its folder is on PYTHONPATH.

It takes itself out of the way, runs the ``sitecustomize`` that it stands before, and starts the capture.
Nothing that goes wrong here may stop the program.
"""

import contextlib
import os
import sys


def _main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != here]
    ours = sys.modules.pop("sitecustomize", None)
    with contextlib.suppress(ImportError):
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401  # the program's own
    if ours is not None:  # Python looks for what it has just imported
        sys.modules.setdefault("sitecustomize", ours)
    home = os.environ.get("MGPU_TRACE_HOME")
    try:
        try:
            from mgpu_trace.capture.child import begin
        except ModuleNotFoundError:
            if home is None:
                return
            sys.path.append(home)  # last, so that it hides nothing of the program's
            from mgpu_trace.capture.child import begin
        begin()
    except Exception as error:
        sys.stderr.write(f"mgpu-trace: not capturing: {type(error).__name__}: {error}\n")


_main()
