"""Mean, spread and t interval of a few repetitions. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial.stats.distributions import t_quantile, t_tail
from fairtrial.stats.paired import mean_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What a t interval says; a part that a few values can't give is None."""

    n: int
    mean: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    t: float | None = None
    """None too without any spread."""
    p_two_sided: float | None = None


def moments(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and standard deviation (``n - 1``), in two passes of exact sums.

    Equal values have a spread of exactly 0: rounding of their mean must not make one up.

    Raises:
        ValueError: A value is NaN or infinite.
    """
    if not all(math.isfinite(value) for value in values):
        raise ValueError("a value is NaN or infinite")
    n = len(values)
    if n == 0:
        return None, None
    if min(values) == max(values):
        return values[0], 0.0 if n > 1 else None
    mean = mean_of(values)
    deviations = [value - mean for value in values]
    largest = max(abs(deviation) for deviation in deviations)
    squares = math.fsum((deviation / largest) ** 2 for deviation in deviations)
    return mean, largest * math.sqrt(squares / (n - 1))


def interval_of(values: Sequence[float], alpha: float) -> Interval:
    """The interval of ``1 - 2*alpha``: one-sided ``alpha`` each way, Student's t with ``n - 1``.

    Raises:
        ValueError: A value is NaN or infinite, or ``alpha`` is not inside 0 to 1.
    """
    n = len(values)
    mean, sd = moments(values)
    if mean is None or sd is None:
        return Interval(n=n, mean=mean)
    error = sd / math.sqrt(n)
    half = t_quantile(1 - alpha, n - 1) * error
    t = mean / error if error > 0 else math.inf
    if not math.isfinite(t):
        return Interval(n=n, mean=mean, sd=sd, low=mean - half, high=mean + half)
    p = min(1.0, 2 * t_tail(abs(t), n - 1))
    return Interval(n=n, mean=mean, sd=sd, low=mean - half, high=mean + half, t=t, p_two_sided=p)
