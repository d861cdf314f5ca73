"""A declared share of requests, e.g. goodput: does the candidate reach it? Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial.schema.verdict import Finding, Needed
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Verdict
from fairtrial.stats.distributions import beta_quantile
from fairtrial.stats.interval import Interval, interval_of
from fairtrial.stats.power import MOST_REPETITIONS, joint_power, repetitions_needed, upper_spread

MIN_REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class _Bounds:
    """One-sided bounds of the true share."""

    low: float
    high: float


def share_finding(
    met: Sequence[tuple[int, int] | None],
    at_least: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    guardrails: int = 1,
    repetitions: Sequence[int] | None = None,
) -> Finding:
    """Whether the candidate's own share reaches a declared one; no baseline is asked.

    Two bounds must agree, as each sees what the other doesn't: the t interval of the repetitions' shares
    knows that launches differ, the exact binomial (Clopper-Pearson) bound of all requests together knows
    that a share of 1 from few requests proves little. It passes where both lower bounds reach the share and
    no repetition is below it (the t interval doesn't know how skewed shares are), fails where both upper
    bounds are below it, and is ``inconclusive`` otherwise. No sample can show a share of 1.

    Args:
        met: By repetition how many requests met the limits, of how many expected; None where it is unknown.
        at_least: The declared share, above 0.
        alpha: One-sided.
        power: What ``needed`` asks for.
        guardrails: How many guardrails must pass together.
        repetitions: Their numbers; 1, 2, ... where absent.

    Returns:
        The finding; its harms are shortfalls, ``at_least`` minus the share: no logarithms.

    Raises:
        ValueError: A count is impossible, or the share is outside 0 to 1.
    """
    if not 0 < at_least <= 1:
        raise ValueError(f"no demand of a share of {at_least}")
    known = [one for one in met if one is not None]
    if any(not 0 <= count <= expected or expected < 1 for count, expected in known):
        raise ValueError("a share needs 0 <= met <= expected and at least one request")
    shares = [None if one is None else one[0] / one[1] for one in met]
    harms = tuple(None if share is None else at_least - share for share in shares)
    interval = interval_of([harm for harm in harms if harm is not None], alpha)
    bounds = _bounds(interval, known, at_least, alpha) if len(known) == len(met) else None
    verdict, reason = _verdict(len(met), known, bounds, at_least)
    wanted = joint_power(power, guardrails)
    return Finding(
        estimand=Estimand.SHARE,
        alpha=alpha,
        margin=None,
        min_effect=0.0,
        repetitions=tuple(repetitions or range(1, len(met) + 1)),
        harms=harms,
        n=interval.n,
        mean=interval.mean,
        sd=interval.sd,
        low=None if bounds is None else at_least - bounds.high,
        high=None if bounds is None else at_least - bounds.low,
        t=interval.t,
        p_two_sided=interval.p_two_sided,
        verdict=verdict,
        reason=reason,
        needed=_needed(interval, known, at_least, alpha, wanted) if verdict is Verdict.INCONCLUSIVE else None,
    )


def exact_bounds(met: int, expected: int, alpha: float) -> tuple[float, float]:
    """One-sided exact bounds of a share, each with error ``alpha`` (Clopper and Pearson 1934).

    Raises:
        ValueError: A count is impossible, or ``alpha`` is not inside 0 to 1.
    """
    if not 0 <= met <= expected or expected < 1:
        raise ValueError(f"no share of {met} of {expected}")
    low = beta_quantile(alpha, met, expected - met + 1) if met else 0.0
    high = beta_quantile(1 - alpha, met + 1, expected - met) if met < expected else 1.0
    return low, high


def _bounds(
    interval: Interval, known: Sequence[tuple[int, int]], at_least: float, alpha: float
) -> _Bounds | None:
    """The lower of both lower bounds, the higher of both upper ones."""
    if interval.low is None or interval.high is None:
        return None
    low, high = exact_bounds(sum(met for met, _ in known), sum(expected for _, expected in known), alpha)
    return _Bounds(
        max(0.0, min(low, at_least - interval.high)),
        min(1.0, max(high, at_least - interval.low)),
    )


def _verdict(
    total: int, known: Sequence[tuple[int, int]], bounds: _Bounds | None, at_least: float
) -> tuple[Verdict, str]:
    if total < MIN_REPETITIONS:
        return Verdict.INCONCLUSIVE, f"insufficient repetitions: {total} of at least {MIN_REPETITIONS}"
    if bounds is None:
        return Verdict.INCONCLUSIVE, f"the share is unknown in {total - len(known)} of {total} repetitions"
    demand = f"{100 * at_least:.10g}%"
    short = sum(1 for met, expected in known if met / expected < at_least)
    if bounds.low >= at_least and short:
        return Verdict.INCONCLUSIVE, f"{short} of {total} repetitions are below the share of {demand}"
    if bounds.low >= at_least:
        return Verdict.NON_INFERIOR, f"a share of at least {bounds.low:.3%}, {demand} is demanded"
    if bounds.high < at_least:
        return Verdict.INFERIOR, f"a share of at most {bounds.high:.3%}, {demand} is demanded"
    return Verdict.INCONCLUSIVE, f"a share from {bounds.low:.3%} to {bounds.high:.3%}, {demand} is demanded"


def _needed(
    interval: Interval,
    known: Sequence[tuple[int, int]],
    at_least: float,
    alpha: float,
    power: float,
) -> Needed:
    """Repetitions with as many requests as these, were every request to meet its limits.

    That is the least: the t bound must be clear of ``1 - at_least`` at this spread, and ``n`` requests
    without a miss must bound the share, ``alpha**(1/n) >= at_least``.
    """
    if at_least == 1:
        return Needed(power=power, at_spread=None, at_upper=None, reason="no sample shows a share of 100%")
    if interval.sd is None:
        reason = "fewer than two repetitions have a share"
        return Needed(power=power, at_spread=None, at_upper=None, reason=reason)
    requests = math.ceil(math.log(alpha) / math.log(at_least))
    exact = math.ceil(requests * len(known) / sum(expected for _, expected in known))
    found: list[int | None] = []
    for sd in (interval.sd, upper_spread(interval.sd, interval.n - 1)):
        launches = repetitions_needed(sd, 1 - at_least, alpha=alpha, power=power)
        most = None if launches is None else max(launches, exact, MIN_REPETITIONS)
        found.append(most if most is not None and most <= MOST_REPETITIONS else None)
    return Needed(power=power, at_spread=found[0], at_upper=found[1], reason=_reason(found, interval.n))


def _reason(found: Sequence[int | None], n: int) -> str | None:
    if found[1] is None:
        return f"more than {MOST_REPETITIONS} repetitions"
    if found[0] is not None and found[0] <= n:
        return f"{n} repetitions would have decided it, did every request meet its limits"
    return None
