"""The two arms of a repetition as the statistics take them: values, failures, what is missing. Pure."""

from dataclasses import dataclass, replace

from fairtrial.decode.goodput import meets
from fairtrial.decode.measures import measure
from fairtrial.judge.conditions_client import error_bound_ns
from fairtrial.judge.normal import Normal, PhaseTable, Place, baseline_of
from fairtrial.judge.summaries import statistic_of
from fairtrial.schema.cases import cases_of
from fairtrial.schema.equality import CellEquality
from fairtrial.schema.metrics import METRICS, STAMPED
from fairtrial.schema.plan import FrozenWorkload, Requirement
from fairtrial.schema.verdict_vocab import Estimand
from fairtrial.schema.vocab import Metric, Outcome, Phase, Statistic
from fairtrial.stats.harm import RepetitionHarm, Side, harm_of

_QUANTILES = {
    Statistic.P90: Estimand.P90,
    Statistic.P95: Estimand.P95,
    Statistic.P99: Estimand.P99,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """One requirement of one workload, for one candidate."""

    workload: FrozenWorkload
    requirement: Requirement
    candidate: str

    @property
    def metric(self) -> Metric:
        """Its metric."""
        return self.requirement.metric

    def place(self, repetition: int, arm: str) -> Place:
        """Where an arm ran it."""
        return Place(self.workload.name, repetition, arm)


def estimand_of(subject: Subject, equality: tuple[CellEquality, ...]) -> Estimand:
    """What the log ratio of a repetition is a ratio of.

    Cases are paired where the arms did the same work for each of them; where the work of any case is known
    to differ, only the medians of the arms are left, and the cells can't be used.
    """
    requirement = subject.requirement
    if requirement.metric is Metric.GOODPUT:
        return Estimand.SHARE
    if not METRICS[requirement.metric].per_request:
        return Estimand.WHOLE
    if requirement.statistic in _QUANTILES:
        return _QUANTILES[requirement.statistic]
    return Estimand.MEDIANS if unmatched(subject, equality) else Estimand.PAIRED_CASES


def unmatched(subject: Subject, equality: tuple[CellEquality, ...]) -> int:
    """Cases of all repetitions for which the arms did other work."""
    return sum(
        entry.work.unmatched
        for entry in equality
        if (entry.workload, entry.candidate) == (subject.workload.name, subject.candidate)
    )


def harms_of(normal: Normal, subject: Subject, estimand: Estimand) -> tuple[RepetitionHarm, ...]:
    """The harm of every repetition of the design, also of those that were not run."""
    arms = (baseline_of(normal.plan), subject.candidate)
    found = []
    for repetition in range(1, len(normal.plan.design.order) + 1):
        tables = [normal.table(subject.place(repetition, arm), Phase.MEASURED) for arm in arms]
        sides = sides_of(subject, tables[0], tables[1])
        direction = METRICS[subject.metric].direction
        harm = harm_of(repetition, sides[0], sides[1], estimand, direction)
        harm = replace(harm, candidate_second=_second(tables[0], tables[1]))
        found.append(_with_client(harm, subject, estimand, tables, sides))
    return tuple(found)


_LEAST_LEFT = 0.01
"""What is left of a time that the client's error may be all of."""


def _with_client(
    harm: RepetitionHarm,
    subject: Subject,
    estimand: Estimand,
    tables: list[PhaseTable | None],
    sides: tuple[Side, Side],
) -> RepetitionHarm:
    """The same harm with the client's own error taken off one arm's times: it only makes times longer."""
    if subject.metric not in STAMPED or harm.harm is None:
        return harm
    direction = METRICS[subject.metric].direction
    ours, theirs = (_shorter(side, error_bound_ns(table)) for side, table in zip(sides, tables, strict=True))
    against = harm_of(harm.repetition, ours, sides[1], estimand, direction)
    for_it = harm_of(harm.repetition, sides[0], theirs, estimand, direction)
    return replace(harm, client_against=against.harm, client_for=for_it.harm)


def _shorter(side: Side, error_ns: float) -> Side:
    values = {case: max(value - error_ns, _LEAST_LEFT * value) for case, value in side.values.items()}
    return replace(side, values=values)


def _second(baseline: PhaseTable | None, candidate: PhaseTable | None) -> bool | None:
    """Whether the candidate was measured after the baseline; None where one was not."""
    if baseline is None or candidate is None:
        return None
    return (candidate.boot, candidate.started_ns) > (baseline.boot, baseline.started_ns)


def sides_of(
    subject: Subject, baseline: PhaseTable | None, candidate: PhaseTable | None
) -> tuple[Side, Side]:
    """Both sides of one repetition.

    A request that succeeded and has no such value (a rate of a single token) counts as missing where the
    other arm has one; where neither has, the metric says nothing of that case.
    """
    cases = {case.name for case in cases_of(subject.workload, Phase.MEASURED)}
    ours, theirs = _side(subject, baseline, cases), _side(subject, candidate, cases)
    nothing = _valueless(subject, baseline) & _valueless(subject, candidate)
    return _without(ours, nothing), _without(theirs, nothing)


def _side(subject: Subject, table: PhaseTable | None, cases: set[str]) -> Side:
    if table is None:
        return Side(values={}, missing=frozenset(cases), reason="no launch counts")
    failed = frozenset(case for case, row in table.rows.items() if row.outcome is not Outcome.OK)
    requirement = subject.requirement
    if not METRICS[subject.metric].per_request:
        whole = statistic_of(table, requirement.metric, requirement.statistic, requirement.limits)
        missing = frozenset(cases - set(table.rows))
        return Side(values={}, failed=failed, missing=missing, whole=whole.value, reason=whole.reason)
    found = ((row.case, measure(row, subject.metric)[0]) for row in table.used)
    values = {case: value for case, value in found if value is not None}
    return Side(values=values, failed=failed, missing=frozenset(cases - set(values) - failed))


def _valueless(subject: Subject, table: PhaseTable | None) -> frozenset[str]:
    if table is None or not METRICS[subject.metric].per_request:
        return frozenset()
    return frozenset(row.case for row in table.used if measure(row, subject.metric)[0] is None)


def _without(side: Side, cases: frozenset[str]) -> Side:
    if not cases:
        return side
    return replace(side, missing=side.missing - cases)


@dataclass(frozen=True, slots=True)
class Met:
    """How many of the declared requests of a repetition met all limits."""

    met: int
    unknown: int
    """Without a proven record, or without a value that is limited."""
    declared: int


def met_of(normal: Normal, subject: Subject) -> tuple[Met | None, ...]:
    """The candidate's own goodput in every repetition; None where no launch counts."""
    found: list[Met | None] = []
    limits = subject.requirement.limits
    for repetition in range(1, len(normal.plan.design.order) + 1):
        table = normal.table(subject.place(repetition, subject.candidate), Phase.MEASURED)
        if table is None or limits is None:
            found.append(None)
            continue
        answers = [meets(row, limits) for row in table.rows.values()]
        unknown = sum(1 for answer in answers if answer is None) + table.missing
        found.append(Met(sum(1 for answer in answers if answer), unknown, len(table.cases)))
    return tuple(found)
