"""Regions that tie launches of several devices together: common instants, signals and waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

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


def aligned(
    plan: Plan, region: str, options: SpecOptions | None = None, *, jobs: int = 1
) -> tuple[Plan, Alignment]:
    """The plan with devices aligned by the last end of a region in each launch.

    Raises
    ------
    MgpuTraceError
        MGT667 where no two devices have a launch of one number with that region.
    """
    ends = _ends(plan, [region], options, jobs)
    of_device: list[dict[Key, int]] = [{} for _ in plan.devices]
    for launch, found in zip(plan.launches, ends, strict=True):
        if len(found[0]):
            of_device[launch.device][_key(launch)] = launch.begin_ns + int(found[0].max())
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
    return plan.moved(alignment.shift_ns.tolist(), [], notes), alignment


def ordered(plan: Plan, signal: str, wait: str, options: SpecOptions | None = None, *, jobs: int = 1) -> Plan:
    """The plan with a count of the waits that end before the signal they wait for.

    Raises
    ------
    MgpuTraceError
        MGT667 where no launch has both.
    """
    signals: dict[Key, list[I64]] = {}
    waits: dict[Key, list[I64]] = {}
    for launch, found in zip(plan.launches, _ends(plan, [signal, wait], options, jobs), strict=True):
        signals.setdefault(_key(launch), []).append(launch.begin_ns + found[0])
        waits.setdefault(_key(launch), []).append(launch.begin_ns + found[1])
    both = [key for key in signals if any(map(len, signals[key])) and any(map(len, waits[key]))]
    if not both:
        raise MgpuTraceError(_nothing_in_common(f"{signal} and {wait}", "no launch"))
    n_wrong, n_all, worst = impossible(
        [np.concatenate(signals[key]) for key in both], [np.concatenate(waits[key]) for key in both]
    )
    notes = {
        "order": {"signal": signal, "wait": wait, "n": n_all, "n_impossible": n_wrong, "worst_ns": worst}
    }
    said = []
    if n_wrong:
        message = (
            f"{n_wrong} of {n_all} {clipped(wait)} end before the {clipped(signal)} that they wait for, "
            f"by up to {worst} ns"
        )
        said.append(Diagnostic(catalogue.IMPOSSIBLE_ORDER, message, n_wrong, hint="align by --align REGION"))
    return plan.moved([0] * len(plan.devices), said, notes)


def _key(launch: Placed) -> Key:
    number = launch.entry.spec.launch
    return launch.entry.kernel, -1 if number is None else number


def _nothing_in_common(what: str, who: str) -> Diagnostic:
    message = f"{who} has {clipped(what)} in a launch of one kernel and number"
    hint = "mgpu-trace info FILE lists the regions"
    return Diagnostic(catalogue.ALIGN_UNKNOWN, message, hint=hint)


def _ends(plan: Plan, regions: Sequence[str], options: SpecOptions | None, jobs: int) -> list[list[I64]]:
    """For each launch the ends of each region, in nanoseconds since the launch's first event."""
    look: Callable[[str], list[I64]] = partial(
        ends_of, regions=tuple(regions), options=options or SpecOptions()
    )
    files = [launch.entry.file for launch in plan.launches]
    found = []
    for done in each(look, files, jobs=jobs):
        if done.error is not None or done.result is None:
            raise MgpuTraceError(done.error or _nothing_in_common(regions[0], "no launch"))
        found.append(done.result)
    return found


def ends_of(file: str, *, regions: tuple[str, ...], options: SpecOptions) -> list[I64]:
    """Ends of the closed slices of each region of one launch."""
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
            parts[i].append(launch.clock.to_ns(rows.track, rows.start_cyc + rows.dur_cyc))
    return [np.concatenate(part) if part else np.zeros(0, np.int64) for part in parts]


def _wanted(spec: TraceSpec, name: int, regions: Sequence[str]) -> tuple[int, ...]:
    """Which of the regions a name is."""

    def is_meant(pattern: str) -> bool:
        try:
            return bool(named(pattern, [spec.name_of(name)]))
        except MgpuTraceError:
            return False

    return tuple(i for i, pattern in enumerate(regions) if is_meant(pattern))
