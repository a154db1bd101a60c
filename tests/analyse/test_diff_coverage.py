"""What an interval promises, counted, on 300 seeded pairs of launches whose true change is known.

Durations are skewed, blocks and launches differ, tracks are few, the sides are of different size, and
roles do different things. The intervals are those of 95 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from analyse.compared import Kind, sides

from mgpu_trace.analyse.diff import diff
from mgpu_trace.analyse.diff_findings import regressions
from mgpu_trace.analyse.table import Table
from mgpu_trace.model import Timeline, TraceBuffer
from mgpu_trace.pipeline import Launch
from mgpu_trace.synth import Region, Role, SynthConfig, synthesise
from mgpu_trace.synth.config import CONSUMER, PRODUCER

N_PAIRS = 300
COVERED = 0.93
FIRED = 0.05
RESAMPLES = 400  # fewer than by default; what is random in an interval is still small beside the interval

KINDS = (
    Kind(blocks=(8, 8)),
    Kind(blocks=(8, 8), slice_=1.0),
    Kind(blocks=(3, 3), block=0.1),
    Kind(blocks=(12, 12), block=0.3),
    Kind(blocks=(8, 24), block=0.3, slice_=0.6),
    Kind(blocks=(8, 8), units=3, block=0.2),
    Kind(blocks=(24, 24), slope=4, slice_=0.2, n=(4, 4)),
    Kind(blocks=(1, 1), units=12),
    Kind(captures=(3, 4), launch=0.05),
    Kind(captures=(1, 4), launch=0.05),
    Kind(captures=(8, 8), launch=0.05, slice_=1.0),
)
CHANGES = (0.0, 0.07, -0.2, 0.5)

Sides = tuple[list[Timeline], list[Timeline]]


def pairs(kinds: Sequence[Kind], changes: Sequence[float], n: int = N_PAIRS) -> Iterator[tuple[float, Sides]]:
    """Pairs of all kinds in turn, each with its true change of ``mma``."""
    random = np.random.default_rng([7, len(changes)])
    for i in range(n):
        change = changes[i // len(kinds) % len(changes)]
        yield change, sides(kinds[i % len(kinds)], change, random)


def covers(row: dict[str, Any], measure: str, change: float) -> bool:
    low, high = row[f"{measure}_low"], row[f"{measure}_high"]
    return low is not None and low <= change <= high


def row_of(table: Table, region: str) -> dict[str, Any]:
    return next(row for row in table.rows() if row["region"] == region)


def test_intervals_cover_the_true_change() -> None:
    found: dict[str, list[bool]] = {"mean": [], "p50": [], "total": []}
    for change, (old, new) in pairs(KINDS, CHANGES):
        row = row_of(diff(old, new, resamples=RESAMPLES), "mma")
        for measure, seen in found.items():
            if measure != "total" or len(old[0].tracks) == len(new[0].tracks):
                seen.append(covers(row, measure, change))
    covered = {measure: sum(seen) / len(seen) for measure, seen in found.items()}
    assert min(covered.values()) >= COVERED, covered


def test_without_a_change_it_seldom_fires() -> None:
    """Even where any growth is too much: then it is the noise alone that decides."""
    tables = [diff(*both, resamples=RESAMPLES) for _, both in pairs(KINDS, [0.0])]
    assert sum(regressions(table, 0.0) is not None for table in tables) <= FIRED * N_PAIRS
    assert sum(regressions(table, 0.05) is not None for table in tables) <= FIRED * N_PAIRS


def test_a_change_that_is_there_is_seen() -> None:
    """Intervals that are always wide would cover as well."""
    kinds = [Kind(blocks=(24, 24), slice_=0.1), Kind(captures=(5, 5), slice_=0.1)]
    tables = [diff(*both, resamples=RESAMPLES) for _, both in pairs(kinds, [0.2], 60)]
    fired = [regressions(table, 0.05) for table in tables]
    assert sum(finding is not None and "mma" in finding.message for finding in fired) >= 57


def test_the_checks_above_can_fail() -> None:
    """Intervals of 80 % cover too seldom."""
    found = [
        covers(row_of(diff(*both, resamples=RESAMPLES, confidence=0.8), "mma"), "mean", change)
        for change, both in pairs([Kind(blocks=(8, 8))], CHANGES)
    ]
    assert 0.7 < sum(found) / N_PAIRS < COVERED


# ---- through the buffer: synthesised, decoded, compared

SLOWER = Role(
    "consumer",
    CONSUMER.first,
    (Region("mma", 40, (Region("wait", 160), Region("wgmma", 418))),),
    CONSUMER.last,
)
TRUE = {"wgmma": 0.1, "wait": 0.0, "tma_load": 0.0, "store": 0.0, "Init": 0.0}


def decoded(config: SynthConfig, seed: int) -> Launch:
    made = synthesise(config, seed)
    return Launch(TraceBuffer(made.spec, made.words))


def test_of_launches_that_were_recorded() -> None:
    config = SynthConfig()
    slower = SynthConfig(roles=(PRODUCER, SLOWER))
    found: dict[tuple[str, str], list[bool]] = {}
    fired = 0
    for seed in range(N_PAIRS):
        old = decoded(config, seed)
        table = diff(old, decoded(slower, 10_000 + seed), resamples=RESAMPLES)
        for region, change in TRUE.items():
            row = row_of(table, region)
            for measure in ("mean", "p50", "total"):
                found.setdefault((region, measure), []).append(covers(row, measure, change))
        same = diff(old, decoded(config, 20_000 + seed), resamples=RESAMPLES)
        fired += regressions(same, 0.0) is not None
    covered = {key: sum(seen) / N_PAIRS for key, seen in found.items()}
    assert min(covered.values()) >= COVERED, covered
    assert fired <= FIRED * N_PAIRS
