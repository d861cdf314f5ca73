"""Counts: shares of failed requests, and cases whose output diverged. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairtrial.schema.vocab import Verdict
from fairtrial.stats.distributions import beta_quantile, binomial_cdf, normal_quantile

_HALVINGS = 60
"""Steps of a bisection: an interval of 2 shrinks below a double's resolution of 1e-16."""


def share_bounds(failed: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's exact two-sided interval of a share.

    Raises:
        ValueError: The counts make no share, or ``confidence`` is out of range.
    """
    _check_count(failed, n)
    _check_confidence(confidence)
    tail = (1 - confidence) / 2
    low = 0.0 if failed == 0 else beta_quantile(tail, failed, n - failed + 1)
    high = 1.0 if failed == n else beta_quantile(1 - tail, failed + 1, n - failed)
    return low, high


def share_upper_bound(failed: int, n: int, confidence: float = 0.95) -> float:
    """Clopper and Pearson's exact one-sided upper bound of a share: 0 of 24 still allow 11.7 %.

    Raises:
        ValueError: The counts make no share, or ``confidence`` is out of range.
    """
    _check_count(failed, n)
    _check_confidence(confidence)
    return 1.0 if failed == n else beta_quantile(confidence, failed + 1, n - failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareDifference:
    """How much larger the candidate's share of failures may be."""

    difference: float
    """Candidate's share minus baseline's."""
    low: float
    """One-sided lower bound at alpha."""
    high: float
    """One-sided upper bound at alpha."""
    verdict: Verdict
    design_effects: tuple[float, float]
    """Baseline, candidate: by how much failures that come together in launches thin out the data."""
    note: str | None
    """Why a design effect is not known."""


def failure_difference(
    baseline: Sequence[tuple[int, int]],
    candidate: Sequence[tuple[int, int]],
    *,
    margin: float,
    alpha: float = 0.05,
) -> ShareDifference:
    """Is the candidate's share of failures larger than the baseline's by no more than the margin?

    Failures of one launch come together, so each arm's counts are first divided by their design
    effect (Rao and Scott 1992: the variance of the share over launches against the binomial one,
    at least 1); then the score interval of Miettinen and Nurminen is taken.

    Args:
        baseline: Failed and all requests of each launch.
        candidate: The same.
        margin: Largest difference of shares that is let pass, above 0.
        alpha: One-sided.

    Raises:
        ValueError: An arm has no requests, or an argument is out of range.
    """
    if not 0 < margin < 1 or not 0 < alpha < 0.5:
        raise ValueError(f"no test with margin {margin} at alpha {alpha}")
    arms = [_clustered(launches) for launches in (baseline, candidate)]
    (failed_a, n_a, effect_a), (failed_b, n_b, effect_b) = arms
    low, high = score_interval(
        (failed_b / effect_b, n_b / effect_b), (failed_a / effect_a, n_a / effect_a), alpha=alpha
    )
    verdict = Verdict.INCONCLUSIVE
    if high < margin:
        verdict = Verdict.NON_INFERIOR
    elif low >= margin:
        verdict = Verdict.INFERIOR
    single = [len(launches) < 2 for launches in (baseline, candidate)]
    return ShareDifference(
        difference=failed_b / n_b - failed_a / n_a,
        low=low,
        high=high,
        verdict=verdict,
        design_effects=(effect_a, effect_b),
        note="one launch doesn't tell whether failures come together" if any(single) else None,
    )


def _clustered(launches: Sequence[tuple[int, int]]) -> tuple[int, int, float]:
    """Failed, all, and the design effect."""
    for failed, n in launches:
        _check_count(failed, n)
    failed, n = sum(one for one, _ in launches), sum(one for _, one in launches)
    _check_count(failed, n)
    k, share = len(launches), failed / n
    binomial = share * (1 - share) / n
    if k < 2 or binomial <= 0:
        return failed, n, 1.0
    spread = math.fsum((one - share * size) ** 2 for one, size in launches)
    return failed, n, max(1.0, k / (k - 1) * spread / n**2 / binomial)


def score_interval(
    one: tuple[float, float], other: tuple[float, float], *, alpha: float
) -> tuple[float, float]:
    """Bounds of the difference of two independent shares, each one-sided at ``alpha``.

    Miettinen and Nurminen (Statistics in Medicine 4, 1985): the differences that a score test does
    not reject, with the shares estimated under each difference and the variance enlarged by
    n / (n - 1). It stays useful where no request failed, as Wald's interval does not.

    Args:
        one: Failed and all; parts of requests are let pass, as design effects make them.
        other: What is taken from it.
        alpha: One-sided.

    Raises:
        ValueError: An arm has no requests, or ``alpha`` is out of range.
    """
    if not 0 < alpha < 0.5 or not (one[1] > 0 and other[1] > 0 and one[1] + other[1] > 1):
        raise ValueError(f"no interval from {one} and {other} at alpha {alpha}")
    observed = one[0] / one[1] - other[0] / other[1]
    limit = -normal_quantile(alpha)

    def rejected(difference: float) -> bool:
        return abs(_score(one, other, difference)) > limit

    return _edge(rejected, observed, -1.0), _edge(rejected, observed, 1.0)


def _edge(rejected: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where differences begin to be rejected between the observed one and the end of the scale."""
    if not rejected(outside):
        return outside
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if rejected(middle):
            outside = middle
        else:
            inside = middle
    return (inside + outside) / 2


def _score(one: tuple[float, float], other: tuple[float, float], difference: float) -> float:
    """The score statistic of a difference of shares."""
    (x1, n1), (x2, n2) = one, other
    distance = x1 / n1 - x2 / n2 - difference
    p2 = _restricted(one, other, difference)
    p1 = min(1.0, max(0.0, p2 + difference))
    total = n1 + n2
    variance = (p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2) * total / (total - 1)
    if variance > 0:
        return distance / math.sqrt(variance)
    return 0.0 if abs(distance) < 1e-12 else math.copysign(1e300, distance)


def _restricted(one: tuple[float, float], other: tuple[float, float], difference: float) -> float:
    """The other's share that is most likely if the shares differ by so much.

    The likelihood's derivative is a cubic in it; the root that is a share is written with a cosine
    (Miettinen and Nurminen 1985, appendix 1).
    """
    (x1, n1), (x2, n2) = one, other
    total, failed = n1 + n2, x1 + x2
    l3 = total
    l2 = (n1 + 2 * n2) * difference - total - failed
    l1 = (n2 * difference - total - 2 * x2) * difference + failed
    l0 = x2 * difference * (1 - difference)
    shift = l2 / (3 * l3)
    q = shift**3 - l1 * l2 / (6 * l3 * l3) + l0 / (2 * l3)
    p = math.copysign(math.sqrt(max(shift * shift - l1 / (3 * l3), 0.0)), q)
    cosine = q / p**3 if abs(p) > 1e-100 else 0.0
    angle = (math.pi + math.acos(max(-1.0, min(1.0, cosine)))) / 3
    return min(1.0, max(0.0, 2 * p * math.cos(angle) - shift))


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """How often outputs differ between the arms, against how often the baseline differs from itself."""

    cases: int
    """Cases compared in both ways."""
    between: float
    """Share of them that differ between baseline and candidate."""
    within: float
    """Share of them that differ between two launches of the baseline."""
    only_between: int
    only_within: int
    p_more: float
    """One-sided exact p: small says that the candidate differs more often than the baseline itself."""
    p_two_sided: float
    difference_low: float
    """One-sided lower bound at alpha of ``between - within``."""
    difference_high: float
    """One-sided upper bound: below a declared rate, the candidate diverges no more often than that."""


def divergence(
    between: Mapping[str, bool], within: Mapping[str, bool], *, alpha: float = 0.05
) -> Divergence | None:
    """McNemar's exact test over the cases that were compared in both ways, and Tango's score interval.

    Args:
        between: By case, whether baseline and candidate differ.
        within: By case, whether two launches of the baseline differ.
        alpha: One-sided, of the bounds.

    Returns:
        None where no case was compared in both ways.

    Raises:
        ValueError: ``alpha`` is out of range.
    """
    common = sorted(between.keys() & within.keys())
    if not common:
        return None
    only_between = sum(1 for case in common if between[case] and not within[case])
    only_within = sum(1 for case in common if within[case] and not between[case])
    more, two_sided = mcnemar(only_between, only_within)
    low, high = paired_interval(only_between, only_within, len(common), alpha=alpha)
    return Divergence(
        cases=len(common),
        between=sum(between[case] for case in common) / len(common),
        within=sum(within[case] for case in common) / len(common),
        only_between=only_between,
        only_within=only_within,
        p_more=more,
        p_two_sided=two_sided,
        difference_low=low,
        difference_high=high,
    )


def paired_interval(only_one: int, only_other: int, n: int, *, alpha: float) -> tuple[float, float]:
    """Bounds of the difference of two shares of the same cases, each one-sided at ``alpha``.

    Tango (Statistics in Medicine 17, 1998): the differences that the score test for paired shares does
    not reject. With no difference to reject it is McNemar's test without correction.

    Args:
        only_one: Cases that count for the first share only.
        only_other: For the second only.
        n: All cases.
        alpha: One-sided.

    Raises:
        ValueError: The counts make no share, or ``alpha`` is out of range.
    """
    _check_count(only_one + only_other, n)
    if min(only_one, only_other) < 0 or not 0 < alpha < 0.5:
        raise ValueError(f"no interval from {only_one} and {only_other} of {n} at alpha {alpha}")
    limit = -normal_quantile(alpha)

    def rejected(difference: float) -> bool:
        return abs(_paired_score(only_one, only_other, n, difference)) > limit

    observed = (only_one - only_other) / n
    return _edge(rejected, observed, -1.0), _edge(rejected, observed, 1.0)


def _paired_score(only_one: int, only_other: int, n: int, difference: float) -> float:
    """Tango's statistic; the share of cases for the second only is the most likely one (a quadratic)."""
    b = -only_one - only_other + (2 * n - only_one + only_other) * difference
    c = -only_other * difference * (1 - difference)
    other = (math.sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
    variance = n * (2 * other + difference * (1 - difference))
    distance = only_one - only_other - n * difference
    if variance > 0:
        return distance / math.sqrt(variance)
    return 0.0 if abs(distance) < 1e-12 else math.copysign(1e300, distance)


def mcnemar(only_one: int, only_other: int) -> tuple[float, float]:
    """Exact p of a paired comparison from the pairs that disagree: a fair coin, thrown for each.

    Returns:
        One-sided (that ``only_one`` is so large) and two-sided.

    Raises:
        ValueError: A count is negative.
    """
    if only_one < 0 or only_other < 0:
        raise ValueError(f"no test of {only_one} against {only_other} pairs")
    n = only_one + only_other
    one_sided = binomial_cdf(only_other, n, 0.5)
    return one_sided, min(1.0, 2 * binomial_cdf(min(only_one, only_other), n, 0.5))


def _check_count(failed: int, n: int) -> None:
    if n < 1 or not 0 <= failed <= n:
        raise ValueError(f"{failed} of {n} requests is no share")


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is outside 0 to 1")
