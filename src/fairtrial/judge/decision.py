"""The recommendation: what the evidence supports. Promotion itself is a person's act. Pure.

Promotion takes everything at once: every primary superior, every guardrail no worse, every gate passed, every
cell usable. Each test then keeps its full alpha, and a wrong promotion has at most that chance (an
intersection-union test, Berger 1982).
"""

from fairtrial.judge import next_step
from fairtrial.judge.amendments import in_words
from fairtrial.judge.basis import Basis
from fairtrial.judge.standings import standings
from fairtrial.judge.unusable import unusable
from fairtrial.judge.verdict_words import interval, unmet, where
from fairtrial.schema.judgment import Decision, RequirementResult
from fairtrial.schema.verdict_vocab import Flag
from fairtrial.schema.vocab import GateOutcome, Recommendation, Role, Verdict

_ONE_ORDER = (
    "every repetition runs the arms in one order: what running later does can't be told from the candidate"
)
_ALL_MET = "every requirement and every gate is met, and every cell is usable"


def decide(basis: Basis) -> Decision:
    """Recommend: a harm or a failed gate keeps the baseline, a gap is a gap, doubt stays doubt."""
    harms, gaps = _harms(basis), _gaps(basis)
    said, doubts = _of_the_plan(basis), _doubts(basis)
    if basis.distrust:
        # Neither what stands there nor what is gone can be weighed: not even against the candidate.
        recommendation, step = Recommendation.INCOMPLETE, next_step.START_AGAIN
        reasons = (basis.distrust, *harms, *gaps, *said, *doubts)
    elif harms:
        recommendation, step = Recommendation.KEEP_BASELINE, next_step.after_harm(basis)
        reasons = harms + gaps + said
    elif gaps:
        recommendation, reasons = Recommendation.INCOMPLETE, gaps + said + doubts
        step = next_step.fill(basis)
    elif said or doubts:
        recommendation, reasons = Recommendation.UNDECIDED, said + doubts
        step = next_step.decide_it(basis)
    else:
        recommendation, step = Recommendation.ELIGIBLE, next_step.AUTHORISE
        reasons = (_ALL_MET, *_costs(basis))
    reasons += standings(basis)
    return Decision(
        recommendation=recommendation,
        labels=_labels(recommendation, basis),
        reasons=reasons,
        next_step=step,
        promotion_authorized=False,
        promoted=False,
    )


def _harms(basis: Basis) -> tuple[str, ...]:
    gates = (f"gate {gate.name!r} failed: {gate.reason}" for gate in basis.failed_gates)
    return (*gates, *(_harm(basis, result) for result in basis.harmful))


def _harm(basis: Basis, result: RequirementResult) -> str:
    seen = "" if result.finding is None else interval(result.finding)
    said = (
        f"{where(result)}: worse than allowed" if result.role is Role.GUARDRAIL else f"{where(result)}: worse"
    )
    moved = basis.moved.get((result.workload, result.candidate), "")
    beside = f"; what moved with it, no proof of the cause: {moved}" if moved else ""
    return f"{said} ({seen}){beside}" if seen else said + beside


def _costs(basis: Basis) -> tuple[str, ...]:
    """What is allowed, and certain all the same: people should know what they pay."""
    return tuple(
        f"{where(result)}: a small but certain cost, within the margin: {interval(result.finding)}"
        for result in basis.demanding
        if result.role is Role.GUARDRAIL
        and result.finding is not None
        and result.verdict is Verdict.NON_INFERIOR
        and Flag.REGRESSION_DETECTED in result.finding.flags
    )


def _gaps(basis: Basis) -> tuple[str, ...]:
    found = []
    coverage = basis.coverage
    left = coverage.launches_planned - coverage.launches_counted
    if left:
        first = f"; first: {coverage.missing[0]}" if coverage.missing else ""
        planned = f"{left} of {coverage.launches_planned} planned launches"
        found.append(f"{planned} were not run, or don't count{first}")
    elif coverage.formal_attempted < coverage.formal_planned:
        lost = coverage.formal_planned - coverage.formal_attempted
        found.append(f"{lost} of {coverage.formal_planned} planned requests have no proven record")
    if lost := len(basis.lost_files):
        files = "1 sealed file is" if lost == 1 else f"{lost} sealed files are"
        found.append(f"{files} missing, or not what was sealed; first: {basis.lost_files[0]}")
    found.extend(f"gate {gate.name!r} is {gate.outcome.value}: {gate.reason}" for gate in basis.open_gates)
    return tuple(found)


