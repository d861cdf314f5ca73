"""Pairs: the same case in both arms of a repetition, in the measured phase. Pure."""

from dataclasses import dataclass

from fairtrial.decode.measures import measure
from fairtrial.judge.normal import Normal, PhaseTable, Place, baseline_of, cells
from fairtrial.judge.same_work import failed, fixed_output, work_of
from fairtrial.judge.summaries import none, statistic_of
from fairtrial.schema.cases import cases_of
from fairtrial.schema.equality import CellEquality, PairedEquality, counted
from fairtrial.schema.judgment import Comparison, Value
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import FrozenWorkload, Limits
from fairtrial.schema.requests import RequestRecord
from fairtrial.schema.vocab import Equality, Metric, Phase, Statistic
from fairtrial.stats.paired import observed_percent_delta, paired_log_ratio, percent_of_log_ratio


@dataclass(frozen=True, slots=True)
class _Both:
    """The measured requests of both arms of one cell."""

    baseline: PhaseTable | None
    candidate: PhaseTable | None


def comparisons(normal: Normal) -> tuple[Comparison, ...]:
    """Every candidate against the baseline, by workload, repetition and metric."""
    found = []
    for workload, repetition, candidate in cells(normal.plan):
        both = _both(normal, workload.name, repetition, candidate)
        for metric, statistic, limits in compared(workload):
            baseline = statistic_of(both.baseline, metric, statistic, limits)
            value = statistic_of(both.candidate, metric, statistic, limits)
            pairs = _paired_values(both, metric)
            found.append(
                Comparison(
                    workload=workload.name,
                    repetition=repetition,
                    candidate=candidate,
                    metric=metric,
                    statistic=statistic,
                    pairs=len(pairs[0]),
                    baseline=baseline,
                    candidate_value=value,
                    observed_percent_delta=_delta(metric, baseline, value),
                    paired_effect_percent=_effect(pairs, metric, statistic),
                    within_baseline_spread=_spread(normal, workload, metric, statistic),
                )
            )
    return tuple(found)


def compared(workload: FrozenWorkload) -> tuple[tuple[Metric, Statistic, Limits | None], ...]:
    """What is compared in a workload: its requirements first, then the descriptive rest."""
    wanted: dict[tuple[Metric, Statistic], Limits | None] = {
        (requirement.metric, requirement.statistic): requirement.limits
        for requirement in workload.requirements
    }
    for metric in (Metric.TTFT, Metric.E2E):
        wanted.setdefault((metric, Statistic.MEDIAN), None)
    return tuple((metric, statistic, limits) for (metric, statistic), limits in wanted.items())


def _both(normal: Normal, workload: str, repetition: int, candidate: str) -> _Both:
    baseline = baseline_of(normal.plan)
    return _Both(
        normal.table(Place(workload, repetition, baseline), Phase.MEASURED),
        normal.table(Place(workload, repetition, candidate), Phase.MEASURED),
    )


def _paired_values(both: _Both, metric: Metric) -> tuple[dict[str, float], dict[str, float]]:
    """The values of both arms by case, of the cases that have one in both."""
    if both.baseline is None or both.candidate is None or not METRICS[metric].per_request:
        return {}, {}
    ours, theirs = _by_case(both.baseline, metric), _by_case(both.candidate, metric)
    common = [case for case in ours if case in theirs]
    return {case: ours[case] for case in common}, {case: theirs[case] for case in common}


def _by_case(table: PhaseTable, metric: Metric) -> dict[str, float]:
    found = ((row.case, measure(row, metric)[0]) for row in table.used)
    return {case: value for case, value in found if value is not None}


def _delta(metric: Metric, baseline: Value, candidate: Value) -> Value:
    if baseline.value is None:
        return none(f"baseline: {baseline.reason}")
    if candidate.value is None:
        return none(f"candidate: {candidate.reason}")
    delta = observed_percent_delta(baseline.value, candidate.value, METRICS[metric].direction)
    return none("the baseline's value is no positive number") if delta is None else Value(value=delta)


def _effect(pairs: tuple[dict[str, float], dict[str, float]], metric: Metric, statistic: Statistic) -> Value:
    if statistic is not Statistic.MEDIAN or not METRICS[metric].per_request:
        return none("defined case by case, beside the median only")
    ratio, used, reason = paired_log_ratio(*pairs)
    if ratio is None:
        return none(reason or "no pair has a ratio")
    if used < len(pairs[0]):
        return none(f"{len(pairs[0]) - used} of {len(pairs[0])} pairs have a value of 0, which has no ratio")
    percent = percent_of_log_ratio(ratio)
    return none("beyond the range of a number") if percent is None else Value(value=percent)


def _spread(normal: Normal, workload: FrozenWorkload, metric: Metric, statistic: Statistic) -> Value:
    limits = next((r.limits for r in workload.requirements if r.metric is metric), None)
    found = []
    for repetition in range(1, len(normal.plan.design.order) + 1):
        table = normal.table(Place(workload.name, repetition, baseline_of(normal.plan)), Phase.MEASURED)
        value = statistic_of(table, metric, statistic, limits).value
        if value is not None:
            found.append(value)
    if len(found) < 2:
        return none("fewer than two repetitions of the baseline have a value")
    if min(found) <= 0:
        return none("a value of 0 has no ratio")
    return Value(value=100 * (max(found) / min(found) - 1))


def equality(normal: Normal) -> tuple[CellEquality, ...]:
    """Work and output of every cell, counted over its declared cases."""
    found = []
    for workload, repetition, candidate in cells(normal.plan):
        each = paired_equality(normal, workload, repetition, candidate)
        found.append(
            CellEquality(
                workload=workload.name,
                repetition=repetition,
                candidate=candidate,
                work=counted((pair.case, pair.work) for pair in each),
                output=counted((pair.case, pair.output) for pair in each),
            )
        )
    return tuple(found)


def paired_equality(
    normal: Normal, workload: FrozenWorkload, repetition: int, candidate: str
) -> tuple[PairedEquality, ...]:
    """Work and output of every declared measured case of a cell."""
    both = _both(normal, workload.name, repetition, candidate)
    ours = both.baseline.rows if both.baseline else {}
    theirs = both.candidate.rows if both.candidate else {}
    return tuple(
        PairedEquality(
            case=case.name,
            work=work_of(ours.get(case.name), theirs.get(case.name), fixed_output(workload)),
            output=_output(ours.get(case.name), theirs.get(case.name)),
        )
        for case in cases_of(workload, Phase.MEASURED)
    )


def _output(ours: RequestRecord | None, theirs: RequestRecord | None) -> Equality:
    if ours is None or theirs is None:
        return Equality.MISSING
    if failed(ours, theirs):
        return Equality.FAILED
    if ours.output_ids is None or theirs.output_ids is None:
        # Without ids nothing is proven: neither equal nor unequal.
        return Equality.IDS_ABSENT
    return Equality.MATCHED if ours.output_ids == theirs.output_ids else Equality.UNMATCHED
