"""What stands beside a finding: the baseline's own differences, launches, period, drift, odd launches. Pure.

Nothing here turns a fail into a pass. Times are those of the journal, not of the declared order.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairtrial.decode.measures import measure
from fairtrial.judge.normal import Normal, baseline_of
from fairtrial.judge.sides import Subject
from fairtrial.judge.summaries import statistic_of
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.verdict import Companions, Drift, LaunchSpread, OddLaunch, Period
from fairtrial.schema.vocab import Direction, Phase
from fairtrial.stats.differences import differences
from fairtrial.stats.drift import drift
from fairtrial.stats.harm import RepetitionHarm
from fairtrial.stats.multiplicity import holm
from fairtrial.stats.odd import Point, odd_launches
from fairtrial.stats.period import period
from fairtrial.stats.variance import launch_spread

LEAST_REPETITIONS = 4
"""Fewest repetitions in which a drift or an effect of the order can be told."""
_TOO_FEW = f"not testable: it takes {LEAST_REPETITIONS} repetitions"


@dataclass(frozen=True, slots=True)
class Measured:
    """The statistic of one launch that counts, and when it was measured."""

    arm: str
    repetition: int
    value: float
    started: tuple[int, int]
    """Boot, and nanoseconds since its origin: when the measured phase began."""


def measured(normal: Normal, subject: Subject) -> tuple[Measured, ...]:
    """Every launch of both arms with a positive value, in the order in which they were measured."""
    found = []
    requirement = subject.requirement
    for repetition in range(1, len(normal.plan.design.order) + 1):
        for arm in (baseline_of(normal.plan), subject.candidate):
            table = normal.table(subject.place(repetition, arm), Phase.MEASURED)
            value = statistic_of(table, requirement.metric, requirement.statistic, requirement.limits).value
            if table is not None and value is not None and value > 0:
                found.append(Measured(arm, repetition, value, (table.boot, table.started_ns)))
    return tuple(sorted(found, key=lambda one: one.started))


def companions_of(
    normal: Normal, subject: Subject, harms: Sequence[RepetitionHarm], alpha: float, looked_at: int
) -> Companions:
    """Everything beside one finding; the drift is corrected for all workloads afterwards.

    Args:
        normal: The evidence.
        subject: The requirement.
        harms: Of its repetitions; none for a declared share, which has no ratio.
        alpha: One-sided.
        looked_at: Launches of the whole trial.
    """
    launches = measured(normal, subject)
    baseline = baseline_of(normal.plan)
    own = sorted((one for one in launches if one.arm == baseline), key=lambda one: one.repetition)
    absent: dict[str, str] = {}
    if len(own) < 2:
        absent["baseline_differences"] = "fewer than two repetitions of the baseline have a value"
    spread = _spreads(normal, subject)
    if not spread:
        absent["spread"] = "it takes two launches of an arm with two requests each that have a value"
    found_period, reason = _period(launches, harms, subject.candidate, alpha)
    if found_period is None:
        absent["period"] = reason
    found_drift, reason = _drift(launches, subject, alpha)
    if found_drift is None:
        absent["drift"] = reason
    return Companions(
        baseline_differences=differences([one.value for one in own]),
        spread=spread,
        period=found_period,
        drift=found_drift,
        odd=_odd(launches, looked_at),
        absent=absent,
    )


def _spreads(normal: Normal, subject: Subject) -> Mapping[str, LaunchSpread]:
    """By arm: how much of the spread of single requests lies between launches."""
    if not METRICS[subject.metric].per_request:
        return {}
    found = {}
    for arm in (baseline_of(normal.plan), subject.candidate):
        groups = []
        for repetition in range(1, len(normal.plan.design.order) + 1):
            table = normal.table(subject.place(repetition, arm), Phase.MEASURED)
            values = (measure(row, subject.metric)[0] for row in (table.used if table else ()))
            groups.append([math.log(value) for value in values if value is not None and value > 0])
        spread = launch_spread(groups)
        if spread is not None:
            found[arm] = spread
    return found


def _period(
    launches: Sequence[Measured], harms: Sequence[RepetitionHarm], candidate: str, alpha: float
) -> tuple[Period | None, str]:
    started = {(one.arm == candidate, one.repetition): one.started for one in launches}
    known = [
        (one.harm, started[True, one.repetition] > started[False, one.repetition])
        for one in harms
        if one.harm is not None and {(True, one.repetition), (False, one.repetition)} <= started.keys()
    ]
    return period([harm for harm, _ in known], [second for _, second in known], alpha=alpha)


def _drift(launches: Sequence[Measured], subject: Subject, alpha: float) -> tuple[Drift | None, str]:
    if len({one.repetition for one in launches}) < LEAST_REPETITIONS:
        return None, _TOO_FEW
    sign = 1 if METRICS[subject.metric].direction is Direction.LOWER else -1
    return drift(
        [sign * math.log(one.value) for one in launches],
        [float(slot) for slot in range(1, len(launches) + 1)],
        [one.arm == subject.candidate for one in launches],
        alpha=alpha,
    )


def _odd(launches: Sequence[Measured], looked_at: int) -> tuple[OddLaunch, ...]:
    ordered = sorted(launches, key=lambda one: (one.repetition, one.arm))
    points = [Point(one.arm, one.repetition, math.log(one.value)) for one in ordered]
    return odd_launches(points, looked_at=max(1, looked_at))


def corrected(found: Mapping[int, Companions]) -> dict[int, Companions]:
    """The same with every drift's p corrected for all of them (Holm)."""
    drifts = {place: one.drift for place, one in found.items() if one.drift is not None}
    ps = dict(zip(drifts, holm([one.p for one in drifts.values()]), strict=True))
    return {
        place: replace(one, drift=replace(drifts[place], p_holm=ps[place])) if place in ps else one
        for place, one in found.items()
    }


def places_measured(normal: Normal) -> int:
    """Launches of the whole trial that were measured, each counted once a workload."""
    return sum(1 for (_, phase), table in normal.tables.items() if phase is Phase.MEASURED and table.rows)
