"""The interval of repetitions whose two orders are not equally many. Pure.

With a drift of s a slot a repetition AB has the harm s too much and a repetition BA s too little. As many of
each cancel it. Two AB and one BA leave s/3, and wrong passes rise from 5 % to 5.8 % at worst (where the sd of
a repetition is about 3s); four AB and one BA leave 3s/5, and wrong passes rise to 15 %. So where the orders
differ in number the interval must hold for both means: that of all repetitions, and the one in which AB and
BA count the same. Wrong passes are then 5 % again. Where they are equally many the two are one.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from fairtrial.stats.distributions import t_quantile
from fairtrial.stats.interval import Interval, interval_of
from fairtrial.stats.paired import mean_of


def interval_by_order(
    values: Sequence[float], candidate_second: Sequence[bool | None], alpha: float
) -> Interval:
    """The t interval, widened where the orders are unequal in number.

    The mean in which both orders count the same is (mean of AB + mean of BA) / 2, with the standard error
    ``sd * sqrt(1/n_AB + 1/n_BA) / 2`` and the same ``sd`` and degrees of freedom. ``sd`` still holds the
    drift, so the interval errs on the wide side. Mean, ``t`` and p stay those of all repetitions.

    Args:
        values: Harms of the repetitions.
        candidate_second: Whether the candidate ran last in each; None where nobody knows. Unless it is known
            of all, and both orders are there, nothing is widened.
        alpha: One-sided.

    Raises:
        ValueError: The lengths differ, a value is NaN or infinite, or ``alpha`` is not inside 0 to 1.
    """
    plain = interval_of(values, alpha)
    if len(values) != len(candidate_second):
        raise ValueError("as many orders are needed as there are harms")
    ab = [value for value, second in zip(values, candidate_second, strict=True) if second is True]
    ba = [value for value, second in zip(values, candidate_second, strict=True) if second is False]
    unequal = bool(ab and ba) and len(ab) + len(ba) == len(values) and len(ab) != len(ba)
    if not unequal or plain.sd is None or plain.low is None or plain.high is None:
        return plain
    middle = mean_of((mean_of(ab), mean_of(ba)))
    half = t_quantile(1 - alpha, plain.n - 1) * plain.sd * math.sqrt(1 / len(ab) + 1 / len(ba)) / 2
    return replace(plain, low=min(plain.low, middle - half), high=max(plain.high, middle + half))
