"""The exact companion of a t interval: every pattern of signs of the repetitions. Pure."""

import math
from collections.abc import Sequence
from typing import Any

from fairtrial.schema.verdict import SignFlip

MOST_EXACT = 40
"""Beyond it even half of the repetitions have too many patterns to list."""
_TIE = 1e-12
"""Sums this close, as a share of the largest sum, are equal: rounding must not split a tie."""


def sign_flip(harms: Sequence[float]) -> SignFlip | None:
    """How many of the 2**R sign patterns give a sum of harms at least as large.

    If the arms did not differ, each repetition could as well have had the other sign. Exact: the patterns
    are counted from the sorted sums of two halves. A harm of 0 has no sign, so its pattern counts twice and
    the floor rises.

    Args:
        harms: Finite harms of the repetitions.

    Returns:
        The companion; None below two repetitions and beyond :data:`MOST_EXACT`.

    Raises:
        ValueError: A harm is NaN or infinite.
    """
    n = len(harms)
    if not all(math.isfinite(harm) for harm in harms):
        raise ValueError("a value is NaN or infinite")
    if not 2 <= n <= MOST_EXACT:
        return None
    largest = math.fsum(abs(harm) for harm in harms)
    scaled = [harm / largest for harm in harms] if largest > 0 else [0.0] * n
    total = math.fsum(scaled)
    left, right = _sums(scaled[: n // 2]), _sums(scaled[n // 2 :])
    patterns = 2**n
    both = _at_least(left, right, abs(total))
    # Sums are symmetric around 0, and where the observed one is 0 every pattern is as far out.
    floor = sum(1 for harm in scaled if abs(harm) <= _TIE)
    return SignFlip(
        worse=sum(1 for harm in harms if harm > 0),
        one_sided=_at_least(left, right, total) / patterns,
        two_sided=min(1.0, 2 * both / patterns),
        floor_one_sided=2**floor / patterns,
        floor_two_sided=min(1.0, 2 * 2**floor / patterns),
    )


def _sums(harms: Sequence[float]) -> Any:
    """The sums of all sign patterns, ascending."""
    import numpy as np

    sums = np.zeros(1)
    for harm in harms:
        sums = np.concatenate((sums + harm, sums - harm))
    return np.sort(sums)


def _at_least(left: Any, right: Any, total: float) -> int:
    """In how many pairs of one sum of each half the whole reaches ``total``."""
    import numpy as np

    return int(left.size * right.size - np.searchsorted(right, total - _TIE - left, side="left").sum())
