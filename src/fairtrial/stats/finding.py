"""From the harms of the repetitions to a verdict. Pure.

The picture is that of a non-inferiority trial: an interval against a margin, three answers, and "not
significant" never means "pass". The repetition is the replicate; requests only sharpen each of them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fairtrial.schema.verdict import Finding, Needed, Sensitivity
from fairtrial.schema.verdict_vocab import Assumption, Estimand, Flag
from fairtrial.schema.vocab import Direction, Role, Verdict
from fairtrial.stats.by_order import interval_by_order
from fairtrial.stats.harm import RepetitionHarm
from fairtrial.stats.interval import Interval
from fairtrial.stats.power import (
    MOST_REPETITIONS,
    joint_power,
    repetitions_needed,
    smallest_visible,
    upper_spread,
)
from fairtrial.stats.quantiles import median
from fairtrial.stats.share import share_finding
from fairtrial.stats.sign_flip import sign_flip
from fairtrial.stats.wording import percent

__all__ = ["MIN_REPETITIONS", "Demand", "conclude", "share_finding"]

MIN_REPETITIONS = 3
"""Fewest repetitions for any verdict: a spread of two values says nearly nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a requirement asks of a candidate."""

    role: Role
    direction: Direction
    estimand: Estimand
    relative: float | None = None
    """How much worse is still no worse, as a share; None of primaries and of what is only shown."""
    absolute: float = 0.0
    """The same in the metric's unit; the larger of the two counts."""
    min_effect: float = 0.0
    """Smallest improvement that counts, as a share of the baseline, for primaries."""
    alpha: float = 0.05
    """One-sided."""
    power: float = 0.8
    guardrails: int = 1
    """How many guardrails must pass together: it raises the power that each of them needs."""
    noise_floor: float | None = None
    """Of an A/A calibration, on the scale of harm."""


def conclude(harms: Sequence[RepetitionHarm], demand: Demand) -> Finding:
    """The interval, the verdict, its flags and companions of one requirement.

    A guardrail is ``non_inferior`` where the whole interval is below ``margin_of`` and ``inferior`` where
    it is at or beyond it. A primary is ``superior`` where the whole interval is below ``target_of`` and
    ``inferior`` where it is above 0. What is only shown is compared with 0 either way. Everything else is
    ``inconclusive``, and so is:
    - what has fewer than three repetitions, or one without a number: only where the candidate's own
      failures leave no repetition a number it is ``inferior``;
    - what missing records, taken for or against the candidate, would change;
    - a pass that would not hold were the baseline's times too long by all that the client's own error may
      be, and an ``inferior`` were the candidate's so: errors of a client only make times longer;
    - a pass of a value of the whole population whose candidate failed more often than the baseline;
    - a pass that does not hold over the cases with two values alone. The other way round it is no doubt:
      where failures make a candidate ``inferior``, those that did not fail can't acquit it.

    Unequal numbers of the arms' orders: :func:`fairtrial.stats.by_order.interval_by_order`.

    Args:
        harms: One for each repetition, in order.
        demand: What is asked.

    Raises:
        ValueError: The demand makes no sense, e.g. a guardrail without a margin.
    """
    limit = _limit(harms, demand)
    values = tuple(one.harm for one in harms)
    interval = _shown(_interval(harms, values, demand.alpha), lost=any(one.lost for one in harms))
    verdict, reason = _verdict(harms, interval, demand, limit)
    sensitivity = _sensitivities(harms, demand, limit)
    flags = _flags(harms, interval, demand)
    decided = verdict is not Verdict.INCONCLUSIVE
    doubt = _doubt(harms, demand, verdict, sensitivity) if decided or None not in values else None
    if doubt:
        flags = (*flags, doubt[0])
        verdict, reason = Verdict.INCONCLUSIVE, doubt[1] if decided else reason
    return Finding(
        estimand=demand.estimand,
        alpha=demand.alpha,
        margin=limit if demand.role is Role.GUARDRAIL else None,
        min_effect=demand.min_effect,
        repetitions=tuple(one.repetition for one in harms),
        harms=values,
        n=interval.n,
        mean=interval.mean,
        sd=interval.sd,
        low=interval.low,
        high=interval.high,
        t=interval.t,
        p_two_sided=interval.p_two_sided,
        verdict=verdict,
        reason=reason,
        flags=flags,
        sign_flip=sign_flip([value for value in values if value is not None]),
        needed=_needed(interval, demand, limit, _stuck(values, doubt if decided else None))
        if verdict is Verdict.INCONCLUSIVE
        else None,
        sensitivity=sensitivity,
        noise_floor=demand.noise_floor,
    )


