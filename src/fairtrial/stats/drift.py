"""Whether launches move with time, whatever their arm. Pure."""

import math
from collections.abc import Sequence
from functools import lru_cache

from fairtrial.schema.verdict import Drift
from fairtrial.stats.distributions import t_tail
from fairtrial.stats.least_squares import fit

EXACT_SLOTS = 8
"""Up to so many slots the p of the rank correlation counts every order."""
LEAST_LAUNCHES = 8
"""Fewest launches that are tested: four repetitions of two arms."""


def drift(
    log_values: Sequence[float],
    slots: Sequence[float],
    in_candidate: Sequence[bool],
    *,
    alpha: float,
    least: int = LEAST_LAUNCHES,
) -> tuple[Drift | None, str]:
    """Rank correlation of the launches' medians with their slot, and a slope beside the arm.

    Args:
        log_values: ln of each launch's median, negated where higher is better: up is worse.
        slots: When each ran, e.g. 1, 2, 3, ...: the order in which they really started.
        in_candidate: Whether each is one of the candidate.
        alpha: One-sided, of the adjusted interval.
        least: Fewest launches that are tested.

    Returns:
        The finding and an empty text, or None and the reason. Launches that are all equal move with
        nothing: correlation 0, p 1. The adjusted parts are None where the slope can't be told from
        the arm.

    Raises:
        ValueError: The lengths differ, ``alpha`` is out of range, or a number is NaN or infinite.
    """
    n = len(log_values)
    if not n == len(slots) == len(in_candidate):
        raise ValueError("as many slots and arms are needed as there are values")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha {alpha} is outside 0 to 0.5")
    if n < max(least, 4):
        return None, f"not testable: {n} launches, it takes {max(least, 4)}"
    if len(set(slots)) < n:
        return None, "not testable: two launches stand in one slot"
    still = len(set(log_values)) == 1
    rho, p = (0.0, 1.0) if still else spearman(slots, log_values)
    arms = [float(flag) for flag in in_candidate]
    both = fit(log_values, [slots, arms])
    alone = None if both else fit(log_values, [slots])
    found = both or alone
    if found is None:
        return None, "not testable: no slope can be fitted"
    arm = both[2] if both else None
    low, high = arm.bounds(alpha) if arm else (None, None)
    return (
        Drift(
            spearman=rho,
            p=p,
            p_holm=None,
            slope=found[1].estimate,
            slope_p=found[1].p,
            adjusted_mean=arm.estimate if arm else None,
            adjusted_low=low,
            adjusted_high=high,
            adjusted_p=arm.p if arm else None,
        ),
        "",
    )


def spearman(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Spearman's rank correlation, ties at their mean rank, and its two-sided p.

    The p is the share of all orders of the ranks that are as far from no correlation, up to
    :data:`EXACT_SLOTS` pairs; beyond that the usual t with n - 2 degrees of freedom, and for a
    perfect correlation the two of n! orders that give it.

    Raises:
        ValueError: The lengths differ, fewer than three pairs, one side is constant, or a number
            is NaN or infinite.
    """
    if len(xs) != len(ys) or len(xs) < 3:
        raise ValueError(f"no rank correlation of {len(xs)} and {len(ys)} values")
    if not all(math.isfinite(value) for side in (xs, ys) for value in side):
        raise ValueError("a value is NaN or infinite")
    first, second = _double_ranks(xs), _double_ranks(ys)
    n = len(first)
    middle = n + 1  # mean of doubled ranks, with ties too
    products = [(a - middle) * (b - middle) for a, b in zip(first, second, strict=True)]
    squares = [sum((rank - middle) ** 2 for rank in side) for side in (first, second)]
    if 0 in squares:
        raise ValueError("no rank correlation with a constant")
    observed = sum(products)
    rho = max(-1.0, min(1.0, observed / math.sqrt(squares[0] * squares[1])))
    if n <= EXACT_SLOTS:
        return rho, _exact(tuple(sorted(first)), tuple(sorted(second)), abs(observed))
    if abs(rho) == 1:
        return rho, 2 / math.factorial(n) if n < 100 else 0.0
    t = abs(rho) * math.sqrt((n - 2) / ((1 - rho) * (1 + rho)))
    return rho, min(1.0, 2 * t_tail(t, n - 2))


def _double_ranks(values: Sequence[float]) -> tuple[int, ...]:
    """Twice the mean ranks, whole numbers also with ties."""
    ordered = sorted(values)
    first: dict[float, int] = {}
    last: dict[float, int] = {}
    for place, value in enumerate(ordered, start=1):
        first.setdefault(value, place)
        last[value] = place
    return tuple(first[value] + last[value] for value in values)


def _exact(xs: tuple[int, ...], ys: tuple[int, ...], observed: int) -> float:
    counts = _products(xs, ys)
    far = sum(count for total, count in counts.items() if abs(total) >= observed)
    return far / math.factorial(len(xs))


@lru_cache(maxsize=64)
def _products(xs: tuple[int, ...], ys: tuple[int, ...]) -> dict[int, int]:
    """How many orders of ``ys`` give each sum of products of the centred ranks."""
    n = len(xs)
    reached: dict[int, dict[int, int]] = {0: {0: 1}}
    for x in xs:
        following: dict[int, dict[int, int]] = {}
        for used, sums in reached.items():
            for place in range(n):
                if used >> place & 1:
                    continue
                step = (x - n - 1) * (ys[place] - n - 1)
                into = following.setdefault(used | 1 << place, {})
                for total, count in sums.items():
                    into[total + step] = into.get(total + step, 0) + count
        reached = following
    return reached[(1 << n) - 1]
