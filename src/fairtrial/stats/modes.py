"""Populations that are two clouds and not one, e.g. cache hits beside misses. Pure."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from fairtrial.schema.verdict import Mode
from fairtrial.stats.quantiles import median

LEAST = 8
"""Fewest values that are looked at."""
SMALL_SHARE = 0.1
"""Smallest share of the values that is a cloud of its own, and never fewer than two."""
APART = 4.0
"""Least distance of the clouds' means, in standard deviations within them.

The two halves of a normal distribution are 2.65 apart, those of a uniform one 3.46."""
APART_FEW = 40.0
"""What few values are asked for beyond that, times 1/n: chance parts them more easily."""
BETWEEN = 0.05
"""Largest share of the values in the middle third of the way from one cloud's median to the other's."""


def modes(values: Sequence[float]) -> tuple[Mode, ...]:
    """The two clouds of a clear mixture, the faster first; nothing otherwise.

    ln(value) is split where the variance between the parts is largest (Otsu's criterion). The parts
    count as clouds if they are far apart for their own spread and hardly a value lies half way. It
    errs towards one cloud: a value a hundred times larger than the rest widens its cloud so much
    that the two are no longer clearly apart.

    Args:
        values: Values of a metric, in any order.

    Returns:
        Two modes with the number and the median of their values; empty where there are fewer than
        eight values, one is not positive, or they aren't clearly two clouds.

    Raises:
        ValueError: A value is NaN or infinite.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("a value is NaN or infinite")
    ordered = sorted(values)
    if len(ordered) < LEAST or ordered[0] <= 0 or ordered[0] == ordered[-1]:
        return ()
    cut = _split(ordered)
    if cut is None:
        return ()
    parts = ordered[:cut], ordered[cut:]
    middles = [middle for part in parts if (middle := median(part)) is not None]
    if not _valley(ordered, middles):
        return ()
    return tuple(Mode(n=len(part), median=middle) for part, middle in zip(parts, middles, strict=True))


def _split(ordered: Sequence[float]) -> int | None:
    """How many values the lower cloud has; None where the best split is none between clouds."""
    import numpy as np

    logs = np.log(np.asarray(ordered, dtype=np.float64))
    logs -= logs.mean()
    n = logs.size
    least = max(2, math.ceil(SMALL_SHARE * n))
    sizes = np.arange(1, n)
    sums = np.cumsum(logs)[:-1]
    between = sums**2 * n / (sizes * (n - sizes))  # the logs sum to 0
    cut = least + int(np.argmax(between[least - 1 : n - least]))
    around = between[max(cut - 2, 0) : cut + 1]
    if float(around.max()) > float(between[cut - 1]):
        return None  # it would part still better with a cloud too small to be one
    low, high = logs[:cut], logs[cut:]
    within = float(((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum())
    distance = float(high.mean() - low.mean())
    spread = math.sqrt(within / (n - 2))
    return cut if distance > 0 and distance >= (APART + APART_FEW / n) * spread else None


def _valley(ordered: Sequence[float], middles: Sequence[float]) -> bool:
    """Whether hardly a value lies in the middle third between the clouds' medians."""
    start, end = (math.log(middle) for middle in middles)
    third = (end - start) / 3
    low, high = math.exp(start + third), math.exp(end - third)
    between = bisect_left(ordered, high) - bisect_right(ordered, low)
    return between <= BETWEEN * len(ordered)
