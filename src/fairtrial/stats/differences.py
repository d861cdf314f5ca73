"""How far the values of one arm lie from each other. Pure."""

import math
from collections.abc import Sequence


def differences(values: Sequence[float]) -> tuple[float, ...]:
    """|difference| in percent of every two values: neighbours first, first and last at the end.

    Args:
        values: Positive, in the order of the repetitions.
    """
    n = len(values)
    return tuple(
        percent
        for apart in range(1, n)
        for place in range(n - apart)
        if math.isfinite(percent := 100 * (_ratio(values[place], values[place + apart]) - 1))
    )


def _ratio(one: float, other: float) -> float:
    return max(one, other) / min(one, other)
