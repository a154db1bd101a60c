"""The work of ``validate``: check buffers and launches, and show what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import click

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report, one_line
from mgpu_trace.layout import Scope
from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.launch_facts import launch_to_dict, lines_of
from mgpu_trace_cli.launching import asks_for_a_launch, config_of, fields_in, report_of
from mgpu_trace_cli.render import print_table
from mgpu_trace_cli.report import Checked, check, counted, more

COLUMNS: Final = ("file", "severity", "code", "count", "message", "what to do")
LAUNCH: Final = "launch"


def check_launch(said: dict[str, Any], file: str | None = None, **under: Any) -> Checked:
    """Check the launch that the flags say, over the fields ``under`` them that a file says."""
    config = config_of(said, under=under)
    return Checked(file or LAUNCH, report_of(config, file), None, config)


def check_file(
    file: str, options: SpecOptions, said: dict[str, Any], array: str | None, allow_empty: bool
) -> Checked:
    """Check a launch file or a spec as a launch, everything else as a buffer."""
    try:
        fields = fields_in(file)
    except MgpuTraceError as error:
        return Checked(file, Report.of([error.diagnostic.in_file(file)]), None)
    if fields is not None:
        return check_launch(said, file, **fields)
    if not isinstance(options.scope, Scope | None):
        raise click.BadParameter(
            f"takes warp or warpgroup; {options.scope!r} is not that", param_hint="'--scope'"
        )
    return _check_buffer(file, options, said, array, allow_empty)


def _check_buffer(
    file: str, options: SpecOptions, said: dict[str, Any], array: str | None, allow_empty: bool
) -> Checked:
    checked = check(file, options, array, allow_empty)
    if checked.spec is None or not asks_for_a_launch(said):
        return checked
    spec = checked.spec
    under = {
        "grid": spec.grid,
        "block": spec.block,
        "scope": spec.scope,
        "names": spec.names,
        "words_per_track": spec.words_per_track,
        "bounds_checked": spec.bounds_checked,
        "jax_version": spec.jax_version,
    }
    # The buffer has settled words and sizes, with the flags in them.
    own = {name: value for name, value in said.items() if name not in (*under, "profile_space")}
    launch = check_launch(own, file, **under)
    return replace(checked, report=checked.report + launch.report, launch=launch.launch)


def to_dict(checked: Sequence[Checked], launch: Checked | None) -> dict[str, Any]:
    """Everything that was found, as JSON-ready data (the schema is in docs/cli.md)."""
    return {
        "schema": "mgpu-trace/validate",
        "version": 1,
        "files": [_entry(one) for one in checked],
        "launch": None if launch is None else _launch_entry(launch),
    }


def _entry(one: Checked) -> dict[str, Any]:
    return one.to_dict() | {"launch": None if one.launch is None else launch_to_dict(one.launch)}


def _launch_entry(one: Checked) -> dict[str, Any]:
    assert one.launch is not None
    return {
        "ok": not one.report.has_errors,
        **launch_to_dict(one.launch),
        "diagnostics": [finding.to_dict() for finding in one.report],
    }


def show(checked: Sequence[Checked]) -> None:
    """Facts of launches, a table of all findings, a line for each file, and where to read more."""
    for one in checked:
        if one.launch is not None:
            print_table([LAUNCH, "" if one.file == LAUNCH else one.file], lines_of(one.launch))
            click.echo()
    findings = [(one.file, finding) for one in checked for finding in one.report]
    if findings:
        print_table(COLUMNS, [_row(file, finding) for file, finding in findings], right=["count"])
    for one in checked:
        click.echo(f"{one_line(one.file)}: {counted(one.report)}")
    if findings:
        click.echo(more(finding for _, finding in findings))


def _row(file: str, found: Diagnostic) -> list[str]:
    return [file, found.severity.label, found.code.id, str(found.count), found.message, found.hint]
