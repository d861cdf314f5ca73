"""The recommendation: what the evidence supports. Promotion itself is a person's act. Pure."""

from fairtrial.judge import next_step
from fairtrial.judge.amendments import in_words
from fairtrial.judge.basis import ENOUGH, Basis
from fairtrial.judge.unusable import unusable
from fairtrial.schema.judgment import Decision
from fairtrial.schema.vocab import GateOutcome, Recommendation, Verdict


def decide(basis: Basis) -> Decision:
    """Recommend: a harm or a failed gate keeps the baseline, a gap is a gap, doubt stays doubt."""
    harms, gaps = _harms(basis), _gaps(basis)
    said, doubts = _of_the_plan(basis), _doubts(basis)
    if basis.distrust:
        # Neither what stands there nor what is gone can be weighed: not even against the candidate.
        recommendation, step = Recommendation.INCOMPLETE, next_step.START_AGAIN
        reasons = (basis.distrust, *harms, *gaps, *said, *doubts)
    elif harms:
        recommendation, reasons, step = Recommendation.KEEP_BASELINE, harms + gaps + said, next_step.KEEP
    elif gaps:
        recommendation, reasons = Recommendation.INCOMPLETE, gaps + said + doubts
        step = next_step.fill(basis)
    elif said or doubts:
        recommendation, reasons = Recommendation.UNDECIDED, said + doubts
        step = next_step.decide_it(basis)
    else:
        recommendation, step = Recommendation.ELIGIBLE, next_step.AUTHORISE
        reasons = ("every requirement and every gate is met, and every cell is usable",)
    return Decision(
        recommendation=recommendation,
        labels=_labels(recommendation, basis),
        reasons=reasons,
        next_step=step,
        promotion_authorized=False,
        promoted=False,
    )


def _harms(basis: Basis) -> tuple[str, ...]:
    gates = (
        f"gate {gate.name!r} failed: {gate.reason}"
        for gate in basis.gates
        if gate.outcome is GateOutcome.FAILED
    )
    verdicts = (
        f"workload {result.workload}, arm {result.candidate}: {result.demand}: worse than allowed"
        for result in basis.demanding
        if result.verdict is Verdict.INFERIOR
    )
    return (*gates, *verdicts)


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
    found.extend(f"gate {gate.name!r} is {gate.outcome.value}: {gate.reason}" for gate in basis.open_gates)
    return tuple(found)


def _of_the_plan(basis: Basis) -> tuple[str, ...]:
    """What the plan itself leaves in doubt, whatever the evidence says."""
    found = ["A/A trial: the arms don't differ"] if basis.same_arms else []
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
    demanding = basis.demanding
    if not demanding:
        found.append("the plan demands nothing: no primary and no guardrail is declared")
    without = sorted({result.reason for result in demanding if result.verdict is None})
    if len(without) == 1 and all(result.verdict is None for result in demanding):
        found.append(f"no requirement has a verdict: {without[0]}")
    else:
        found.extend(
            f"workload {result.workload}, arm {result.candidate}: {result.demand}: {result.reason}"
            for result in demanding
            if result.verdict not in ENOUGH[result.role]
        )
    if lacking := unusable(basis.cells, basis.asked):
        found.append(lacking)
    if basis.accept_underpowered is not None:
        found.append(f"the design can't decide, and was accepted so: {basis.accept_underpowered}")
    return tuple(found)


def _labels(recommendation: Recommendation, basis: Basis) -> tuple[str, ...]:
    coverage = basis.coverage
    said = (
        ("no-promotion", recommendation is not Recommendation.ELIGIBLE),
        ("gate-failed", any(gate.outcome is GateOutcome.FAILED for gate in basis.gates)),
        (
            "incomplete",
            coverage.launches_counted < coverage.launches_planned
            or coverage.formal_attempted < coverage.formal_planned
            or bool(basis.distrust),
        ),
        ("no-verdict", any(result.verdict is None for result in basis.demanding)),
        ("a-a-trial", basis.same_arms),
        ("amended-after-traffic", any(amendment.retroactive for amendment in basis.amendments)),
        ("underpowered-by-choice", basis.accept_underpowered is not None),
        ("diagnostic", not all(cell.usable for cell in basis.cells)),
    )
    return tuple(label for label, holds in said if holds)