def margin_of(relative: float, absolute: float, baseline: float | None) -> float:
    """The margin on the scale of harm: ``ln(1 + max(relative, absolute / baseline))``.

    For a rate it bounds A/B, so that the two directions are each other's mirror: 5 % allows B >= A/1.05.

    Args:
        relative: As a share.
        absolute: In the metric's unit; without a baseline's value it can't count.
        baseline: Median of the baseline's values of the repetitions.

    Raises:
        ValueError: A part is negative or not finite.
    """
    part = absolute / baseline if baseline is not None and baseline > 0 else 0.0
    allowed = max(relative, part)
    if not (relative >= 0 and absolute >= 0 and math.isfinite(allowed)):
        raise ValueError(f"no margin from {relative} and {absolute}")
    return math.log1p(allowed)


def target_of(min_effect: float, direction: Direction) -> float:
    """What a primary's harm must stay below: 0, or the smallest improvement that counts.

    "Better by at least 20 %" is what a person means by it, a share of the baseline: of a time B <= 0.8 A,
    so ``ln(1 - 0.2)``; of a rate B >= 1.2 A, so ``-ln(1 + 0.2)``.

    Raises:
        ValueError: The effect is outside 0 to below 1.
    """
    if not 0 <= min_effect < 1:
        raise ValueError(f"no effect of {min_effect}")
    return math.log1p(-min_effect) if direction is Direction.LOWER else -math.log1p(min_effect)


def stands(finding: Finding, role: Role, direction: Direction, low: float | None, high: float | None) -> bool:
    """Whether the verdict is the same with another interval of the harm, e.g. one without the drift.

    One of a share never is: its interval is on another scale. Nor is an undecided one, which claims nothing.
    """
    if finding.estimand is Estimand.SHARE or finding.verdict is Verdict.INCONCLUSIVE:
        return False
    limit = target_of(finding.min_effect, direction) if finding.margin is None else finding.margin
    return _compare(Interval(n=finding.n, low=low, high=high), role, limit)[0] is finding.verdict


def _limit(harms: Sequence[RepetitionHarm], demand: Demand) -> float:
    """The value that the interval is held against."""
    if demand.role is not Role.GUARDRAIL:
        return target_of(demand.min_effect, demand.direction) if demand.role is Role.PRIMARY else 0.0
    if demand.relative is None:
        raise ValueError("a guardrail has a margin")
    baseline = median([one.baseline_value for one in harms if one.baseline_value is not None])
    return margin_of(demand.relative, demand.absolute, baseline)


def _shown(interval: Interval, *, lost: bool) -> Interval:
    """The part of an interval that says no more than was seen."""
    if lost:  # what the others say is not what happened
        return Interval(n=interval.n)
    if interval.sd == 0 and interval.n < MIN_REPETITIONS:  # two equal values are no certainty
        return Interval(n=interval.n, mean=interval.mean, sd=interval.sd)
    return interval


def _interval(harms: Sequence[RepetitionHarm], values: Sequence[float | None], alpha: float) -> Interval:
    """Of the repetitions that have a value, with the order of each."""
    known = [
        (value, one.candidate_second) for one, value in zip(harms, values, strict=True) if value is not None
    ]
    return interval_by_order([value for value, _ in known], [second for _, second in known], alpha)


def _verdict(
    harms: Sequence[RepetitionHarm], interval: Interval, demand: Demand, limit: float
) -> tuple[Verdict, str]:
    r = len(harms)
    if r < MIN_REPETITIONS:
        return Verdict.INCONCLUSIVE, f"insufficient repetitions: {r} of at least {MIN_REPETITIONS}"
    if all(one.lost > 0 for one in harms):
        return Verdict.INFERIOR, f"the candidate's failures leave no number in any of {r} repetitions"
    absent = [one for one in harms if one.harm is None]
    if absent:
        numbers = ", ".join(str(one.repetition) for one in absent)
        why = absent[0].reason or "no value"
        return Verdict.INCONCLUSIVE, f"no number in {len(absent)} of {r} repetitions ({numbers}): {why}"
    return _compare(interval, demand.role, limit)


