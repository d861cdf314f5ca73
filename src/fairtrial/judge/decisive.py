"""The difference that a workload's demands turn on: against it the client's own error is held. Pure."""

from collections.abc import Iterator

from fairtrial.judge.normal import Normal, Place, baseline_of, candidates_of
from fairtrial.judge.summaries import statistic_of
from fairtrial.schema.plan import Requirement
from fairtrial.schema.vocab import Metric, Phase, Role

_TIMES = frozenset({Metric.TTFT, Metric.TTFO, Metric.E2E})
"""Metrics that an error of a stamp changes by just that error."""


def decisive_ns(normal: Normal, workload: str, repetition: int) -> float | None:
    """The smallest difference in nanoseconds on which a demand of this workload turns, in one repetition.

    For a guardrail it is the margin at the value of the baseline; for a primary how far the candidate is
    beyond what would be enough. None where nothing is demanded, or something is demanded of another metric
    than a time from the send of a request.
    """
    demands = [
        requirement
        for requirement in normal.plan.workload(workload).requirements
        if requirement.role is not Role.INFORMATIONAL
    ]
    if not demands or any(requirement.metric not in _TIMES for requirement in demands):
        return None
    found = [one for requirement in demands for one in _each(normal, workload, repetition, requirement)]
    known = [one for one in found if one is not None]
    return min(known) if known and len(known) == len(found) else None


def _each(normal: Normal, workload: str, repetition: int, requirement: Requirement) -> Iterator[float | None]:
    baseline = _value(normal, Place(workload, repetition, baseline_of(normal.plan)), requirement)
    if requirement.margin is not None:
        margin = requirement.margin
        yield None if baseline is None else max(margin.relative * baseline, float(margin.absolute_ns))
        return
    for candidate in candidates_of(normal.plan):
        value = _value(normal, Place(workload, repetition, candidate), requirement)
        known = baseline is not None and value is not None
        yield abs((1 - requirement.min_effect) * (baseline or 0.0) - (value or 0.0)) if known else None


def _value(normal: Normal, place: Place, requirement: Requirement) -> float | None:
    table = normal.table(place, Phase.MEASURED)
    return statistic_of(table, requirement.metric, requirement.statistic, None).value
