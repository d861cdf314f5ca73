"""Effects of a candidate against the baseline: paired log ratios and published deltas. Pure."""

import math
from collections.abc import Mapping, Sequence

from fairtrial.schema.vocab import Direction

MIN_TO_TRIM = 5
"""Fewest values that are trimmed; below it the plain mean is taken."""
_SMALL, _LARGE = 1e-300, 1e300


def trimmed_mean(values: Sequence[float], proportion: float = 0.2) -> float | None:
    """The mean without the lowest and the highest share of the values.

    From five values on it equals ``scipy.stats.trim_mean``; below that it is the plain mean.

    Args:
        values: Finite values.
        proportion: Share cut off at each end, from 0 to below 0.5.

    Returns:
        The mean; None without values.

    Raises:
        ValueError: ``proportion`` is out of range, or a value is NaN or infinite.
    """
    if not all(math.isfinite(value) for value in values):
        raise ValueError("a value is NaN or infinite")
    kept = trimmed(values, proportion)
    return mean_of(kept) if kept else None


def trimmed(values: Sequence[float], proportion: float = 0.2) -> list[float]:
    """The values in order, without the lowest and the highest share; all of them below five.

    Infinite values may stand for ranks beyond every number; never NaN.

    Raises:
        ValueError: ``proportion`` is outside 0 to below 0.5.
    """
    if not 0 <= proportion < 0.5:
        raise ValueError(f"proportion {proportion} is outside 0 to 0.5")
    n = len(values)
    cut = int(proportion * n) if n >= MIN_TO_TRIM else 0
    return sorted(values)[cut : n - cut]


def log_ratio(a: float, b: float) -> float:
    """ln(b/a) of two positive numbers, also where the ratio itself leaves a double's range."""
    ratio = b / a
    return math.log(ratio) if _SMALL < ratio < _LARGE else math.log(b) - math.log(a)


def paired_log_ratio(
    a: Mapping[str, float],
    b: Mapping[str, float],
) -> tuple[float | None, int, str | None]:
    """The 20 % trimmed mean of ln(B/A) over the cases that both arms have.

    Args:
        a: Baseline's value by case.
        b: Candidate's value by case.

    Returns:
        The log ratio (positive: B's values are larger), the number of pairs used, and None;
        or None, the number, and the reason. A pair with a value that is not positive has no
        logarithm and is not used.

    Raises:
        ValueError: A value is NaN or infinite.
    """
    common = sorted(a.keys() & b.keys())
    if not common:
        return None, 0, "no case has a value in both arms"
    pairs = [(a[case], b[case]) for case in common]
    if not all(math.isfinite(value) for pair in pairs for value in pair):
        raise ValueError("a value is NaN or infinite")
    ratios = [log_ratio(x, y) for x, y in pairs if x > 0 and y > 0]
    if not ratios:
        return None, 0, "no pair has two positive values"
    return trimmed_mean(ratios), len(ratios), None


def percent_of_log_ratio(d: float) -> float | None:
    """The signed change of B against A in percent, ``100*(exp(d)-1)``; None beyond a double's range."""
    try:
        percent = 100 * math.expm1(d)
    except OverflowError:
        return None
    return percent if math.isfinite(percent) else None


def observed_percent_delta(a: float, b: float, direction: Direction) -> float | None:
    """The published delta of B against A in percent; positive favours B.

    Args:
        a: Baseline's statistic.
        b: Candidate's statistic.
        direction: Which way the metric is better.

    Returns:
        ``100*(a-b)/a`` where lower is better, ``100*(b-a)/a`` where higher is; None where the
        baseline is not positive or the result leaves a double's range.
    """
    if not a > 0:
        return None
    gain = a - b if direction is Direction.LOWER else b - a
    delta = 100 * gain / a
    return delta if math.isfinite(delta) else None


def mean_of(values: Sequence[float]) -> float:
    """The mean of at least one finite value, summed without rounding."""
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        # Beyond a double's range: shares of the largest value can't leave it.
        largest = max(abs(value) for value in values)
        return largest * (math.fsum(value / largest for value in values) / len(values))
