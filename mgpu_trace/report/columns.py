"""What the columns of the page's tables mean, for a reader who has nothing but the page."""

from __future__ import annotations

from typing import Final

# By the column's name without its unit. docs/analysis.md defines them more closely.
COLUMNS: Final[dict[str, str]] = {
    "region": "The region's name.",
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
    "n_unclosed": "Slices without an exit: they are drawn to the end of their track.",
}
