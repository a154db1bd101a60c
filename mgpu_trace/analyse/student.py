"""Quantiles of Student's t, so that intervals from few units are as wide as they must be."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

# From here on the normal distribution is right to three digits, and its next term to seven.
_MANY: Final = 1000


@lru_cache(maxsize=4096)
def t_quantile(confidence: float, df: int) -> float:
    """Half the width, in standard errors, of an interval that covers with that probability.

    Parameters
    ----------
    confidence
        Between 0 and 1, such as 0.95.
    df
        Degrees of freedom, 1 or more.
    """
    if df >= _MANY:
        z = NormalDist().inv_cdf(0.5 + confidence / 2)
        return z + (z**3 + z) / (4 * df)
    low, high = 0.0, math.pi / 2  # of the angle whose tangent is t / sqrt(df)
    for _ in range(60):
        middle = (low + high) / 2
        if _inside(middle, df) < confidence:
            low = middle
        else:
            high = middle
    return math.tan(high) * math.sqrt(df)


def _inside(theta: float, df: int) -> float:
    """Probability of ``|t| < sqrt(df) * tan(theta)``: Abramowitz and Stegun 26.7.3 and 26.7.4."""
    cos, sin = math.cos(theta), math.sin(theta)
    odd = df % 2
    term, total = (cos if odd else 1.0), 0.0
    for k in range(odd, df - 1, 2):
        total += term
        term *= cos * cos * (k + 1) / (k + 2)
    return 2 / math.pi * (theta + sin * total) if odd else sin * total
