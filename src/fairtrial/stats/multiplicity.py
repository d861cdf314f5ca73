"""Several tests at once: adjusted p values, to be compared with alpha each. Pure."""

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


def _check(ps: Iterable[float]) -> None:
    for p in ps:
        if not 0 <= p <= 1:
            raise ValueError(f"p = {p} is outside 0 to 1")
