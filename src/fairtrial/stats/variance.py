"""How much of a population's spread lies between launches. Pure.

Requests of one launch resemble each other: its memory, its caches, its clocks were the same for all
of them. The split says how many independent requests a population was worth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial.schema.verdict import LaunchSpread

NEGATIVE = "the launches differ by less than chance alone lets expect: the variance between them is set to 0"
NO_SPREAD = "no value differs from another"


@dataclass(frozen=True, slots=True)
class OneWay:
    """One-way analysis of variance."""

    groups: int
    n: int
    between_df: int
    within_df: int
    between_ms: float
    within_ms: float
    n0: float
    """Values a group that enter the estimate of the variance between groups: n where all have n."""
    kish: float
    """Sum of squared group sizes over their sum: group size as the mean of all values sees it."""

    @property
    def f(self) -> float | None:
        """Ratio of the mean squares; None where no value differs from its group's mean."""
        return self.between_ms / self.within_ms if self.within_ms > 0 else None


def one_way(groups: Sequence[Sequence[float]]) -> OneWay | None:
    """Mean squares between and within groups; groups without values don't count.

    Values are taken as differences from one of them and their means are taken out before anything
    is squared, with exactly rounded sums: nothing is lost that the input still held.

    Returns:
        None with fewer than two groups, or where no group has two values.

    Raises:
        ValueError: A value is NaN or infinite.
    """
    kept = [group for group in groups if group]
    if not all(math.isfinite(value) for group in kept for value in group):
        raise ValueError("a value is NaN or infinite")
    sizes = [len(group) for group in kept]
    n, k = sum(sizes), len(kept)
    if k < 2 or n == k:
        return None
    pivot = kept[0][0]
    shifted = [[value - pivot for value in group] for group in kept]
    means = [math.fsum(group) / len(group) for group in shifted]
    grand = math.fsum(value for group in shifted for value in group) / n
    between = math.fsum(size * (mean - grand) ** 2 for size, mean in zip(sizes, means, strict=True))
    within = math.fsum(
        (value - mean) ** 2 for group, mean in zip(shifted, means, strict=True) for value in group
    )
    squares = sum(size * size for size in sizes)
    return OneWay(
        groups=k,
        n=n,
        between_df=k - 1,
        within_df=n - k,
        between_ms=between / (k - 1),
        within_ms=within / (n - k),
        n0=(n - squares / n) / (k - 1),
        kish=squares / n,
    )


def launch_spread(groups: Sequence[Sequence[float]]) -> LaunchSpread | None:
    """Split the variance of ln(value) into a part between launches and one within.

    Args:
        groups: ln of the values of each launch of one arm.

    Returns:
        None with fewer than two launches, or where no launch has two values.

    Raises:
        ValueError: A value is NaN or infinite.
    """
    found = one_way(groups)
    return None if found is None else spread_of(found)


def spread_of(found: OneWay) -> LaunchSpread:
    """The split of a variance from its mean squares.

    The variance between is (MSB - MSW) / n0, 0 where that is negative (moment estimator of the
    one-way random model; n0 as usual for unequal sizes). The design effect is
    1 + (m - 1) * ICC with m = sum(n_i^2) / sum(n_i), which is n where all launches have n requests:
    by so much the variance of the mean of all values exceeds that of independent ones (Kish).
    """
    raw = (found.between_ms - found.within_ms) / found.n0
    between, total = max(raw, 0.0), max(raw, 0.0) + found.within_ms
    icc = between / total if total > 0 else 0.0
    effect = max(1.0, 1 + (found.kish - 1) * icc)
    note = NEGATIVE if raw < 0 else NO_SPREAD if total == 0 else None
    return LaunchSpread(
        launches=found.groups,
        between_sd=math.sqrt(between),
        within_sd=math.sqrt(found.within_ms),
        icc=icc,
        design_effect=effect,
        effective_n=found.n / effect,
        note=note,
    )
