"""The recommendation: what the evidence supports. Promotion itself is a person's act. Pure."""

from dataclasses import dataclass

from fairtrial.schema.judgment import Cell, Coverage, Decision, GateResult, RequirementResult
from fairtrial.schema.vocab import GateOutcome, Recommendation, Role, Verdict

_DEMANDING = (Role.PRIMARY, Role.GUARDRAIL)
_ENOUGH = {
    Role.PRIMARY: frozenset({Verdict.SUPERIOR}),
    Role.GUARDRAIL: frozenset({Verdict.SUPERIOR, Verdict.NON_INFERIOR}),
}


@dataclass(frozen=True, slots=True)
class Basis:
    """What a decision rests on."""

    requirements: tuple[RequirementResult, ...]
    gates: tuple[GateResult, ...]
    cells: tuple[Cell, ...]
    coverage: Coverage
    accept_underpowered: str | None
    """A person's reason for a design that can't decide; then promotion is never recommended."""


def decide(basis: Basis) -> Decision:
    """Recommend: a harm or a failed gate keeps the baseline, a gap is a gap, doubt stays doubt."""
    harms = _harms(basis)
    gaps = _gaps(basis)
    doubts = _doubts(basis)
    if harms:
        recommendation, reasons = Recommendation.KEEP_BASELINE, harms + gaps
        next_step = "Keep the baseline. Find the cause of what failed, then declare a new trial."
    elif gaps:
        recommendation, reasons = Recommendation.INCOMPLETE, gaps + doubts
        next_step = "Fill the gaps: resume the trial, or declare a new one where evidence was lost."
    elif doubts:
        recommendation, reasons = Recommendation.UNDECIDED, doubts
        next_step = _what_would_decide(basis)
    else:
        recommendation = Recommendation.ELIGIBLE
        reasons = ("every requirement and every gate is met, and every cell is usable",)
        next_step = "A person may authorise promotion."
    return Decision(
        recommendation=recommendation,
        labels=_labels(recommendation, basis),
        reasons=tuple(reasons),
        next_step=next_step,
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
        for result in basis.requirements
        if result.role in _DEMANDING and result.verdict is Verdict.INFERIOR
    )
    return (*gates, *verdicts)


def _gaps(basis: Basis) -> tuple[str, ...]:
    found = []
    coverage = basis.coverage
    if coverage.missing:
        count = len(coverage.missing)
        found.append(f"{count} planned cells have no launch that counts, first {coverage.missing[0]}")
    elif coverage.formal_attempted < coverage.formal_planned:
        lost = coverage.formal_planned - coverage.formal_attempted
        found.append(f"{lost} of {coverage.formal_planned} planned requests have no proven record")
    found.extend(
        f"gate {gate.name!r} is {gate.outcome.value}: {gate.reason}"
        for gate in basis.gates
        if gate.outcome in {GateOutcome.MISSING, GateOutcome.NOT_RUN}
    )
    return tuple(found)


def _doubts(basis: Basis) -> tuple[str, ...]:
    found = [
        f"gate {gate.name!r} is held: {gate.reason}"
        for gate in basis.gates
        if gate.outcome is GateOutcome.HELD
    ]
    demanding = [result for result in basis.requirements if result.role in _DEMANDING]
    if not demanding:
        found.append("the plan demands nothing: no primary and no guardrail is declared")
    without = sorted({result.reason for result in demanding if result.verdict is None})
    if len(without) == 1 and all(result.verdict is None for result in demanding):
        found.append(f"no requirement has a verdict: {without[0]}")
    else:
        found.extend(
            f"workload {result.workload}, arm {result.candidate}: {result.demand}: {result.reason}"
            for result in demanding
            if result.verdict not in _ENOUGH[result.role]
        )
    unusable = sum(1 for cell in basis.cells if not cell.usable)
    if unusable:
        found.append(f"{unusable} of {len(basis.cells)} cells are not usable")
    if basis.accept_underpowered is not None:
        found.append(f"the design can't decide, and was accepted so: {basis.accept_underpowered}")
    return tuple(found)


def _what_would_decide(basis: Basis) -> str:
    demanding = [result for result in basis.requirements if result.role in _DEMANDING]
    if not demanding:
        return "Declare what the candidate must do (a primary or a guardrail), then run a new trial."
    if any(result.verdict is None for result in demanding):
        return (
            "A verdict for every requirement would decide it; until one can be given, read the numbers below "
            "as observations."
        )
    if basis.accept_underpowered is not None:
        return "Declare a design with enough repetitions to decide."
    if any(result.verdict not in _ENOUGH[result.role] for result in demanding):
        return "More repetitions would decide it."
    return "Mend the conditions that keep cells from being usable, then run a new trial."


def _labels(recommendation: Recommendation, basis: Basis) -> tuple[str, ...]:
    labels = [] if recommendation is Recommendation.ELIGIBLE else ["no-promotion"]
    if any(gate.outcome is GateOutcome.FAILED for gate in basis.gates):
        labels.append("gate-failed")
    if basis.coverage.missing or basis.coverage.formal_attempted < basis.coverage.formal_planned:
        labels.append("incomplete")
    if any(result.verdict is None for result in basis.requirements if result.role in _DEMANDING):
        labels.append("no-verdict")
    if basis.accept_underpowered is not None:
        labels.append("underpowered-by-choice")
    if not all(cell.usable for cell in basis.cells):
        labels.append("diagnostic")
    return tuple(labels)
