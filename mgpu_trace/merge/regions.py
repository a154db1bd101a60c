"""Regions that tie launches of several devices together: common instants, signals and waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np

from mgpu_trace.analyse.names import named
from mgpu_trace.batch import each
from mgpu_trace.diagnostics import Diagnostic, MgpuTraceError, catalogue
from mgpu_trace.diagnostics.clip import clipped
from mgpu_trace.merge.align import Alignment, align, impossible
from mgpu_trace.merge.plan import Placed, Plan
from mgpu_trace.model import I64, distinct
from mgpu_trace.pipeline import open_launch
from mgpu_trace.spec import SpecOptions, TraceSpec

# A launch of each device that is one: of one kernel, and made as the n-th.
Key = tuple[str, int]
# Devices that a finding names.
_SAID: Final = 3


def aligned(
    plan: Plan, region: str, options: SpecOptions | None = None, *, jobs: int = 1
) -> tuple[Plan, Alignment]:
    """The plan with devices aligned by the last end of a region in each launch.

    Raises
    ------
    MgpuTraceError
        MGT667 where no two devices have a launch of one number with that region.
    """
    errors: list[Diagnostic] = []
    of_device: list[dict[Key, int]] = [{} for _ in plan.devices]
    for key, launch, (ends,) in _ends(plan, [region], options, jobs, errors, last=True):
        if len(ends):
            of_device[launch.device][key] = launch.begin_ns + int(ends.max())
    keys = {key: i for i, key in enumerate(sorted({key for of in of_device for key in of}))}
    alignment = align([{keys[key]: ns for key, ns in of.items()} for of in of_device])
    reference = int(alignment.n_instants.argmax())
    if not any(alignment.n_instants[i] for i in range(len(of_device)) if i != reference):
        raise MgpuTraceError(_nothing_in_common(region, "no two devices"))
    columns = (alignment.shift_ns, alignment.uncertainty_ns, alignment.n_instants)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    devices = [
        {
            "name": str(device),
            "shift_ns": shift,
            "uncertainty_ns": sure if sure >= 0 else None,
            "n_instants": n,
        }
        for device, (shift, sure, n) in zip(plan.devices, rows, strict=True)
    ]
    notes = {"align": region, "devices": devices}
    alone = [device["name"] for device in devices if not device["n_instants"]]
    if alone:
        shown = ", ".join(alone[:_SAID]) + (f" and {len(alone) - _SAID} more" if len(alone) > _SAID else "")
        message = f"{clipped(region)} ends nowhere together with the others, so these are not moved: {shown}"
        errors.append(Diagnostic(catalogue.DEVICES_UNALIGNED, message, len(alone)))
    return plan.moved(alignment.shift_ns.tolist(), errors, notes), alignment


def ordered(plan: Plan, signal: str, wait: str, options: SpecOptions | None = None, *, jobs: int = 1) -> Plan:
    """The plan with a count of the waits that end before the signal they wait for.

    Raises
    ------
    MgpuTraceError
        MGT667 where no launch has both.
    """
    signals: dict[Key, list[I64]] = {}
    waits: dict[Key, list[I64]] = {}
    said: list[Diagnostic] = []
    for key, launch, found in _ends(plan, [signal, wait], options, jobs, said):
        signals.setdefault(key, []).append(launch.begin_ns + found[0])
        waits.setdefault(key, []).append(launch.begin_ns + found[1])
    both = [key for key in signals if any(map(len, signals[key])) and any(map(len, waits[key]))]
    if not both:
        raise MgpuTraceError(_nothing_in_common(f"{signal} and {wait}", "no launch"))
    n_wrong, n_all, worst = impossible(
        [np.concatenate(signals[key]) for key in both], [np.concatenate(waits[key]) for key in both]
    )
    notes = {
        "order": {"signal": signal, "wait": wait, "n": n_all, "n_impossible": n_wrong, "worst_ns": worst}
    }
    if n_wrong:
        message = (
            f"{n_wrong} of {n_all} {clipped(wait)} end before the {clipped(signal)} that they wait for, "
            f"by up to {worst} ns"
        )
        said.append(Diagnostic(catalogue.IMPOSSIBLE_ORDER, message, n_wrong, hint="align by --align REGION"))
    return plan.moved([0] * len(plan.devices), said, notes)


def _keys(plan: Plan) -> list[Key]:
    """What each launch of a plan is called on all devices; launches without a number are counted."""
    counts: dict[tuple[int, str], int] = {}
    keys = []
    for launch in plan.launches:
        kernel, number = launch.entry.kernel, launch.entry.spec.launch
        if number is None:
            number = counts[launch.device, kernel] = counts.get((launch.device, kernel), -1) + 1
        keys.append((kernel, number))
    return keys


def _nothing_in_common(what: str, who: str) -> Diagnostic:
    message = f"{who} has {clipped(what)} in a launch of one kernel and number"
    hint = "mgpu-trace info FILE lists the regions"
    return Diagnostic(catalogue.ALIGN_UNKNOWN, message, hint=hint)


def _ends(
    plan: Plan,
    regions: Sequence[str],
    options: SpecOptions | None,
    jobs: int,
    errors: list[Diagnostic],
    last: bool = False,
) -> Iterator[tuple[Key, Placed, list[I64]]]:
    """For each launch the ends of each region, in nanoseconds since the launch's first event.

    What cannot be read any more is noted. ``last``: only the last end of each.
    """
    look: Callable[[str], list[I64]] = partial(
        ends_of, regions=tuple(regions), options=options or SpecOptions(), last=last
    )
    files = [launch.entry.file for launch in plan.launches]
    for key, launch, done in zip(_keys(plan), plan.launches, each(look, files, jobs=jobs), strict=True):
        if done.error is not None:
            errors.append(done.error.in_file(launch.entry.file))
        elif done.result is not None:
            yield key, launch, done.result


def ends_of(file: str, *, regions: tuple[str, ...], options: SpecOptions, last: bool = False) -> list[I64]:
    """Ends of the closed slices of each region of one launch, or only the last one of each."""
    launch = open_launch(file, options)
    parts: list[list[I64]] = [[] for _ in regions]
    wanted: dict[int, tuple[int, ...]] = {}
    for run in launch.runs():
        for name in distinct(run.name).tolist():
            if name not in wanted:
                wanted[name] = _wanted(launch.spec, name, regions)
        for i in range(len(regions)):
            ids = [name for name, of in wanted.items() if i in of]
            rows = run.where(np.isin(run.name, ids) & run.closed)
            ends = launch.clock.to_ns(rows.track, rows.start_cyc + rows.dur_cyc)
            parts[i].append(np.sort(ends)[-1:] if last else ends)
    return [np.concatenate(part) if part else np.zeros(0, np.int64) for part in parts]


def _wanted(spec: TraceSpec, name: int, regions: Sequence[str]) -> tuple[int, ...]:
    """Which of the regions a name is."""

    def is_meant(pattern: str) -> bool:
        try:
            return bool(named(pattern, [spec.name_of(name)]))
        except MgpuTraceError:
            return False

    return tuple(i for i, pattern in enumerate(regions) if is_meant(pattern))
