"""Whether the second place in a repetition costs something. Pure."""

from collections.abc import Sequence

from fairtrial.schema.verdict import Period
from fairtrial.stats.least_squares import fit

LEAST_REPETITIONS = 4
"""Fewest repetitions that are tested."""


def period(
    harms: Sequence[float],
    candidate_second: Sequence[bool],
    *,
    alpha: float,
    least: int = LEAST_REPETITIONS,
) -> tuple[Period | None, str]:
    """Least squares of the repetitions' harms on +1 (candidate second) and -1 (candidate first).

    Args:
        harms: ln(ratio) of each repetition, positive where the candidate is worse.
        candidate_second: Whether the candidate ran after the baseline, by start times.
        alpha: One-sided, of the adjusted interval.
        least: Fewest repetitions that are tested; below three nothing is.

    Returns:
        The finding and an empty text, or None and the reason.

    Raises:
        ValueError: The lengths differ, ``alpha`` is out of range, or a number is NaN or infinite.
    """
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha {alpha} is outside 0 to 0.5")
    places = [1.0 if second else -1.0 for second in candidate_second]
    if len(places) != len(harms):
        raise ValueError("as many orders are needed as there are harms")
    least = max(least, 3)
    if len(harms) < least:
        return None, f"not testable: {len(harms)} repetitions, it takes {least}"
    found = fit(harms, [places])
    if found is None:
        return None, "not testable: the candidate had the same place in every repetition"
    slope = found[1]
    p = slope.p
    if p is None:
        return None, "not testable: nothing varies but the place"
    # The intercept of fit() stands at the mean place. What is asked for stands half way between the
    # two places, so both means count the same however often each order ran.
    middle = sum(places) / len(places)
    adjusted = found[0].estimate - slope.estimate * middle
    error = (found[0].error ** 2 + (slope.error * middle) ** 2) ** 0.5
    half = type(slope)(adjusted, error, slope.df).bounds(alpha)
    return (
        Period(
            effect=slope.estimate, p=p, adjusted_mean=adjusted, adjusted_low=half[0], adjusted_high=half[1]
        ),
        "",
    )
