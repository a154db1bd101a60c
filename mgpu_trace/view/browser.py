"""Starts the browser, so that it neither takes the terminal nor writes on it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import Final

from mgpu_trace.diagnostics import Diagnostic, catalogue
from mgpu_trace.diagnostics.clip import clipped

# They need a terminal and cannot show a timeline. www-browser is one of these wherever no desktop is.
_OF_TERMINALS: Final = ("browsh", "carbonyl", "elinks", "links", "links2", "lynx", "w3m", "www-browser")
# One of Python's own: a browser may stay in the foreground until it is closed.
_OPEN: Final = "import sys, webbrowser; sys.exit(not webbrowser.get().open(sys.argv[1]))"


def open_browser(url: str, on_failure: Callable[[Diagnostic], None]) -> None:
    """Open ``url`` in the user's browser (``$BROWSER`` where it is set), and do not wait for it.

    ``on_failure`` is called with an MGT611 when it does not start, perhaps later and from another thread.
    """
    why = _no_browser()
    if why is not None:
        on_failure(_not_started(why, url))
        return
    try:
        # A session of its own: no terminal, and Ctrl-C here does not close it.
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _OPEN, url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        on_failure(_not_started(f"Python cannot be started: {error.strerror}", url))
        return

    def watch() -> None:
        if process.wait() != 0:
            on_failure(_not_started(f"{_name()} did not start", url))

    threading.Thread(target=watch, daemon=True).start()


def _no_browser() -> str | None:
    """Why there is none to start; None where there is one."""
    try:
        name = _name()
    except webbrowser.Error:
        return "no browser was found on this machine"
    except (IndexError, ValueError):  # Python splits it as a shell does, and takes its last word
        return f"BROWSER is {clipped(repr(os.environ.get('BROWSER')))}, which names no program"
    if os.path.basename(name) in _OF_TERMINALS:
        return f"only {name} was found, which cannot show a timeline"
    return None


def _name() -> str:
    """The command of the browser that is taken, where Python knows it."""
    return clipped(str(getattr(webbrowser.get(), "name", "") or "the browser"))


def _not_started(why: str, url: str) -> Diagnostic:
    return Diagnostic(catalogue.BROWSER_NOT_STARTED, why, hint=f"open it yourself: {url}")
