"""Shares of counts: Wilson's interval of one, Fisher's exact test of two. Pure."""

import math

from fairtrial.stats.distributions import normal_quantile

MOST = 100_000
"""Largest counts that are tested exactly."""
_TIE = 1e-7
"""Two tables within this relative distance are equally likely: what the logarithms lack of a tie."""


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share (Wilson 1927, Journal of the American Statistical Association 22).

    Raises:
        ValueError: The counts make no share, or ``confidence`` is out of range.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no share")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is outside 0 to 1")
    z = normal_quantile((1 + confidence) / 2)
    share, weight = successes / n, z * z / n
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / n + weight / (4 * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def fisher_exact(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Two-sided p of Fisher's exact test: all tables that are no likelier than the observed one.

    Args:
        one: Successes and all.
        other: The same of the other population.

    Raises:
        ValueError: The counts make no share, or are larger than :data:`MOST`.
    """
    (a, n1), (b, n2) = one, other
    for successes, n in (one, other):
        if not 0 <= successes <= n or not 1 <= n <= MOST:
            raise ValueError(f"no exact test of {successes} of {n}")
    total = a + b
    tables = range(max(0, total - n2), min(n1, total) + 1)
    logs = {table: _log_choose(n1, table) + _log_choose(n2, total - table) for table in tables}
    all_tables = _log_choose(n1 + n2, total)
    limit = logs[a] + math.log1p(_TIE)
    p = math.fsum(math.exp(value - all_tables) for value in logs.values() if value <= limit)
    return min(1.0, p)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
