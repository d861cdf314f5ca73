"""From the evidence to what the verdict engine says of every requirement and candidate. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairtrial.judge.calibration import calibrated
from fairtrial.judge.cell_view import Answer
from fairtrial.judge.companions import companions_of, corrected, places_measured
from fairtrial.judge.looks import alpha_of
from fairtrial.judge.normal import Normal, baseline_of, candidates_of
from fairtrial.judge.odd_cases import OddCases, odd_cases
from fairtrial.judge.sides import Subject, estimand_of, harms_of, met_of, unmatched
from fairtrial.schema.equality import CellEquality
from fairtrial.schema.judgment_parts import CalibrationUse
from fairtrial.schema.metrics import METRICS
from fairtrial.schema.plan import FrozenPlan
from fairtrial.schema.verdict import Companions, Drift, Finding, Sensitivity
from fairtrial.schema.verdict_vocab import Assumption, Estimand, Flag
from fairtrial.schema.vocab import Phase, Role, Verdict
from fairtrial.stats.finding import Demand, conclude, share_finding, stands
from fairtrial.stats.harm import RepetitionHarm
from fairtrial.stats.power import smallest_visible

NOTHING_RUN = "no repetition has a launch of both arms that counts"


@dataclass(frozen=True, slots=True)
class Analysed:
    """One requirement for one candidate, with everything that could be derived of it."""

    subject: Subject
    finding: Finding | None
    reason: str
    """Why there is no finding; empty where there is one."""
    companions: Companions | None = None
    odd: tuple[OddCases, ...] = ()
    smallest: float | None = None
    """Harm that the design sees with its declared power, at the spread that it was planned with."""
    lost: bool = False
    """A repetition has no number because of the candidate's own failures."""
    unmatched: int = 0
    """Cases for which the arms did other work."""


def analyse(normal: Normal, equality: tuple[CellEquality, ...], use: CalibrationUse) -> tuple[Analysed, ...]:
    """Every requirement of every workload, for every candidate, in the order of the plan."""
    subjects = [
        Subject(workload, requirement, candidate)
        for workload in normal.plan.workloads
        for requirement in workload.requirements
        for candidate in candidates_of(normal.plan)
    ]
    design = normal.plan.design
    if not (0 < design.alpha < 0.5 and 0 < design.power < 1):
        reason = f"alpha {design.alpha:g} and power {design.power:g} make no design"
        return tuple(Analysed(subject, None, reason) for subject in subjects)
    looked_at = places_measured(normal)
    found = [_analyse(normal, subject, equality, use, looked_at) for subject in subjects]
    return _with_drift(found, design.alpha)


def drift_answers(found: Sequence[Analysed], alpha: float) -> Mapping[tuple[str, str], Answer]:
    """By workload and candidate: whether what is demanded keeps still, or stands without the drift."""
    grouped: dict[tuple[str, str], list[Analysed]] = {}
    for one in found:
        grouped.setdefault((one.subject.workload.name, one.subject.candidate), []).append(one)
    return {key: _drift_answer(ones, alpha) for key, ones in grouped.items()}


def _drift_answer(ones: Sequence[Analysed], alpha: float) -> Answer:
    demanding = [one for one in ones if one.subject.requirement.role is not Role.INFORMATIONAL] or ones
    reason = "no drift could be looked for"
    moves = ""
    for one in demanding:
        drift = one.companions.drift if one.companions else None
        if drift is None or drift.p_holm is None:
            reason = one.companions.absent.get("drift", reason) if one.companions else reason
        elif drift.p_holm > alpha:
            moves = moves or "nothing moves with time beyond chance"
        elif _stands_without(one, drift):
            moves = f"{_moving(one, drift)}, and the verdict is the same with that taken out"
        else:
            return False, f"{_moving(one, drift)}: find the drift first"
    return (True, moves) if moves else (None, reason)


def _moving(one: Analysed, drift: Drift) -> str:
    title = METRICS[one.subject.metric].title
    sure = f"rank correlation with time {drift.spearman:+.2f}, p {drift.p_holm:.2g} after Holm"
    return f"{title} moves with time in both arms ({sure})"


def _stands_without(one: Analysed, drift: Drift) -> bool:
    """Whether the verdict is the same in the analysis that has the drift taken out."""
    if one.finding is None:
        return False
    direction = METRICS[one.subject.metric].direction
    low, high = drift.adjusted_low, drift.adjusted_high
    return stands(one.finding, one.subject.requirement.role, direction, low, high)


def _with_drift(found: Sequence[Analysed], alpha: float) -> tuple[Analysed, ...]:
    """The same with drifts corrected and flagged at the findings.

    What is demanded is corrected among itself: else whatever is only shown beside it would hide a drift.
    """
    known = {place: one.companions for place, one in enumerate(found) if one.companions is not None}
    shown = {place for place in known if found[place].subject.requirement.role is Role.INFORMATIONAL}
    demanded = {place: one for place, one in known.items() if place not in shown}
    changed = list(found)
    for place, one in {**corrected(known), **corrected(demanded)}.items():
        flagged = one.drift is not None and one.drift.p_holm is not None and one.drift.p_holm <= alpha
        finding = changed[place].finding
        if finding is not None and flagged:
            finding = replace(finding, flags=(*finding.flags, Flag.DRIFT))
        changed[place] = replace(changed[place], companions=one, finding=finding)
    return tuple(changed)


