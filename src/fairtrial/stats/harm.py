"""The harm of one repetition: ln of a ratio, positive where the candidate is worse. Pure.

Every declared request counts. A failure is worse than any value: in a median or a percentile it has the
worst rank, and a pair in which only one arm failed is infinitely bad for that arm, so that it moves the
trimmed mean over pairs without a value made up for it. A pair in which both arms failed is a tie, 0: it
stays in the denominator and speaks for neither. Ties could water down a difference between the others, so
the pairs with two values are analysed beside it, and a pass must hold there too
(:mod:`fairtrial.stats.finding`).

A missing record is neither value nor failure: it is left out, and bounded from both sides.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Direction, Statistic
from fairtrial.stats.least import MIN_REQUESTS, PERCENTS
from fairtrial.stats.paired import log_ratio, mean_of, trimmed
from fairtrial.stats.quantiles import median_with_failures, nearest_rank_with_failures

QUANTILES: Mapping[Estimand, Statistic] = MappingProxyType(
    {
        Estimand.MEDIANS: Statistic.MEDIAN,
        Estimand.P90: Statistic.P90,
        Estimand.P95: Statistic.P95,
        Estimand.P99: Statistic.P99,
    },
)
"""The statistic of a population of which an estimand is the ratio."""


@dataclass(frozen=True, slots=True)
class Side:
    """One arm's population in one repetition: every case is in one of the first three."""

    values: Mapping[str, float]
    """By case, in one unit in both arms; finite."""
    failed: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    """Cases without a proven record."""
    whole: float | None = None
    """The one value of the population, for a whole estimand."""
    reason: str | None = None
    """Why ``whole`` is absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionHarm:
    """The harm of one repetition, and the same under other assumptions about pairs without two values."""

    repetition: int
    harm: float | None
    reason: str | None
    """Why there is no harm."""
    complete: float | None
    """Of the cases with two values only; equal to ``harm`` where every case has them."""
    worst: float | None
    """Missing records taken as the worst of the candidate and the best of the baseline that was observed
    in either arm; equal to ``harm`` where no record is missing."""
    best: float | None
    """The other way round."""
    baseline_value: float | None
    """The statistic of the baseline (the median, for pairs), in the metric's unit."""
    candidate_value: float | None
    pairs: int
    """Cases whose outcome, a value or a failure, is known in both arms."""
    failed: tuple[int, int]
    """Of the baseline, of the candidate."""
    missing: tuple[int, int]
    lost: int
    """+1: the candidate's failures leave no number; -1: the baseline's; 0: neither alone."""
    candidate_second: bool | None = None
    """Whether the candidate ran after the baseline, by start times; None where nobody knows."""
    client_against: float | None = None
    """The harm, were the baseline's times too long by all that the client's error may be; None: no other."""
    client_for: float | None = None
    """The harm, were the candidate's times so."""


def harm_of(
    repetition: int, baseline: Side, candidate: Side, estimand: Estimand, direction: Direction
) -> RepetitionHarm:
    """The harm of one repetition.

    Args:
        repetition: Its number.
        baseline: The baseline's population.
        candidate: The candidate's, in the same unit.
        estimand: What the ratio is a ratio of. A share has no ratio.
        direction: Which way the metric is better: of a rate the harm is -ln(B/A).

    Raises:
        ValueError: A value is NaN or infinite, or the estimand is a share.
    """
    _check(baseline, candidate, estimand)
    measured = _measure(baseline, candidate, estimand, direction)
    whole = not (baseline.failed or candidate.failed or baseline.missing or candidate.missing)
    others = (
        _Others(measured.harm, measured.harm, measured.harm)
        if whole or estimand is Estimand.WHOLE
        else _others(baseline, candidate, estimand, direction, measured)
    )
    known_a = baseline.values.keys() | baseline.failed
    known_b = candidate.values.keys() | candidate.failed
    return RepetitionHarm(
        repetition=repetition,
        harm=measured.harm,
        reason=measured.reason,
        complete=others.complete,
        worst=others.worst,
        best=others.best,
        baseline_value=measured.baseline,
        candidate_value=measured.candidate,
        pairs=len(known_a & known_b),
        failed=(len(baseline.failed), len(candidate.failed)),
        missing=(len(baseline.missing), len(candidate.missing)),
        lost=measured.lost,
    )


@dataclass(frozen=True, slots=True)
class _Measured:
    harm: float | None
    reason: str | None = None
    baseline: float | None = None
    candidate: float | None = None
    lost: int = 0


@dataclass(frozen=True, slots=True)
class _Others:
    complete: float | None
    worst: float | None
    best: float | None


def _measure(baseline: Side, candidate: Side, estimand: Estimand, direction: Direction) -> _Measured:
    if estimand is Estimand.WHOLE:
        return _of_whole(baseline, candidate, direction)
    if estimand is Estimand.PAIRED_CASES:
        return _of_pairs(baseline, candidate, direction)
    return _of_statistics(baseline, candidate, QUANTILES[estimand], direction)


def _of_whole(baseline: Side, candidate: Side, direction: Direction) -> _Measured:
    a, b = baseline.whole, candidate.whole
    if a is None or b is None:
        which, side = ("baseline", baseline) if a is None else ("candidate", candidate)
        return _Measured(None, f"{which}: {side.reason or 'no value'}", a, b)
    none_a, none_b = (side.whole == 0 and bool(side.failed) for side in (baseline, candidate))
    if direction is Direction.HIGHER and none_a is not none_b:  # the worst that a rate can be
        text = f"every request of the {'baseline' if none_a else 'candidate'} failed"
        return _Measured(None, text, a, b, int(none_b) - int(none_a))
    return _ratio(a, b, direction)


