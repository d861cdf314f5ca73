"""Intervals of quantiles from ranks alone: exact whatever the distribution. Pure.

They speak of one population, one launch: requests of one launch are alike, so they are no
statement about the next launch.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

from fairtrial.schema.verdict import Bounds
from fairtrial.schema.vocab import Direction
from fairtrial.stats.distributions import binomial_cdf

MEDIAN = 50


def median_bounds(
    values: Sequence[float],
    confidence: float = 0.95,
    *,
    failed: int = 0,
    direction: Direction = Direction.LOWER,
) -> Bounds:
    """An interval of the median, see :func:`quantile_bounds`: from 6 values at 95 %, 8 at 99 %."""
    return quantile_bounds(values, MEDIAN, confidence, failed=failed, direction=direction)


def quantile_bounds(
    values: Sequence[float],
    percent: int,
    confidence: float = 0.95,
    *,
    failed: int = 0,
    direction: Direction = Direction.LOWER,
) -> Bounds:
    """A two-sided interval between two of the values, each side missing at most half of the error.

    The number of values below the quantile is binomial, so the interval between two ranks misses
    it with a binomial probability (Conover, Practical Nonparametric Statistics, section 3.2).
    Failures rank as the worst values: a bound that would fall on one is not attained.

    Args:
        values: Values of the requests that succeeded, in any order.
        percent: 1 to 99.
        confidence: Above 0 and below 1.
        failed: Requests that failed.
        direction: Which way the metric is better.

    Returns:
        The bounds; None with the reason on a side where there is none.

    Raises:
        ValueError: An argument is out of range, or a value is NaN or infinite.
    """
    ordered = _ordered(values, failed)
    n = len(ordered) + failed
    tail = (1 - confidence) / 2
    ranks = _lower_rank(n, percent, tail, confidence), _upper_rank(n, percent, tail, confidence)
    found = [None if rank is None else _at_rank(ordered, failed, rank, direction) for rank in ranks]
    reason = None
    if None in ranks:
        reason = (
            f"{n} {'request is' if n == 1 else 'requests are'} too few for an interval at {confidence:.0%}"
        )
    elif None in found:
        reason = f"not attained: {failed} of {n} requests failed"
    return Bounds(low=found[0], high=found[1], confidence=confidence, reason=reason)


def upper_bound(
    values: Sequence[float],
    percent: int,
    confidence: float = 0.95,
    *,
    failed: int = 0,
    direction: Direction = Direction.LOWER,
) -> tuple[float | None, str | None]:
    """A one-sided upper bound of a percentile: for p95 at 95 % it takes 59 requests.

    Returns:
        The bound and None, or None and the reason.

    Raises:
        ValueError: An argument is out of range, or a value is NaN or infinite.
    """
    ordered = _ordered(values, failed)
    n = len(ordered) + failed
    rank = _upper_rank(n, percent, 1 - confidence, confidence)
    if rank is None:
        return None, f"n < {least_requests(percent, confidence)}"
    found = _at_rank(ordered, failed, rank, direction)
    return (found, None) if found is not None else (None, f"not attained: {failed} of {n} requests failed")


def least_requests(percent: int, confidence: float = 0.95, *, above: int = 0) -> int:
    """Fewest requests of which the largest but ``above`` bounds a percentile from above.

    Without any above it is the least n with ``(percent/100)**n <= 1 - confidence``.

    Raises:
        ValueError: An argument is out of range.
    """
    _check(percent, confidence)
    if above < 0:
        raise ValueError(f"{above} requests above the bound")
    share = percent / 100
    n = max(above + 1, math.ceil(math.log1p(-confidence) / math.log(share) - 1e-9))
    while binomial_cdf(above, n, 1 - share) > 1 - confidence:
        n += 1
    return n


def _ordered(values: Sequence[float], failed: int) -> list[float]:
    if failed < 0:
        raise ValueError("negative number of failures")
    if not all(map(math.isfinite, values)):
        raise ValueError("a value is NaN or infinite")
    return sorted(values)


def _check(percent: int, confidence: float) -> None:
    if not 1 <= percent <= 99 or not 0 < confidence < 1:
        raise ValueError(f"no interval for percentile {percent} at confidence {confidence}")


def _lower_rank(n: int, percent: int, tail: float, confidence: float) -> int | None:
    """The largest rank l with P(fewer than l values below the quantile) <= tail."""
    _check(percent, confidence)
    below = _most(n, percent, tail)
    return None if below is None else below + 1


def _upper_rank(n: int, percent: int, tail: float, confidence: float) -> int | None:
    """The smallest rank u with P(at least u values below the quantile) <= tail."""
    _check(percent, confidence)
    above = _most(n, 100 - percent, tail)
    return None if above is None else n - above


@lru_cache(maxsize=1024)
def _most(n: int, percent: int, tail: float) -> int | None:
    """The largest k with P(Binomial(n, percent/100) <= k) <= tail; None where even 0 is too likely."""
    share = percent / 100
    if n < 1 or binomial_cdf(0, n, share) > tail:
        return None
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_cdf(middle, n, share) <= tail:
            low = middle
        else:
            high = middle
    return low


def _at_rank(ordered: list[float], failed: int, rank: int, direction: Direction) -> float | None:
    """The value at a rank from 1; None where a failure stands there."""
    index = rank - 1 if direction is Direction.LOWER else rank - 1 - failed
    return ordered[index] if 0 <= index < len(ordered) else None
