"""What a command says about a launch besides its result: findings, one line of summary, a status."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report, Severity, catalogue
from mgpu_trace.spec import SpecOptions

if TYPE_CHECKING:
    from mgpu_trace.launch import LaunchConfig
    from mgpu_trace.pipeline import Launch
    from mgpu_trace.spec import TraceSpec


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in one file.

    ``summary`` and ``spec`` are None where no buffer was decoded, ``launch`` where none was checked.
    """

    file: str
    report: Report
    summary: dict[str, Any] | None
    launch: LaunchConfig | None = None
    spec: TraceSpec | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "ok": not self.report.has_errors,
            "diagnostics": [finding.to_dict() for finding in self.report],
            "summary": self.summary,
        }


def check(file: str, options: SpecOptions, array: str | None, allow_empty: bool) -> Checked:
    """Decode ``file`` for its findings only; a file that cannot be decoded has one."""
    from mgpu_trace.pipeline import open_launch
    from mgpu_trace_cli.render import progress

    try:
        launch = open_launch(file, options, array=array)
        with progress(launch, "checking"):
            launch.scan()
    except MgpuTraceError as error:
        return Checked(file, Report.of([error.diagnostic.in_file(file)]), None)
    return Checked(file, accepted(launch.report, allow_empty), summary_of(launch), spec=launch.spec)


def summary_of(launch: Launch) -> dict[str, Any]:
    """What was decoded, as JSON-ready data (docs/cli.md); complete once the runs were read."""
    return {
        "n_tracks": len(launch.tracks),
        "n_slices": launch.n_slices,
        "n_lost_events": launch.n_lost_events,
        "clock": launch.clock.to_dict(),
    }


def accepted(report: Report, allow_empty: bool) -> Report:
    """``report`` without the finding that --allow-empty accepts."""
    return Report.of(d for d in report if not (allow_empty and d.code is catalogue.NO_EVENTS))


def say(findings: Iterable[Diagnostic], quiet: bool = False) -> None:
    """One line on standard error for each finding, errors only where ``quiet``; then where to read more."""
    said = [f for f in findings if f.severity is Severity.ERROR or not quiet]
    for finding in said:
        click.echo(finding.line(), err=True)
    if said:
        click.echo(more(said), err=True)


def more(findings: Iterable[Diagnostic]) -> str:
    """The line after findings: the command that explains their codes."""
    codes = dict.fromkeys(finding.code.id for finding in findings)
    return f"  more: mgpu-trace explain {' '.join(codes)}"


def counted(findings: Iterable[Diagnostic]) -> str:
    """How many findings of each severity, such as ``1 error, 2 warnings``; ``nothing found`` if none."""
    found = [d.severity for d in findings]
    parts = [(found.count(s), s.label) for s in sorted(Severity, reverse=True)]
    said = [f"{n} {label}{'s' if n > 1 and label != 'info' else ''}" for n, label in parts if n]
    return ", ".join(said) or "nothing found"