def _of_statistics(baseline: Side, candidate: Side, statistic: Statistic, direction: Direction) -> _Measured:
    a, why_a, lost_a = _statistic(baseline, statistic, direction)
    b, why_b, lost_b = _statistic(candidate, statistic, direction)
    if a is None or b is None:
        reasons = [f"{arm}: {why}" for arm, why in (("baseline", why_a), ("candidate", why_b)) if why]
        return _Measured(None, "; ".join(reasons), a, b, lost_b - lost_a)
    return _ratio(a, b, direction)


def _statistic(
    side: Side, statistic: Statistic, direction: Direction
) -> tuple[float | None, str | None, int]:
    """The statistic with failures ranked worst, or the reason, and 1 where failures are the reason."""
    values, failed, least = tuple(side.values.values()), len(side.failed), MIN_REQUESTS[statistic]
    if len(values) + failed < least:
        return None, f"n < {least}" if values or failed else "no request has a value", 0
    if statistic is Statistic.MEDIAN:
        found, reason = median_with_failures(values, failed, direction)
    else:
        found, reason = nearest_rank_with_failures(values, PERCENTS[statistic], failed, direction)
    return found, reason, int(found is None)


def _ratio(a: float, b: float, direction: Direction) -> _Measured:
    if not (a > 0 and b > 0):
        return _Measured(None, "a value that is not positive has no ratio", a, b)
    harm = log_ratio(a, b)
    return _Measured(harm if direction is Direction.LOWER else -harm, None, a, b)


def _of_pairs(baseline: Side, candidate: Side, direction: Direction) -> _Measured:
    a, _, _ = _statistic(baseline, Statistic.MEDIAN, direction)
    b, _, _ = _statistic(candidate, Statistic.MEDIAN, direction)
    second = candidate.values
    both = [(value, second[case]) for case, value in baseline.values.items() if case in second]
    unfit = sum(1 for x, y in both if not (x > 0 and y > 0))
    if unfit:
        return _Measured(None, f"{unfit} of {len(both)} pairs have a value that is not positive", a, b)
    sign = 1 if direction is Direction.LOWER else -1
    harms = [sign * log_ratio(x, y) for x, y in both]
    only_candidate = len(candidate.failed & baseline.values.keys())
    only_baseline = len(baseline.failed & candidate.values.keys())
    valued = len(harms)
    harms += [math.inf] * only_candidate + [-math.inf] * only_baseline
    harms += [0.0] * len(candidate.failed & baseline.failed)
    kept = trimmed(harms)  # ranks and numbers: no mean where an infinite rank is not trimmed away
    if kept and not (math.isfinite(kept[0]) and math.isfinite(kept[-1])):
        lost = int(kept[-1] == math.inf) - int(kept[0] == -math.inf)
        text = f"not attained: of {len(harms)} pairs {only_baseline} failed in the baseline only"
        return _Measured(None, f"{text}, {only_candidate} in the candidate only", a, b, lost)
    if not valued:  # ties alone measure nothing
        return _Measured(None, "no case has a value in both arms", a, b)
    return _Measured(mean_of(kept), None, a, b)


def _others(
    baseline: Side, candidate: Side, estimand: Estimand, direction: Direction, measured: _Measured
) -> _Others:
    both = baseline.values.keys() & candidate.values.keys()
    pair = [Side({case: side.values[case] for case in both}) for side in (baseline, candidate)]
    complete = _measure(pair[0], pair[1], estimand, direction).harm
    if not (baseline.missing or candidate.missing):
        return _Others(complete, measured.harm, measured.harm)
    best, worst = _observed(baseline, candidate, direction)
    bounds = [
        _measure(_filled(baseline, of_a), _filled(candidate, of_b), estimand, direction).harm
        for of_a, of_b in ((best, worst), (worst, best))
    ]
    return _Others(complete, bounds[0], bounds[1])


def _observed(baseline: Side, candidate: Side, direction: Direction) -> tuple[float | None, float | None]:
    """The best and the worst that either arm showed in this repetition; None is a failure."""
    values = (*baseline.values.values(), *candidate.values.values())
    if not values:
        return None, None
    ends = (min(values), max(values))
    best, worst = ends if direction is Direction.LOWER else ends[::-1]
    return best, None if baseline.failed or candidate.failed else worst


def _filled(side: Side, value: float | None) -> Side:
    """The population with every missing record taken as this value, or as a failure."""
    if value is None:
        return Side(side.values, side.failed | side.missing)
    return Side({**side.values, **dict.fromkeys(side.missing, value)}, side.failed)


def _check(baseline: Side, candidate: Side, estimand: Estimand) -> None:
    if estimand is Estimand.SHARE:
        raise ValueError("a share has no log ratio")
    for side in (baseline, candidate):
        numbers = side.values.values() if side.whole is None else (*side.values.values(), side.whole)
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError("a value is NaN or infinite")
        if side.failed & (side.values.keys() | side.missing) or side.missing & side.values.keys():
            raise ValueError("a case has two outcomes")
