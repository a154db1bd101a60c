"""The list of commands, and the one place where an error becomes text and an exit status.

A command's file is imported when the command is called, so that ``mgpu-trace --help`` costs
little more than click itself.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

import mgpu_trace
from mgpu_trace_cli.signals import ended_in_order

if TYPE_CHECKING:
    from mgpu_trace.diagnostics import Diagnostic

PROGRAM: Final = "mgpu-trace"

# name -> its line in --help. Each is a function of that name in mgpu_trace_cli.commands.NAME.
COMMANDS: Final = {
    "capture": "Run a program and keep the buffer of every profiled launch.",
    "dump": "Turn profile buffers into traces that open in Perfetto.",
    "open": "Look at profile buffers, or at traces made before, in Perfetto.",
    "validate": "Check profile buffers, or a launch before it is made.",
    "info": "Show what is in a profile buffer.",
    "stats": "Show where the time of a launch goes: regions by total, self time, percentiles.",
    "overlap": "Show what ran beside what, who waits, and when nobody works.",
    "balance": "Show which SM or block is late, and what that costs the launch.",
    "timeline": "Draw chosen tracks in the terminal: which region when.",
    "query": "Answer a question in SQL about launches.",
    "diff": "Compare launches: what changed in each region, and what of it is noise.",
    "report": "Write a launch, or two to compare, as one page of HTML that can be sent.",
    "merge": "Put many launches, kernels and devices on one timeline.",
    "synth": "Write a synthetic launch, with its true timeline beside it.",
    "explain": "Explain a code: what it means, why it matters, what to do.",
    "include": "Print the folder of mgpu_trace.cuh, for nvcc -I.",
}

EXIT_ERROR: Final = 1
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT, as a shell reports it
EXIT_CLOSED_PIPE: Final = 141  # 128 + SIGPIPE


class Program(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"mgpu_trace_cli.commands.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run the command line and exit; nothing that goes wrong shows a traceback."""
        try:
            with ended_in_order():
                status = _run(self, *args, **kwargs)
        except click.exceptions.Exit as exit_:
            status = exit_.exit_code
        except click.ClickException as error:
            error.show()
            status = error.exit_code
        except BaseException as error:
            status = _report(error)
        sys.exit(status)


def _run(program: Program, args: list[str] | None = None, prog_name: str | None = None, **_: object) -> int:
    # Nothing here multiplies matrices; starting OpenBLAS's threads costs more than importing NumPy.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A name may hold what the terminal's encoding lacks; standard error escapes it already.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    with program.make_context(prog_name or PROGRAM, list(sys.argv[1:] if args is None else args)) as context:
        status = program.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a full disk can still be reported
    return status if isinstance(status, int) else 0


def _report(error: BaseException) -> int:
    """Say in one line what went wrong, and return the exit status."""
    if isinstance(error, (SystemExit, GeneratorExit)):
        raise error
    if os.environ.get("MGPU_TRACE_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    _settle_stdout()
    if isinstance(error, BrokenPipeError):  # the reader has seen enough, which is no fault
        return EXIT_CLOSED_PIPE
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    from mgpu_trace_cli.report import say

    say(map(_diagnostic_of, error.exceptions if isinstance(error, ExceptionGroup) else [error]))
    return EXIT_ERROR


def _diagnostic_of(error: BaseException) -> Diagnostic:
    from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue

    if isinstance(error, MgpuTraceError):
        return error.diagnostic
    if isinstance(error, OSError):  # readers and writers name their file; what is left is our own output
        return Diagnostic(
            catalogue.CANNOT_WRITE,
            error.strerror or str(error),
            hint="send it somewhere else",
            file=error.filename if isinstance(error.filename, str) else "standard output",
        )
    if isinstance(error, MemoryError):
        hint = "give a plain .npy file, which is mapped, or use a machine with more"
        return Diagnostic(catalogue.OUT_OF_MEMORY, "out of memory", hint=hint)
    return Diagnostic(
        catalogue.INTERNAL,
        f"{type(error).__name__}: {error}",
        hint="MGPU_TRACE_DEBUG=1 shows the traceback; please report it",
    )


def _settle_stdout() -> None:
    """Where standard output cannot take what it still holds, let Python's flush at exit go nowhere."""
    try:
        sys.stdout.flush()
    except (OSError, AttributeError):  # a closed pipe, a full disk; no standard output at all
        try:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, sys.stdout.fileno())
            os.close(nothing)
        except (OSError, ValueError, AttributeError):  # there is no file behind it (a test's, say)
            pass


EXAMPLE: Final = """\
\b
Example:
  mgpu-trace dump fixtures/golden/hopper_gemm.npy -o trace.json.gz
"""


@click.command(
    epilog=EXAMPLE,
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(mgpu_trace.__version__, prog_name=PROGRAM)
def main() -> None:
    """What happens inside a GPU kernel: Mosaic GPU profile buffers as timelines."""