def _of_the_plan(basis: Basis) -> tuple[str, ...]:
    """What the plan itself leaves in doubt, whatever the evidence says."""
    found = ["A/A trial: the arms don't differ"] if basis.same_arms else []
    if basis.one_order:
        found.append(_ONE_ORDER)
    found.extend(
        f"the plan was amended after traffic: {in_words(amendment)}"
        for amendment in basis.amendments
        if amendment.retroactive
    )
    return tuple(found)


def _doubts(basis: Basis) -> tuple[str, ...]:
    found = [
        f"gate {gate.name!r} is held: {gate.reason}"
        for gate in basis.gates
        if gate.outcome is GateOutcome.HELD
    ]
    found.extend(
        f"gate {gate.name!r} failed, but proves no harm: {gate.reason}" for gate in basis.blunt_gates
    )
    if not basis.demanding:
        found.append("the plan demands nothing: no primary and no guardrail is declared")
    found.extend(_unmet(basis))
    if lacking := unusable(basis.cells):
        found.append(lacking)
    if basis.claimed is not basis.declared:
        why = f": {'; '.join(basis.level_reasons)}" if basis.level_reasons else ""
        found.append(f"declared is level {basis.declared.value}, shown is {basis.claimed.value}{why}")
    if basis.accept_underpowered is not None:
        found.append(f"the design can't decide, and was accepted so: {basis.accept_underpowered}")
    return tuple(found)


def _unmet(basis: Basis) -> list[str]:
    """The demands that aren't met: one line where all of them lack a verdict for one reason."""
    without = {result.reason for result in basis.demanding if result.verdict is None}
    if len(without) == 1 and all(result.verdict is None for result in basis.demanding):
        return [f"no requirement has a verdict: {without.pop()}"]
    harmful = basis.harmful
    return [f"{where(result)}: {_doubtful(basis, result)}" for result in basis.unmet if result not in harmful]


def _doubtful(basis: Basis, result: RequirementResult) -> str:
    if result.verdict is not Verdict.INFERIOR:
        return unmet(result)
    said = "" if result.finding is None else interval(result.finding)
    seen = f" ({said})" if said else ""
    if basis.same_arms:
        return f"worse than itself{seen}: a false alarm"
    which = f"{result.unusable} of the cells that say so can't be used"
    return f"worse than allowed{seen}, but {which}: no proof of harm"


def _labels(recommendation: Recommendation, basis: Basis) -> tuple[str, ...]:
    """Words of the published records where they have one: current, challenger, no-promotion, diagnostic."""
    coverage = basis.coverage
    harmful = basis.harmful
    said = (
        ("current", recommendation is Recommendation.KEEP_BASELINE),
        ("challenger", recommendation is Recommendation.ELIGIBLE),
        ("no-promotion", recommendation is not Recommendation.ELIGIBLE),
        ("regressed", bool(harmful)),
        ("unresolved", any(r.verdict is not None and r not in harmful for r in basis.unmet)),
        ("gate-failed", bool(basis.failed_gates)),
        ("gate-tells-nothing", bool(basis.blunt_gates)),
        (
            "incomplete",
            coverage.launches_counted < coverage.launches_planned
            or coverage.formal_attempted < coverage.formal_planned
            or bool(basis.distrust)
            or bool(basis.lost_files),
        ),
        ("no-verdict", any(result.verdict is None for result in basis.demanding)),
        ("a-a-trial", basis.same_arms),
        ("amended-after-traffic", any(amendment.retroactive for amendment in basis.amendments)),
        ("underpowered-by-choice", basis.accept_underpowered is not None),
        ("diagnostic", not all(cell.usable for cell in basis.cells)),
    )
    return tuple(label for label, holds in said if holds)
