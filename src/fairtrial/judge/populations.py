"""Populations: what was expected, attempted, failed and used, and their numbers. Pure."""

from collections import Counter as Tally
from collections.abc import Iterable

from fairtrial.decode.measures import hit_source, measure, output_tokens
from fairtrial.judge.normal import Normal, PhaseTable, Place
from fairtrial.judge.summaries import Ranked, summaries
from fairtrial.judge.waits import from_schedule
from fairtrial.schema.cases import cases_of
from fairtrial.schema.judgment import Mixture, Population
from fairtrial.schema.plan import FrozenWorkload
from fairtrial.schema.vocab import Direction, HitSource, Metric, Phase, Statistic
from fairtrial.stats.failures import zero_failure_upper_bound

FORMAL_PHASES = (Phase.PRIME, Phase.MEASURED)
"""Warm-up is kept as evidence outside the denominators."""


def populations(normal: Normal) -> tuple[Population, ...]:
    """Every planned population, run or not, in the order of the schedule."""
    found = []
    for place in normal.places():
        workload = normal.plan.workload(place.workload)
        for phase in Phase:
            expected = len(cases_of(workload, phase))
            if expected:
                table = normal.table(place, phase)
                found.append(
                    _population(normal, place, phase, table) if table else _absent(place, phase, expected)
                )
    return tuple(found)


def _absent(place: Place, phase: Phase, expected: int) -> Population:
    return Population(
        workload=place.workload,
        repetition=place.repetition,
        arm=place.arm,
        phase=phase,
        launch=None,
        expected=expected,
        attempted=0,
        failed=0,
        used=0,
        outcomes={},
        metrics=(),
        mixture=(),
        prompt_tokens=None,
        cached_tokens=None,
        output_tokens=None,
    )


def _population(normal: Normal, place: Place, phase: Phase, table: PhaseTable) -> Population:
    workload: FrozenWorkload = normal.plan.workload(place.workload)
    used = table.used
    return Population(
        workload=place.workload,
        repetition=place.repetition,
        arm=place.arm,
        phase=phase,
        launch=table.launch,
        expected=len(table.cases),
        attempted=len(table.rows),
        failed=table.failed,
        used=len(used),
        outcomes=dict(sorted(Tally(row.outcome for row in table.rows.values()).items())),
        metrics=summaries(table, workload),
        from_schedule=from_schedule(table),
        mixture=_mixture(table),
        prompt_tokens=_total(row.usage.prompt_tokens for row in used),
        cached_tokens=_total(row.usage.cached_tokens for row in used),
        output_tokens=_total(output_tokens(row) for row in used),
    )


def _mixture(table: PhaseTable) -> tuple[Mixture, ...]:
    parts = []
    for source in HitSource:
        rows = [row for row in table.used if hit_source(row) is source]
        if rows:
            times = (measure(row, Metric.TTFT)[0] for row in rows)
            part = tuple(sorted(value for value in times if value is not None))
            middle = Ranked(part, 0, Direction.LOWER).statistic(Statistic.MEDIAN)
            parts.append(Mixture(source=source, n=len(rows), ttft_median=middle))
    return tuple(parts)


def _total(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    if not known or any(count is None for count in known):
        return None
    return sum(count for count in known if count is not None)


def failed_share_upper(normal: Normal) -> dict[str, float]:
    """By arm: upper bound of the failure share, where every formal request is proven and none failed."""
    bounds = {}
    for arm in normal.plan.arms:
        expected = failed = missing = 0
        for place in normal.places():
            if place.arm != arm.name:
                continue
            for phase in FORMAL_PHASES:
                table = normal.table(place, phase)
                planned = len(cases_of(normal.plan.workload(place.workload), phase))
                expected += planned
                failed += table.failed if table else 0
                missing += table.missing if table else planned
        bound = None if failed or missing else zero_failure_upper_bound(expected)
        if bound is not None:
            bounds[arm.name] = bound
    return bounds