def _analyse(
    normal: Normal,
    subject: Subject,
    equality: tuple[CellEquality, ...],
    use: CalibrationUse,
    looked_at: int,
) -> Analysed:
    estimand = estimand_of(subject, equality)
    alpha = alpha_of(normal.plan)
    harms = () if estimand is Estimand.SHARE else harms_of(normal, subject, estimand)
    finding, reason = _finding(normal, subject, harms, _demand(normal.plan, subject, estimand, use))
    companions = companions_of(normal, subject, harms, alpha, looked_at)
    odd = tuple(odd_cases(normal, subject, launch) for launch in companions.odd)
    if finding is not None and odd:
        finding = replace(finding, flags=(*finding.flags, Flag.ODD_LAUNCH))
    return Analysed(
        subject=subject,
        finding=finding,
        reason=reason,
        companions=companions,
        odd=odd,
        smallest=None if estimand is Estimand.SHARE else _smallest(normal.plan, subject, use),
        lost=any(one.lost > 0 for one in harms),
        unmatched=unmatched(subject, equality),
    )


def _finding(
    normal: Normal, subject: Subject, harms: Sequence[RepetitionHarm], demand: Demand
) -> tuple[Finding | None, str]:
    """The finding, or why there is none."""
    if not _ran(normal, subject):
        return None, NOTHING_RUN
    try:
        share = demand.estimand is Estimand.SHARE
        return (_share(normal, subject) if share else conclude(harms, demand)), ""
    except ValueError as error:  # a demand that makes no sense: no plan that was checked has one
        return None, f"no verdict can be given: {error}"


def _ran(normal: Normal, subject: Subject) -> bool:
    """Whether a repetition has a launch of both arms that counts."""
    arms = (baseline_of(normal.plan), subject.candidate)
    return any(
        all(normal.table(subject.place(repetition, arm), Phase.MEASURED) is not None for arm in arms)
        for repetition in range(1, len(normal.plan.design.order) + 1)
    )


def _demand(plan: FrozenPlan, subject: Subject, estimand: Estimand, use: CalibrationUse) -> Demand:
    requirement = subject.requirement
    margin = requirement.margin
    noise = calibrated(plan, subject.workload.name, requirement.metric, requirement.statistic, use)
    return Demand(
        role=requirement.role,
        direction=METRICS[requirement.metric].direction,
        estimand=estimand,
        relative=None if margin is None else margin.relative,
        absolute=0.0 if margin is None else float(margin.absolute_ns),
        min_effect=requirement.min_effect,
        alpha=alpha_of(plan),
        power=plan.design.power,
        guardrails=guardrails(plan),
        noise_floor=None if noise is None else noise.noise_floor,
    )


def guardrails(plan: FrozenPlan) -> int:
    """How many guardrails a candidate must pass together; at least 1."""
    roles = [requirement.role for workload in plan.workloads for requirement in workload.requirements]
    return max(1, roles.count(Role.GUARDRAIL))


def _smallest(plan: FrozenPlan, subject: Subject, use: CalibrationUse) -> float | None:
    requirement = subject.requirement
    noise = calibrated(plan, subject.workload.name, requirement.metric, requirement.statistic, use)
    sd = plan.design.assumed_sd if noise is None else noise.sd
    return smallest_visible(sd, len(plan.design.order), alpha=alpha_of(plan), power=plan.design.power)


def _share(normal: Normal, subject: Subject) -> Finding:
    """The verdict of a declared share; where requests of unknown outcome would change it, there is none."""
    plan, met = normal.plan, met_of(normal, subject)
    taken = {
        Assumption.WORST: [None if one is None else (one.met, one.declared) for one in met],
        Assumption.BEST: [None if one is None else (one.met + one.unknown, one.declared) for one in met],
    }
    found = {
        assumption: share_finding(
            counts,
            subject.requirement.at_least or 0.0,
            alpha=alpha_of(plan),
            power=plan.design.power,
            guardrails=guardrails(plan),
        )
        for assumption, counts in taken.items()
    }
    strict = found[Assumption.WORST]
    if len({one.verdict for one in found.values()}) == 1:
        return strict
    return replace(
        strict,
        verdict=Verdict.INCONCLUSIVE,
        reason="requests of unknown outcome would change the verdict",
        flags=(*strict.flags, Flag.MISSING_DECIDES),
        sensitivity=tuple(
            Sensitivity(assumption=name, verdict=one.verdict, mean=one.mean, low=one.low, high=one.high)
            for name, one in found.items()
        ),
    )