def _compare(interval: Interval, role: Role, limit: float) -> tuple[Verdict, str]:
    """The interval against its limit; an interval that is absent says nothing."""
    low, high = interval.low, interval.high
    if low is None or high is None:
        return Verdict.INCONCLUSIVE, "no interval"
    if role is Role.GUARDRAIL:
        return _against_margin(low, high, limit)
    if high < limit:
        return Verdict.SUPERIOR, f"harm at most {percent(high)}, below {percent(limit)}"
    if low > 0:
        return Verdict.INFERIOR, f"harm at least {percent(low)}: the candidate is worse"
    if low >= limit and limit < 0:
        text = f"harm at least {percent(low)}: the improvement is smaller than demanded ({percent(limit)})"
        return Verdict.INCONCLUSIVE, text
    return Verdict.INCONCLUSIVE, f"harm from {percent(low)} to {percent(high)}, not below {percent(limit)}"


def _against_margin(low: float, high: float, margin: float) -> tuple[Verdict, str]:
    if high < margin:
        return Verdict.NON_INFERIOR, f"harm at most {percent(high)}, below the margin {percent(margin)}"
    if low >= margin:
        return Verdict.INFERIOR, f"harm at least {percent(low)}, at or beyond the margin {percent(margin)}"
    text = f"harm from {percent(low)} to {percent(high)}, on both sides of the margin {percent(margin)}"
    return Verdict.INCONCLUSIVE, text


def _flags(harms: Sequence[RepetitionHarm], interval: Interval, demand: Demand) -> tuple[Flag, ...]:
    """What stands beside the verdict; of an interval only from as many repetitions as a verdict takes."""
    low, high, mean, floor = interval.low, interval.high, interval.mean, demand.noise_floor
    enough = interval.n >= MIN_REPETITIONS
    found = {
        Flag.REGRESSION_DETECTED: enough and low is not None and low > 0,
        Flag.IMPROVEMENT_DETECTED: enough and high is not None and high < 0,
        Flag.WITHIN_NOISE: mean is not None and floor is not None and abs(mean) < floor,
        Flag.EXACT_CANNOT_REJECT: _cannot_reject(harms, demand.alpha),
        # In a value of the whole population failures count for nothing: they have no rank there.
        Flag.FAILURES_RANKED: demand.estimand is not Estimand.WHOLE and any(any(one.failed) for one in harms),
    }
    return tuple(flag for flag, holds in found.items() if holds)


def _cannot_reject(harms: Sequence[RepetitionHarm], alpha: float) -> bool:
    return 2.0 ** -sum(1 for one in harms if one.harm is not None) > alpha


_ANALYSES: tuple[tuple[Assumption, Callable[[RepetitionHarm], float | None]], ...] = (
    (Assumption.COMPLETE, lambda one: one.complete),
    (Assumption.WORST, lambda one: one.worst),
    (Assumption.BEST, lambda one: one.best),
    (Assumption.CLIENT_AGAINST, lambda one: one.harm if one.client_against is None else one.client_against),
    (Assumption.CLIENT_FOR, lambda one: one.harm if one.client_for is None else one.client_for),
)
_CLIENT = frozenset({Assumption.CLIENT_AGAINST, Assumption.CLIENT_FOR})


def _sensitivities(harms: Sequence[RepetitionHarm], demand: Demand, limit: float) -> tuple[Sensitivity, ...]:
    """The same question under every other assumption that gives other numbers."""
    found = []
    for assumption, pick in _ANALYSES:
        others = [pick(one) for one in harms]
        if all(other == one.harm for other, one in zip(others, harms, strict=True)):
            continue
        if assumption is Assumption.COMPLETE and None in others:
            continue  # too few cases with two values for this statistic: nothing to compare with
        known = [other for other in others if other is not None]
        whole = len(known) == len(others)
        interval = _interval(harms, others, demand.alpha) if whole else Interval(n=len(known))
        verdict, _ = _compare(interval, demand.role, limit)
        found.append(
            Sensitivity(
                assumption=assumption,
                verdict=verdict if len(harms) >= MIN_REPETITIONS else Verdict.INCONCLUSIVE,
                mean=interval.mean,
                low=interval.low,
                high=interval.high,
            )
        )
    return tuple(found)


_Doubt = tuple[Flag, str]


_PASSED = frozenset({Verdict.SUPERIOR, Verdict.NON_INFERIOR})


