"""What the columns of the page's tables mean, for a reader who has nothing but the page."""

from __future__ import annotations

from typing import Final

# By the column's name without its unit. docs/analysis.md defines them more closely.
COLUMNS: Final[dict[str, str]] = {
    "region": "The region's name.",
    "role": "The name of the warps or warpgroups.",
    "count": "How many slices.",
    "total": "Their durations added up.",
    "self": "The same without the time in which a region inside was open.",
    "mean": "The mean duration.",
    "p50": "Half of the slices are at most this long.",
    "p90": "Nine out of ten slices are at most this long.",
    "p99": "99 of 100 slices are at most this long.",
    "min": "The shortest slice.",
    "max": "The longest slice.",
    "share": "The total against the time of all tracks, each from its first enter to its last exit.",
    "self_share": "The self time against the same.",
    "cv": "Coefficient of variation: the standard deviation against the mean.",
    "prologue_mean": "The mean of the first occurrences in each track.",
    "steady_mean": "The mean of those in between.",
    "epilogue_mean": "The mean of the last occurrences in each track.",
    "probe": "An estimate of what recording cost: the count times the smallest gap between two events of a "
    "track. It is not taken off.",
    "verdict": "Of the mean: slower or faster beyond the noise, noise, or the same; if it can be told.",
    "total_verdict": "The same of the total.",
    "status": "Whether the launch of either side has it: both, appeared or went.",
    "effect": "The change of its self time against the time of all tracks before.",
    "mean_old": "The mean duration before.",
    "mean_new": "The mean duration now.",
    "mean_change": "The change of the mean, new by old.",
    "mean_low": "The lower end of its interval.",
    "mean_high": "The upper end of its interval.",
    "p50_old": "The median duration before.",
    "p50_new": "The median duration now.",
    "p50_change": "The change of the median, new by old.",
    "total_old": "The total before.",
    "total_new": "The total now.",
    "total_change": "The change of the total, new by old.",
    "count_old": "How many slices before.",
    "count_new": "How many slices now.",
    "n_unclosed": "Slices without an exit: they are drawn to the end of their track.",
}
