"""The work of ``validate``: check buffers and launches, and show what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final

import click

from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, Report, catalogue, one_line
from mgpu_trace.layout import Scope
from mgpu_trace.spec import SpecOptions
from mgpu_trace_cli.launch_facts import launch_to_dict, lines_of
from mgpu_trace_cli.launching import as_usage_error, asks_for_a_launch, config_of, fields_in
from mgpu_trace_cli.render import print_table, terminal_columns
from mgpu_trace_cli.report import Checked, check, counted, more

COLUMNS: Final = ("file", "severity", "code", "count", "message", "what to do")
LAUNCH: Final = "launch"
NARROW: Final = 80  # on a terminal with fewer columns six of them make no table


def check_launch(
    said: dict[str, Any], file: str | None = None, under: dict[str, Any] | None = None
) -> Checked:
    """Check the launch that the flags say, over the fields ``under`` them that a file says.

    Raises
    ------
    MgpuTraceError
        MGT214 or MGT215 where that is no launch.
    """
    try:
        config = config_of(said, under)
    except MgpuTraceError as error:
        raise error if file is None else MgpuTraceError(error.diagnostic.in_file(file)) from None
    found = config.check() if file is None else Report.of(d.in_file(file) for d in config.check())
    return Checked(file or LAUNCH, found, None, config)


def check_file(
    file: str, options: SpecOptions, said: dict[str, Any], array: str | None, allow_empty: bool
) -> Checked:
    """Check a launch file or a spec as a launch, everything else as a buffer.

    Raises
    ------
    MgpuTraceError
        MGT213 to MGT215 where what is said is no launch.
    """
    try:
        read = fields_in(file)
    except MgpuTraceError as error:
        if error.diagnostic.code is catalogue.LAUNCH_FILE_INVALID:
            raise
        return Checked(file, Report.of([error.diagnostic.in_file(file)]), None)
    if read is not None:
        fields, noticed = read
        launch = check_launch(said, file, fields)
        return replace(launch, report=launch.report + (d.in_file(file) for d in noticed))
    if not isinstance(options.scope, Scope | None):
        raise click.BadParameter(
            f"takes warp or warpgroup; {options.scope!r} is not that", param_hint="'--scope'"
        )
    return _check_buffer(file, options, said, array, allow_empty)


def check_files(files: Sequence[str], *how: Any, jobs: int = 1) -> list[Checked]:
    """Check every file, with the further arguments of :func:`check_file`.

    Raises
    ------
    click.UsageError
        Where a file on its own says no launch; among others it is a finding, and they are checked too.
    """
    from mgpu_trace.batch import each
    from mgpu_trace_cli.render import steps

    if len(files) == 1:
        try:
            return [check_file(files[0], *how)]
        except MgpuTraceError as error:
            raise as_usage_error(error) from None
    checked = []
    with steps("checking", len(files)) as done:
        for one in each(partial(_check_one, how=how), files, jobs=jobs, on_done=done):
            found = [] if one.error is None else [one.error]
            checked.append(one.result or Checked(files[one.index], Report.of(found), None))
    return checked


def _check_one(file: str, *, how: tuple[Any, ...]) -> Checked:
    return check_file(file, *how)


def check_flags(said: dict[str, Any]) -> Checked:
    """Check the launch that the flags say; what is none is a usage error."""
    try:
        return check_launch(said)
    except MgpuTraceError as error:
        raise as_usage_error(error) from None


def _check_buffer(
    file: str, options: SpecOptions, said: dict[str, Any], array: str | None, allow_empty: bool
) -> Checked:
    from mgpu_trace.launch import LaunchConfig

    checked = check(file, options, array, allow_empty)
    if checked.spec is None or not asks_for_a_launch(said):
        return checked
    whole = LaunchConfig.from_spec(checked.spec)
    under = {field.name: getattr(whole, field.name) for field in fields(whole)}
    # The buffer has settled words and sizes, with the flags in them.
    own = {name: value for name, value in said.items() if asks_for_a_launch({name: value})}
    launch = check_launch(own, file, under)
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
    if findings and terminal_columns() < NARROW:
        click.echo("\n".join(finding.line() for _, finding in findings))
    elif findings:
        print_table(COLUMNS, [_row(file, finding) for file, finding in findings], right=["count"])
    for one in checked:
        click.echo(f"{one_line(one.file)}: {counted(one.report)}")
    if findings:
        click.echo(more(finding for _, finding in findings))


def _row(file: str, found: Diagnostic) -> list[str]:
    return [file, found.severity.label, found.code.id, str(found.count), found.message, found.hint]
