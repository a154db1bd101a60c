"""Student's t against printed tables, and as a distribution."""

from __future__ import annotations

import math

import pytest

from mgpu_trace.analyse.student import t_quantile

# Two-sided, from a printed table (Fisher and Yates; NIST/SEMATECH 1.3.6.7.2).
TABLE = {
    0.90: {1: 6.314, 2: 2.920, 3: 2.353, 4: 2.132, 7: 1.895, 10: 1.812, 30: 1.697, 100: 1.660},
    0.95: {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 7: 2.365, 10: 2.228, 30: 2.042, 100: 1.984},
    0.99: {1: 63.657, 2: 9.925, 3: 5.841, 4: 4.604, 7: 3.499, 10: 3.169, 30: 2.750, 100: 2.626},
    0.998: {1: 318.313, 2: 22.327, 3: 10.215, 4: 7.173, 7: 4.785, 10: 4.143, 30: 3.385, 100: 3.174},
}


@pytest.mark.parametrize(("confidence", "df"), [(c, df) for c, row in TABLE.items() for df in row])
def test_as_the_table_has_it(confidence: float, df: int) -> None:
    assert t_quantile(confidence, df) == pytest.approx(TABLE[confidence][df], abs=1e-3, rel=2e-5)


def test_with_many_it_is_the_normal_distribution() -> None:
    assert t_quantile(0.95, 10**7) == pytest.approx(1.959964, abs=1e-6)
    assert t_quantile(0.95, 999) == pytest.approx(t_quantile(0.95, 1000), rel=1e-5)


def test_fewer_degrees_and_more_confidence_are_wider() -> None:
    by_df = [t_quantile(0.95, df) for df in (1, 2, 3, 10, 11, 500, 998, 999, 1000, 5000)]
    assert by_df == sorted(by_df, reverse=True)
    by_confidence = [t_quantile(c, 5) for c in (0.5, 0.9, 0.95, 0.9999, 1 - 1e-7)]
    assert by_confidence == sorted(by_confidence)
    assert all(map(math.isfinite, by_confidence))
