"""A/A calibrations: what one says, and whether it may speak for a trial. Pure."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from fairtrial.evidence.documents import canonical, sha256_hex
from fairtrial.evidence.evidence_set import EvidenceSet
from fairtrial.evidence.fingerprints import baseline_digest, workload_digests
from fairtrial.judge.normal import Normal
from fairtrial.schema.calibration import (
    CalibratedEquality,
    CalibratedGate,
    CalibratedRequirement,
    Calibration,
)
from fairtrial.schema.errors import EvidenceError
from fairtrial.schema.facts import Closed, JournalLine, PhaseEnded, WindowOpened
from fairtrial.schema.judgment import Judgment, RequirementResult
from fairtrial.schema.judgment_parts import CalibrationUse
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.verdict_vocab import CalibrationState, Flag
from fairtrial.schema.vocab import Metric, Role, Statistic, Verdict
from fairtrial.stats.distributions import binomial_cdf, t_quantile

MAX_AGE_DAYS = 30
"""A host changes: an older calibration no longer says what its noise is."""
LEAST_REPETITIONS = 6
"""Of a calibration: from fewer a spread is hardly known."""
_NEEDED_FOR_SPREAD = 2
_DAY_S = 86_400
_FALSE_ALARMS = frozenset({Flag.REGRESSION_DETECTED, Flag.IMPROVEMENT_DETECTED})


def calibration_of(evidence: EvidenceSet, judgment: Judgment) -> Calibration:
    """What the baseline does against itself, from a judged calibrating trial.

    A trial that did not come to its end gives a calibration that says so and that no plan may use.

    Args:
        evidence: Of the calibrating trial, with the plan in force.
        judgment: What the judge derived from it.

    Raises:
        EvidenceError: The trial is no calibration, it was frozen on no known host, or no phase of
            it ended.
    """
    plan = evidence.plan
    if not plan.design.calibrates:
        raise EvidenceError("the trial doesn't put the baseline against itself", where=judgment.run)
    if plan.design.host is None:
        raise EvidenceError("the calibration was frozen without the id of a host", where=judgment.run)
    ended = [line.t for line in evidence.lines if isinstance(line.fact, PhaseEnded)]
    if not ended:
        raise EvidenceError("no phase of the calibration ended: there is nothing to keep", where=judgment.run)
    closed = any(isinstance(line.fact, Closed) and line.fact.complete for line in evidence.lines)
    return Calibration(
        run=judgment.run,
        plan_sha256=evidence.plan_sha256,
        judgment_sha256=sha256_hex(canonical(judgment)),
        made=ended[-1],
        host=plan.design.host,
        baseline=baseline_digest(plan),
        workloads=workload_digests(plan),
        repetitions=len(plan.design.order),
        alpha=plan.design.alpha,
        complete=closed and not judgment.coverage.missing,
        requirements=tuple(_requirements(judgment)),
        gates=tuple(
            CalibratedGate(name=gate.name, outcome=gate.outcome, reason=gate.reason)
            for gate in judgment.gates
        ),
        equality=tuple(_equality(judgment)),
        failed=judgment.coverage.formal_failed,
        attempted=judgment.coverage.formal_attempted,
    )


def calibration_use(normal: Normal) -> CalibrationUse:
    """What may be said of the calibration that the plan was frozen with."""
    calibration = normal.plan.design.calibration
    if calibration is None:
        reason = "the plan was frozen without an A/A calibration of this host"
        return CalibrationUse(state=CalibrationState.NONE, reason=reason)
    age = _age_days(calibration, normal.lines)
    state, reason = _standing(normal.plan, calibration) or _freshness(age)
    return CalibrationUse(state=state, reason=reason, made=calibration.made, age_days=age)


def calibrated(
    plan: FrozenPlan,
    workload: str,
    metric: Metric,
    statistic: Statistic,
    use: CalibrationUse | None = None,
) -> CalibratedRequirement | None:
    """The calibrated noise of a metric of a workload; None where the calibration may not speak for it.

    Args:
        plan: The frozen plan with its calibration.
        workload: Name of the workload.
        metric: The metric.
        statistic: Its statistic.
        use: What :func:`calibration_use` said: with it also the calibration's age counts, which a
            plan alone doesn't tell.
    """
    calibration = plan.design.calibration
    if calibration is None or (use is not None and use.state is not CalibrationState.VALID):
        return None
    if _standing(plan, calibration) is not None:
        return None
    for one in calibration.requirements:
        if (one.workload, one.metric, one.statistic) == (workload, metric, statistic):
            return one
    return None


def unfit_reasons(calibration: Calibration) -> tuple[str, ...]:
    """Why a calibration may not speak for any trial; empty when it may."""
    return tuple(_unfit(calibration))


def false_alarms_allowed(looked_at: int, alpha: float) -> int:
    """How many requirements of a baseline against itself may be flagged without a doubt about the instrument.

    Each is flagged with a chance of ``2*alpha``: a regression or an improvement, each one-sided. Allowed are
    so many that more of them would have a chance of at most ``alpha`` (binomial, taken as independent).
    """
    allowed = 0
    while allowed < looked_at and binomial_cdf(allowed, looked_at, min(1.0, 2 * alpha)) < 1 - alpha:
        allowed += 1
    return allowed


def noise_floor(sd: float, repetitions: int) -> float:
    """The smallest harm of a single further repetition that is worth naming.

    ``t(0.975, n-1) * sd * sqrt(1 + 1/n)``: the half-width of a 95 % prediction interval around no difference.

    Raises:
        ValueError: There are fewer than two repetitions.
    """
    return t_quantile(0.975, repetitions - 1) * sd * math.sqrt(1 + 1 / repetitions)


def _requirements(judgment: Judgment) -> Iterator[CalibratedRequirement]:
    usable = Counter(cell.workload for cell in judgment.cells if cell.usable)
    for result in judgment.requirements:
        finding = result.finding
        if finding is None or finding.sd is None or finding.n < _NEEDED_FOR_SPREAD:
            continue
        yield CalibratedRequirement(
            workload=result.workload,
            metric=result.metric,
            statistic=result.statistic,
            repetitions=finding.n,
            usable=usable[result.workload],
            sd=finding.sd,
            largest=max(abs(harm) for harm in finding.harms if harm is not None),
            noise_floor=noise_floor(finding.sd, finding.n),
            verdict=_verdict(result),
            flagged=bool(_FALSE_ALARMS.intersection(finding.flags)),
        )


def _verdict(result: RequirementResult) -> Verdict | None:
    return None if result.role is Role.INFORMATIONAL else result.verdict


def _equality(judgment: Judgment) -> Iterator[CalibratedEquality]:
    totals: dict[str, tuple[int, int]] = {}
    for cell in judgment.equality:
        matched, compared = totals.get(cell.workload, (0, 0))
        output = cell.output
        totals[cell.workload] = matched + output.matched, compared + output.matched + output.unmatched
    for workload, (matched, compared) in totals.items():
        if compared:
            yield CalibratedEquality(workload=workload, matched=matched, compared=compared)


def _standing(plan: FrozenPlan, calibration: Calibration) -> tuple[CalibrationState, str] | None:
    """What speaks against a calibration whenever the trial is run; None when nothing does."""
    if plan.design.host is None or calibration.host != plan.design.host:
        return CalibrationState.OTHER_HOST, "it was made on another host than the plan was frozen on"
    if calibration.baseline != baseline_digest(plan):
        return CalibrationState.OTHER_BASELINE, "its baseline, or how that is launched, is another"
    other = _other_workloads(calibration.workloads, workload_digests(plan))
    if other:
        return CalibrationState.OTHER_BASELINE, f"it was made with other traffic: {', '.join(other)}"
    reasons = unfit_reasons(calibration)
    return (CalibrationState.UNFIT, "; ".join(reasons)) if reasons else None


def _other_workloads(made_with: Mapping[str, str], planned: Mapping[str, str]) -> list[str]:
    return [name for name, digest in planned.items() if made_with.get(name) != digest]


def _unfit(calibration: Calibration) -> Iterator[str]:
    if not calibration.complete:
        yield "its trial is not complete"
    if calibration.repetitions < LEAST_REPETITIONS:
        yield f"{calibration.repetitions} repetitions are fewer than {LEAST_REPETITIONS}"
    if not calibration.requirements:
        yield "no metric of it has a spread"
    for one in calibration.requirements:
        yield from _unfit_by(one, enough=calibration.repetitions >= LEAST_REPETITIONS)
    flagged = sum(1 for one in calibration.requirements if one.flagged)
    allowed = false_alarms_allowed(len(calibration.requirements), calibration.alpha)
    if flagged > allowed:
        of = len(calibration.requirements)
        yield f"{flagged} false alarms among {of} metrics, where {allowed} may be chance"


def _unfit_by(one: CalibratedRequirement, *, enough: bool) -> Iterator[str]:
    """What a requirement says against the calibration of which the whole has enough repetitions, or not."""
    name = f"{one.workload} {one.metric.value} {one.statistic.value}"
    if one.verdict is Verdict.INFERIOR:
        yield f"it found the baseline worse than itself: {name}"
    if enough and one.repetitions < LEAST_REPETITIONS:
        yield f"only {one.repetitions} repetitions of {name} count"
    elif enough and one.verdict is not None and one.usable < LEAST_REPETITIONS:
        yield f"only {one.usable} repetitions of {name} have usable cells"


def _freshness(age_days: float | None) -> tuple[CalibrationState, str]:
    if age_days is None:
        return CalibrationState.STALE, "how old it was when the trial began is not known"
    days = f"{age_days:.1f} days old when the trial began"
    if age_days > MAX_AGE_DAYS:
        return CalibrationState.STALE, f"it was {days}, the most is {MAX_AGE_DAYS}"
    return CalibrationState.VALID, f"it was {days}"


def _age_days(calibration: Calibration, lines: tuple[JournalLine, ...]) -> float | None:
    """Its age when the first window opened; None without one, or where a clock ran backwards."""
    began = next((line.t for line in lines if isinstance(line.fact, WindowOpened)), None)
    if began is None:
        return None
    return days_between(calibration.made, began)


def days_between(made: str, later: str) -> float | None:
    """Days from one UTC label to another; None where they run backwards or are no dates."""
    try:
        seconds = (_instant(later) - _instant(made)).total_seconds()
    except ValueError:
        return None
    return seconds / _DAY_S if seconds >= 0 else None


def _instant(utc: str) -> datetime:
    whole, _, fraction = utc.removesuffix("Z").partition(".")
    micro = int(f"{fraction:0<6.6}") if fraction else 0
    return datetime.fromisoformat(whole).replace(microsecond=micro, tzinfo=UTC)
