"""How many repetitions a question takes, and what a number of them can see. Pure.

Everything is on the scale of ln(ratio), for paired repetitions: ``repetitions - 1`` degrees of freedom. The
formula is the exact power of a one-sided t test, by the noncentral t, as in Julious, Sample sizes for
clinical trials (2010), and in R's PowerTOST.
"""

import math

from fairtrial.stats.distributions import chi2_quantile, noncentral_t_tail, t_quantile

MOST_REPETITIONS = 1000
"""No plan may have more; a need beyond it is a reason to look for the noise instead."""
_LEAST = 2
_FAR = 1e6
"""So many standard errors are as good as any more."""


def power_of(
    sd: float, repetitions: int, margin: float, *, alpha: float = 0.05, effect: float = 0.0
) -> float:
    """The chance that the upper bound stays below the margin.

    Args:
        sd: Standard deviation of the repetitions' harms.
        repetitions: At least 2.
        margin: What the upper bound must stay below; ``ln(1 + margin)`` of a guardrail.
        alpha: One-sided.
        effect: The true harm; 0 is a harmless candidate.

    Raises:
        ValueError: There are fewer than two repetitions, or ``sd`` is negative or not finite.
    """
    if repetitions < _LEAST:
        raise ValueError(f"{repetitions} repetitions have no spread")
    return paired_power(margin - effect, standard_error(sd, repetitions), repetitions - 1, alpha=alpha)


def standard_error(sd: float, repetitions: int) -> float:
    """Of the mean of the repetitions.

    Raises:
        ValueError: ``sd`` is negative or not finite.
    """
    if not (sd >= 0 and math.isfinite(sd)):
        raise ValueError(f"{sd} is no spread")
    return sd / math.sqrt(repetitions)


def paired_power(distance: float, error: float, df: float, *, alpha: float) -> float:
    """The power of a one-sided t test, with the degrees of freedom left to the design.

    Args:
        distance: From the true value to the margin; below 0 the truth lies beyond it.
        error: Standard error of the estimate.
        df: Degrees of freedom of that error: ``n - 1`` of pairs, ``n - 2`` of a crossover of two sequences.
        alpha: One-sided.
    """
    if error == 0 or abs(distance) >= _FAR * error:
        return 1.0 if distance > 0 else 0.0
    return noncentral_t_tail(t_quantile(1 - alpha, df), df, distance / error)


def repetitions_needed(
    sd: float,
    margin: float,
    *,
    alpha: float,
    power: float,
    effect: float = 0.0,
    most: int = MOST_REPETITIONS,
) -> int | None:
    """The fewest repetitions in all with at least this power; None beyond ``most``.

    Two is the least that has a spread; whether a verdict takes more is not asked here.

    Raises:
        ValueError: ``sd`` is negative or not finite.
    """

    def enough(repetitions: int) -> bool:
        return power_of(sd, repetitions, margin, alpha=alpha, effect=effect) >= power

    if most < _LEAST or margin <= effect or not enough(most):
        return None
    low, high = _LEAST, most
    while low < high:  # more repetitions never have less power, as the truth is inside the margin
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def smallest_visible(sd: float, repetitions: int, *, alpha: float, power: float) -> float | None:
    """The smallest margin ``ln(1 + m)`` that a harmless candidate passes with this power.

    Seen from the other side it is also the smallest improvement that a primary shows with it.

    Returns:
        The margin on the scale of ln(ratio); None below two repetitions. 0 without any spread.

    Raises:
        ValueError: ``sd`` is negative or not finite, or ``power`` is not inside 0 to 1.
    """
    if not 0 < power < 1:
        raise ValueError(f"no margin has power {power}")
    if repetitions < _LEAST:
        return None
    error = standard_error(sd, repetitions)
    return _noncentrality(repetitions - 1, alpha, power) * error


def _noncentrality(df: int, alpha: float, power: float) -> float:
    """The distance in standard errors that has this power, by bisection."""
    critical = t_quantile(1 - alpha, df)
    if power <= alpha:
        return 0.0
    low, high = 0.0, 1.0
    while noncentral_t_tail(critical, df, high) < power and high < _FAR:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if noncentral_t_tail(critical, df, middle) >= power else (middle, high)
    return high


def upper_spread(sd: float, df: float, share: float = 0.8) -> float:
    """The upper bound of the true spread with this confidence: few repetitions hardly tell it.

    ``sd * sqrt(df / chi2(1 - share, df))``; 2.12 times as large from three repetitions.

    Raises:
        ValueError: ``df`` is not positive, or ``share`` is not inside 0 to 1.
    """
    return sd * math.sqrt(df / chi2_quantile(1 - share, df))


def joint_power(power: float, guardrails: int) -> float:
    """What each of several guardrails needs so that all pass together with ``power``.

    ``power**(1/n)``: they are taken as independent.

    Raises:
        ValueError: ``power`` is not inside 0 to 1.
    """
    if not 0 < power < 1:
        raise ValueError(f"{power} is no power")
    return float(power ** (1 / max(1, guardrails)))
