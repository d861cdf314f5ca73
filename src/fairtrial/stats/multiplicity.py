"""Several tests at once: adjusted p values, to be compared with alpha each. Pure."""

import math
from collections.abc import Iterable, Sequence


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Holm's step-down: the chance of any false rejection stays at alpha, whatever depends on what.

    Args:
        ps: One p a test.

    Returns:
        Adjusted p values in the same order.

    Raises:
        ValueError: A p is outside 0 to 1.
    """
    _check(ps)
    n = len(ps)
    order = sorted(range(n), key=ps.__getitem__)
    adjusted = [0.0] * n
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (n - place) * ps[index]))
        adjusted[index] = largest
    return tuple(adjusted)


def benjamini_hochberg(ps: Sequence[float]) -> tuple[float, ...]:
    """Benjamini and Hochberg's step-up: the share of false ones among the rejected stays at alpha.

    It holds for independent tests and for those that depend positively.

    Raises:
        ValueError: A p is outside 0 to 1.
    """
    return _step_up(ps, 1.0)


def benjamini_yekutieli(ps: Sequence[float]) -> tuple[float, ...]:
    """The same share under any dependence, at the price of a factor 1 + 1/2 + ... + 1/n.

    Raises:
        ValueError: A p is outside 0 to 1.
    """
    return _step_up(ps, math.fsum(1 / place for place in range(1, len(ps) + 1)))


def _step_up(ps: Sequence[float], factor: float) -> tuple[float, ...]:
    _check(ps)
    n = len(ps)
    order = sorted(range(n), key=ps.__getitem__)
    adjusted = [0.0] * n
    smallest = 1.0
    for place in range(n, 0, -1):
        index = order[place - 1]
        smallest = min(smallest, factor * n / place * ps[index])
        adjusted[index] = smallest
    return tuple(adjusted)


def _check(ps: Iterable[float]) -> None:
    for p in ps:
        if not 0 <= p <= 1:
            raise ValueError(f"p = {p} is outside 0 to 1")