def _doubt(
    harms: Sequence[RepetitionHarm], demand: Demand, verdict: Verdict, sensitivity: Sequence[Sensitivity]
) -> _Doubt | None:
    """What would change the verdict, and how; None where nothing does."""
    ours, theirs = (sum(one.failed[arm] for one in harms) for arm in (0, 1))
    if demand.estimand is Estimand.WHOLE and verdict in _PASSED and theirs > ours:
        failed = f"{theirs} requests of the candidate failed and {ours} of the baseline"
        return Flag.FAILED_MORE, f"{failed}, which a value of the whole population does not rank"
    for one in sensitivity:
        if one.verdict is not verdict and _weighs(verdict, one.assumption):
            flag = Flag.CLIENT_DECIDES if one.assumption in _CLIENT else Flag.MISSING_DECIDES
            return flag, f"{_WERE[one.assumption]} it would be {one.verdict.value}"
    return None


def _weighs(verdict: Verdict, assumption: Assumption) -> bool:
    """Whether another verdict under this assumption leaves the one at hand in doubt."""
    passed = verdict in _PASSED
    if assumption in {Assumption.COMPLETE, Assumption.CLIENT_AGAINST}:
        return passed
    return assumption is not Assumption.CLIENT_FOR or verdict is Verdict.INFERIOR


_WERE = MappingProxyType(
    {
        Assumption.COMPLETE: "over the cases with a value in both arms",
        Assumption.WORST: "with missing records taken against the candidate",
        Assumption.BEST: "with missing records taken for the candidate",
        Assumption.CLIENT_AGAINST: "with the client's own error taken off the baseline's times",
        Assumption.CLIENT_FOR: "with the client's own error taken off the candidate's times",
    }
)


_DECIDES = MappingProxyType(
    {
        Flag.CLIENT_DECIDES: "the client's own error decides it",
        Flag.MISSING_DECIDES: "pairs without two values decide it",
        Flag.FAILED_MORE: "the candidate's failures decide it",
    }
)


def _stuck(values: Sequence[float | None], doubt: _Doubt | None) -> str | None:
    """Why no number of repetitions would decide; None where it would."""
    if None in values:
        return "a repetition without a number stays undecided, however many follow"
    if doubt is None:
        return None
    return f"{_DECIDES[doubt[0]]}, not the number of repetitions"


def _needed(interval: Interval, demand: Demand, limit: float, stuck: str | None) -> Needed | None:
    """How many repetitions in all would decide; of what is only shown nothing is to be decided.

    The plan is never the observed mean. A guardrail's is a harmless candidate, with the power that lets all
    guardrails pass together. A primary's is an improvement of twice the declared effect on the scale of
    ln(ratio): one of exactly that effect could never be shown to exceed it. Where no effect is declared
    there is nothing to plan for, and the smallest improvement is named that this many repetitions show.
    """
    if demand.role is Role.INFORMATIONAL:
        return None
    guardrail = demand.role is Role.GUARDRAIL
    power = joint_power(demand.power, demand.guardrails) if guardrail else demand.power
    reason = stuck
    if reason is None and interval.sd is None:
        reason = "fewer than two repetitions have no spread to plan with"
    elif reason is None and limit == 0:
        reason = _visible(interval, demand, power)
    if reason is not None or interval.sd is None:
        return Needed(power=power, at_spread=None, at_upper=None, reason=reason)
    upper = upper_spread(interval.sd, interval.n - 1)
    found = [
        repetitions_needed(sd, abs(limit), alpha=demand.alpha, power=power) for sd in (interval.sd, upper)
    ]
    at_spread, at_upper = (None if one is None else max(one, MIN_REPETITIONS) for one in found)
    if at_upper is None:
        reason = f"more than {MOST_REPETITIONS} repetitions: look for the noise first"
    elif at_spread is not None and at_spread <= interval.n:
        plan = "harmless" if guardrail else "as much better as planned"
        reason = f"{interval.n} repetitions would have decided it, were the candidate {plan}"
    return Needed(power=power, at_spread=at_spread, at_upper=at_upper, reason=reason)


def _visible(interval: Interval, demand: Demand, power: float) -> str:
    if demand.role is Role.GUARDRAIL:
        return "the margin is 0: no number of repetitions shows that"
    seen = smallest_visible(interval.sd or 0.0, interval.n, alpha=demand.alpha, power=power)
    size = percent(-(seen or 0.0))
    seen_by = f"{interval.n} repetitions of this spread show a harm of {size} with power {power:.2g}"
    return f"no effect is declared to plan for; {seen_by}"
