"""Running a program whose Pythons capture: its signals, its end, and what it left behind."""

from __future__ import annotations

import contextlib
import glob
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue, one_line
from mgpu_trace.diagnostics.clip import counted
from mgpu_trace_cli.report import say

if TYPE_CHECKING:
    from mgpu_trace.capture.child import ChildReport
    from mgpu_trace.capture.settings import CaptureSettings

_PASSED_ON: Final = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_SIGNALLED: Final = 128  # a shell's exit status for a process that signal N ended is 128 + N


def run_captured(command: Sequence[str], settings: CaptureSettings, quiet: bool) -> int:
    """Run ``command`` with the capture in it, and say what was captured.

    Returns
    -------
    int
        The command's own exit status, 128 + N where signal N ended it.

    Raises
    ------
    MgpuTraceError
        MGT708 where it cannot be run, MGT601 or MGT602 where the folder cannot be made.
    """
    from mgpu_trace.capture.child import environment, reports_in

    _make(settings.folder)
    with tempfile.TemporaryDirectory(prefix="mgpu-trace-") as reports:
        status = _wait_for(command, environment(settings.to_json(), reports))
        found = reports_in(reports)
    _tidy(found, settings.folder)
    _sum_up(found, settings, quiet)
    return status


def _make(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise MgpuTraceError(
            Diagnostic(
                catalogue.CANNOT_WRITE,
                f"cannot make the folder: {error.strerror or error}",
                hint="choose another with -o",
                file=folder,
            )
        ) from None


def _wait_for(command: Sequence[str], environment: dict[str, str]) -> int:
    """Run the command to its end. Signals that a process sent us go on to it.

    Those that a terminal sent it has had already: it belongs to the same group.
    """
    # Ignored, as some programs leave it to those that they start, it would never come.
    inherited = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
    try:
        child = _started(command, environment, lambda: _give_back(inherited, before))
        while child.poll() is None:
            came = signal.sigwaitinfo({*_PASSED_ON, signal.SIGCHLD})
            if came.si_signo != signal.SIGCHLD and came.si_code <= 0:  # SI_USER and its kin
                child.send_signal(came.si_signo)
        return child.returncode if child.returncode >= 0 else _SIGNALLED - child.returncode
    finally:
        _give_back(inherited, before)


def _give_back(on_child: Any, mask: set[signal.Signals | int]) -> None:
    """Signals as they were when we were started."""
    signal.signal(signal.SIGCHLD, on_child)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _started(
    command: Sequence[str], environment: dict[str, str], prepare: Callable[[], None]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            env=environment,
            preexec_fn=prepare,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MgpuTraceError(
            Diagnostic(
                catalogue.CAPTURE_NO_COMMAND,
                f"cannot run {one_line(command[0])}: {reason}",
                hint="a script is run as: -- python SCRIPT",
            )
        ) from None


def _sum_up(found: Sequence[ChildReport], settings: CaptureSettings, quiet: bool) -> None:
    """Say on standard error what was captured; what went wrong the processes have said themselves."""
    paths = [path for one in found for path in one.paths]
    skipped = sum(one.skipped for one in found)
    killed = sum(not one.ended for one in found)
    lost = any(catalogue.CAPTURE_LOST.id in one.codes for one in found)
    if not paths and not skipped and not lost:
        say([_nothing(found)])
    elif not quiet:
        kernels = {kernel for one in found for kernel in one.kernels}
        processes = "" if len(found) == 1 else f" in {counted(len(found), 'process')}"
        cut = (
            f"; {counted(killed, 'process')} did not end in order: the last launches may be missing"
            if killed
            else ""
        )
        click.echo(
            f"captured {counted(len(paths), 'launch')} of "
            f"{counted(len(kernels), 'kernel')}{processes}: {one_line(settings.folder)}{cut}",
            err=True,
        )


def _tidy(found: Sequence[ChildReport], folder: str) -> None:
    """Remove what processes that were killed had not finished writing."""
    from mgpu_trace.capture.publish import part_prefix

    for one in found:
        if not one.ended:
            for path in glob.glob(os.path.join(glob.escape(folder), f"{part_prefix(one.pid)}*.part")):
                with contextlib.suppress(OSError):
                    os.unlink(path)


def _nothing(found: Sequence[ChildReport]) -> Diagnostic:
    if found:
        hint = "give the kernels a profile_space and a profile_dir, or try --profile-space"
    else:
        hint = "no process imported JAX, or Python was started with -E, -I or -S, or PYTHONPATH was replaced"
    return Diagnostic(catalogue.CAPTURE_EMPTY, "no profiled launch was seen", hint=hint)
