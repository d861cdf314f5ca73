"""The difference that a workload's demands turn on: against it the client's own error is held. Pure."""

from collections.abc import Iterator

from fairtrial.decode.measures import NANOSECONDS, measure
from fairtrial.judge.normal import Normal, PhaseTable, Place, baseline_of, candidates_of
from fairtrial.judge.summaries import statistic_of
from fairtrial.schema.metrics import STAMPED
from fairtrial.schema.plan import Requirement
from fairtrial.schema.vocab import Metric, Phase, Role, Statistic
from fairtrial.stats.quantiles import median

_PER_TOKEN = frozenset({Metric.TPOT, Metric.ITL, Metric.DECODE_TOKENS_PER_SECOND})
"""Metrics that share the time from the first token to the last among the tokens between."""
_STAMPS = 2
"""So many stamps make that time: it can be wrong by as many errors."""


def decisive_ns(normal: Normal, workload: str, repetition: int) -> float | None:
    """The smallest error of a stamp in nanoseconds on which a demand of a workload turns, in one repetition.

    For a guardrail it is the margin at the value of the baseline; for a primary how far the candidate is
    beyond what would be enough. A time per token comes from two stamps and is shared among the tokens
    between: there it is half of what the whole span would have to be wrong by. None where nothing is
    demanded, or something is demanded of another metric than these.
    """
    demands = [
        requirement
        for requirement in normal.plan.workload(workload).requirements
        if requirement.role is not Role.INFORMATIONAL
    ]
    if not demands or any(requirement.metric not in STAMPED | _PER_TOKEN for requirement in demands):
        return None
    found = [one for requirement in demands for one in _each(normal, workload, repetition, requirement)]
    known = [one for one in found if one is not None]
    return min(known) if known and len(known) == len(found) else None


def _each(normal: Normal, workload: str, repetition: int, requirement: Requirement) -> Iterator[float | None]:
    place = Place(workload, repetition, baseline_of(normal.plan))
    baseline = _time(normal, place, requirement)
    reach = _reach(normal.table(place, Phase.MEASURED), requirement)
    if baseline is None or reach is None:
        yield None
        return
    if requirement.margin is not None:
        yield max(requirement.margin.relative * baseline, float(requirement.margin.absolute_ns)) * reach
        return
    effect = requirement.min_effect
    enough = baseline / (1 + effect) if _is_rate(requirement) else baseline * (1 - effect)
    for candidate in candidates_of(normal.plan):
        value = _time(normal, Place(workload, repetition, candidate), requirement)
        yield None if value is None else abs(enough - value) * reach


def _is_rate(requirement: Requirement) -> bool:
    return requirement.metric is Metric.DECODE_TOKENS_PER_SECOND


def _time(normal: Normal, place: Place, requirement: Requirement) -> float | None:
    """The statistic as a time; of a rate the time for one token."""
    table = normal.table(place, Phase.MEASURED)
    value = statistic_of(table, requirement.metric, requirement.statistic, None).value
    if value is None or not _is_rate(requirement):
        return value
    return NANOSECONDS / value if value > 0 else None


def _reach(table: PhaseTable | None, requirement: Requirement) -> float | None:
    """How wrong a stamp must be for the metric to be wrong by 1 ns; None where nobody knows.

    Of a median that of the median request counts, of a percentile that of the request with the fewest tokens.
    """
    if requirement.metric in STAMPED:
        return 1.0
    tokens = [] if table is None else list(_shared_by(table, requirement.metric))
    if not tokens:
        return None
    return (
        (median(tokens) or 0.0) / _STAMPS
        if requirement.statistic is Statistic.MEDIAN
        else min(tokens) / _STAMPS
    )


def _shared_by(table: PhaseTable, metric: Metric) -> Iterator[float]:
    """Among how many tokens each used request shares the time from its first token to its last."""
    for row in table.used:
        value = measure(row, metric)[0]
        if value is None or value <= 0 or row.first_token_ns is None or row.last_token_ns is None:
            continue
        span = row.last_token_ns - row.first_token_ns
        yield span * value / NANOSECONDS if metric is Metric.DECODE_TOKENS_PER_SECOND else span / value
