"""Medians and percentiles of a population, with failures as the worst rank. Pure.

No value means None, never NaN. Inputs are finite; anything else is a programming error.
"""

import math
from collections.abc import Sequence

from fairtrial.schema.vocab import Direction


def median(values: Sequence[float]) -> float | None:
    """The middle value, or the mean of the two middle ones; None without values.

    Raises:
        ValueError: A value is NaN or infinite.
    """
    ordered = _ordered(values)
    if not ordered:
        return None
    return _midpoint(ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2])


def rank(percent: int, n: int) -> int:
    """The nearest rank, from 1: the ceiling of ``percent * n / 100`` in integer arithmetic.

    Raises:
        ValueError: ``percent`` is outside 1 to 100 or ``n`` is below 1.
    """
    if not 1 <= percent <= 100 or n < 1:
        raise ValueError(f"no rank for percent {percent} of {n} values")
    return -(-percent * n // 100)


def nearest_rank(values: Sequence[float], percent: int) -> float | None:
    """The percentile by nearest rank: always one of the values; None without values.

    Raises:
        ValueError: ``percent`` is outside 1 to 100, or a value is NaN or infinite.
    """
    ordered = _ordered(values)
    position = rank(percent, max(len(ordered), 1))
    return ordered[position - 1] if ordered else None


def median_with_failures(
    values: Sequence[float],
    failures: int,
    direction: Direction = Direction.LOWER,
) -> tuple[float | None, str | None]:
    """The median over values and failures, where every failure is worse than every value.

    Args:
        values: Values of the requests that succeeded.
        failures: Number of requests that didn't.
        direction: Which way the metric is better.

    Returns:
        The median and None, or None and the reason: "not attained" when a middle rank
        falls on a failure.

    Raises:
        ValueError: ``failures`` is negative, or a value is NaN or infinite.
    """
    n = len(values) + _count(failures)
    if n == 0:
        return None, "no requests"
    lower, upper = (n + 1) // 2, n // 2 + 1
    found = [_at_rank(values, failures, position, direction) for position in (lower, upper)]
    if found[0] is None or found[1] is None:
        return None, _not_attained(failures, n)
    return _midpoint(found[0], found[1]), None


def nearest_rank_with_failures(
    values: Sequence[float],
    percent: int,
    failures: int,
    direction: Direction = Direction.LOWER,
) -> tuple[float | None, str | None]:
    """A percentile by nearest rank over values and failures, failures being the worst.

    Ranks count from the lowest value, as in :func:`nearest_rank`.

    Returns:
        The value and None, or None and the reason.

    Raises:
        ValueError: ``percent`` is outside 1 to 100, ``failures`` is negative, or a value is
            NaN or infinite.
    """
    n = len(values) + _count(failures)
    position = rank(percent, max(n, 1))
    if n == 0:
        return None, "no requests"
    found = _at_rank(values, failures, position, direction)
    return (found, None) if found is not None else (None, _not_attained(failures, n))


def _at_rank(values: Sequence[float], failures: int, position: int, direction: Direction) -> float | None:
    """The value at a rank from 1, or None where a failure stands there."""
    ordered = _ordered(values)
    index = position - 1 if direction is Direction.LOWER else position - 1 - failures
    return ordered[index] if 0 <= index < len(ordered) else None


def _ordered(values: Sequence[float]) -> list[float]:
    if not all(math.isfinite(value) for value in values):
        raise ValueError("a value is NaN or infinite")
    return sorted(values)


def _count(failures: int) -> int:
    if failures < 0:
        raise ValueError("negative number of failures")
    return failures


def _midpoint(low: float, high: float) -> float:
    middle = (low + high) / 2
    return middle if math.isfinite(middle) else low / 2 + high / 2


def _not_attained(failures: int, n: int) -> str:
    return f"not attained: {failures} of {n} requests failed"
